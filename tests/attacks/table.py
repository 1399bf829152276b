"""The corpus as the tables of docs/trust.md. `python -m tests.attacks.table` writes them there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .corpus import Attack, Corpus, load
from .defences import SWITCHES

PAGE = Path(__file__).parents[2] / "docs" / "trust.md"
BEGIN, END = "<!-- attacks: begin -->", "<!-- attacks: end -->"


def tables(corpus: Corpus) -> str:
    """What stands between the two marks."""
    return "\n".join(_lines(corpus))


def written(page: str, corpus: Corpus) -> str:
    """The page with today's tables. Raises ValueError when it has no place for them."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page has no {BEGIN} with {END} behind it")
    return f"{before}{BEGIN}\n{tables(corpus)}\n{END}{after}"


def _lines(corpus: Corpus) -> Iterator[str]:
    stopped = [a for a in corpus.attacks if not a.known_to_win]
    controls = sum(a.controlled for a in stopped)
    winning = len(corpus.attacks) - len(stopped)
    yield f"{len(corpus.attacks)} attacks in {len(corpus.families)} families: {len(stopped)} are stopped and"
    yield f"{winning} are known to win. Of the stopped ones {controls} were seen to win with their defence"
    yield f"switched off; the rest say why they were not. {len(corpus.honest)} honest candidates pass."
    for family in corpus.families:
        yield from (
            "",
            f"### {family.title}",
            "",
            "| attack | what it does | stopped by | seen winning without it |",
        )
        yield "|---|---|---|---|"
        yield from (_row(attack) for attack in family.attacks if not attack.known_to_win)
    yield from ("", "### Known to win", "", "| attack | what it does | why it is not seen |", "|---|---|---|")
    for attack in corpus.attacks:
        if attack.known_to_win:
            yield f"| {attack.id} | {_cell(attack.does)} | {_cell(attack.why)} |"
    yield from ("", "### Honest work that passes", "", "| candidate | what it does |", "|---|---|")
    yield from (f"| {candidate.id} | {_cell(candidate.does)} |" for candidate in corpus.honest)


def _row(attack: Attack) -> str:
    names = (attack.stopped_by, *attack.also_off)
    stop = "; ".join(SWITCHES[name].title for name in names)
    control = "yes" if attack.controlled else f"no: {attack.no_control}"
    return f"| {attack.id} | {_cell(attack.does)} | {_cell(stop)} | {_cell(control)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), load()), encoding="utf-8")
