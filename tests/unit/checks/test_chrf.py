"""chrF of long texts: sacrebleu's own score, in bounded time and memory."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from orchestrator.checks import chrf
from orchestrator.checks.chrf import similarity
from orchestrator.checks.target import LONG
from orchestrator.checks.target import chrf as as_checked

TEXTS = st.one_of(
    st.text("ab", max_size=60),
    st.text("ab \n\u00a0é日", max_size=60),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
)


def defined(response: str, reference: str) -> float:
    return float(CHRF().sentence_score(response, [reference]).score) / 100


@given(TEXTS, TEXTS)
def test_it_is_sacrebleus_score(response: str, reference: str) -> None:
    assert similarity(response, reference) == pytest.approx(defined(response, reference), abs=1e-9)


@given(TEXTS, TEXTS, st.integers(1, 7))
def test_the_size_of_the_pieces_changes_nothing(response: str, reference: str, size: int) -> None:
    whole = similarity(response, reference)
    kept, chrf.PIECE = chrf.PIECE, size
    try:
        assert similarity(response, reference) == whole
    finally:
        chrf.PIECE = kept


@pytest.mark.parametrize(
    "letters", ["etaoin shrdlu", "".join(map(chr, range(0x4E00, 0x9000))), "\U0001f600x"]
)
def test_long_texts_of_any_script_score_as_sacrebleu_says(letters: str) -> None:
    chosen = random.Random(7)
    response = "".join(chosen.choices(letters, k=2 * LONG))
    reference = response[: LONG // 2] + "".join(chosen.choices(letters, k=LONG))

    assert as_checked(response, reference) == pytest.approx(defined(response, reference), abs=1e-9)
    assert as_checked(reference, response) == pytest.approx(defined(reference, response), abs=1e-9)


MEGABYTE = """
import random, re, time
from orchestrator.checks.target import TargetMatchExecutor
chosen = random.Random(7)
words = ["".join(chosen.choices("etaoinshrdlu", k=chosen.randint(1, 9))) for _ in range(20_000)]
one, other = (" ".join(chosen.choices(words, k=220_000))[:1_000_000] for _ in "ab")
check = {"kind": "target_match", "mode": "chrf", "reference_path": "expected.text"}
began = time.process_time()
outcome = TargetMatchExecutor().execute(check, one, {"expected": {"text": other}})
took = time.process_time() - began
peak = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]  # ru_maxrss holds the parent's
print(outcome.passed, took, int(peak) / 1024)
"""


def test_a_megabyte_against_a_megabyte_takes_seconds_and_little_memory() -> None:
    done = subprocess.run([sys.executable, "-c", MEGABYTE], capture_output=True, text=True, check=True)
    passed, seconds, mebibytes = done.stdout.split()

    assert passed == "True"
    assert float(seconds) < 3
    assert float(mebibytes) < 400
