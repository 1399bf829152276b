"""chrF of long texts in little memory: the counts that sacrebleu's definition asks for, by sorted numbers.

sacrebleu counts n-grams in dictionaries, at about a gigabyte for each megabyte of text. Here an n-gram is a
number. Those of the shorter text are sorted and counted; the longer text is looked up against them piece by
piece. The counts are the same whole numbers, so the score is the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ORDER = 6
BETA = 2
PIECE = 1 << 17
"""n-grams of the longer text looked up at a time."""

_Numbers = NDArray[np.int64]


def similarity(response: str, reference: str) -> float:
    """chrF with character 6-grams and beta 2, white space left out, from 0 to 1.

    >>> similarity("the cat", "the cat"), similarity("", "the cat")
    (1.0, 0.0)
    """
    found = statistics(response, reference)
    shares = [
        (common / ours, common / theirs)
        for ours, theirs, common in zip(found[::3], found[1::3], found[2::3], strict=True)
        if ours and theirs
    ]
    if not shares:
        return 0.0
    precision = sum(share for share, _ in shares) / len(shares)
    recall = sum(share for _, share in shares) / len(shares)
    if not precision + recall:
        return 0.0
    return (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall)


def statistics(response: str, reference: str) -> list[int]:
    """[n-grams of the response, of the reference, in common] for each length from 1 to 6, white space left
    out, as sacrebleu's chrF takes them.

    >>> statistics("ab", "a b c")[:6]
    [2, 3, 2, 1, 2, 1]
    """
    one, other = ("".join(text.split()) for text in (response, reference))
    short, long = sorted((one, other), key=len)
    common = _in_common(_code_points(short), _code_points(long))
    found: list[int] = []
    for order, shared in enumerate(common, start=1):
        counts = [max(0, len(text) - order + 1) for text in (one, other)]
        found += [counts[0] if counts[1] else 0, counts[1], shared]
    return found


def _in_common(short: NDArray[np.uint32], long: NDArray[np.uint32]) -> list[int]:
    """How many n-grams the two texts share, each counted as often as in the text that has it less often."""
    if not len(short):
        return [0] * ORDER
    alphabet = np.unique(short)
    tables = _tables(np.searchsorted(alphabet, short), len(alphabet))
    hits = [np.zeros(len(known), dtype=np.int64) for known, _ in tables]
    for start in range(0, len(long), PIECE):
        piece = long[start : start + PIECE + ORDER - 1]
        _look_up(piece, alphabet, tables, hits, PIECE)
    return [int(np.minimum(hit, counts).sum()) for hit, (_, counts) in zip(hits, tables, strict=True)]


def _tables(letters: _Numbers, base: int) -> list[tuple[_Numbers, _Numbers]]:
    """(numbers of the n-grams, sorted; how often each) for each length.

    An n-gram's number is made of the place of its first n - 1 letters in the table before, and of its last
    letter, so it never outgrows 64 bits, however many letters there are.
    """
    tables, places = [], np.zeros(len(letters), dtype=np.int64)
    for order in range(1, ORDER + 1):
        keys = places[: max(0, len(letters) - order + 1)] * base + letters[order - 1 :]
        known, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
        tables.append((known, counts.astype(np.int64)))
    return tables


def _look_up(
    piece: NDArray[np.uint32],
    alphabet: NDArray[np.uint32],
    tables: list[tuple[_Numbers, _Numbers]],
    hits: list[_Numbers],
    most: int,
) -> None:
    """Add the n-grams that start at the first `most` places of `piece` to `hits`."""
    letters, known_letters = _places(alphabet, piece)
    places, starts = np.zeros(len(piece), dtype=np.int64), np.arange(len(piece))
    for order, ((known, _), hit) in enumerate(zip(tables, hits, strict=True), start=1):
        # Only where the n-gram one letter shorter is known can this one be.
        going_on = starts <= len(piece) - order
        starts, places = starts[going_on], places[going_on]
        ends = starts + (order - 1)
        keys = places * len(alphabet) + letters[ends]
        places, found = _places(known, keys)
        found &= known_letters[ends]
        starts, places = starts[found], places[found]
        hit += np.bincount(places[starts < most], minlength=len(hit))


def _places(table: NDArray[np.generic], keys: NDArray[np.generic]) -> tuple[_Numbers, NDArray[np.bool_]]:
    """Where each key stands in the sorted table, and whether it does."""
    if not len(table):
        return np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=np.bool_)
    places = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    return places, table[places] == keys


def _code_points(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
