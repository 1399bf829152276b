"""What text checks cost: contains, regex, a whole rubric, the loading of a thousand rubrics, chrF.

    python bench/rubrics.py [--seconds 1]

Every figure is CPU time of one process, so a busy machine changes little. Responses differ, as in a run. What
misses its bound is told, and the exit code is 1 then.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from orchestrator.checks.chrf import similarity
from orchestrator.checks.target import TargetMatchExecutor, chrf
from orchestrator.checks.text import TextExecutor
from orchestrator.contract import Context
from orchestrator.documents.rubric import Rubric, Scoring
from orchestrator.grading import evaluate
from orchestrator.loading import load_rubric

TEXT = (
    "the parcel was found in Lyon and goes out tomorrow we are sorry for the delay please keep the number "
    "at hand naïve café Straße"
)
RUBRIC = """\
id: rubric_{n}
version: "1.0"
label: Number {n}
checks:
  - {{kind: must_contain_any, id: names_it, values: ["parcel {n}", "letter {n}"]}}
  - {{kind: must_not_contain, id: no_excuses, values: ["as an AI", "I was unable to"]}}
  - {{kind: regex, id: ticket, patterns: ["TICKET-\\\\d{{6}}"], flags: "i"}}
  - {{kind: target_match, id: close, reference_path: expected.answer, mode: chrf, threshold: 0.4}}
  - {{kind: markdown_structure, id: shape, min_headings: 1, required_sections: ["Summary"]}}
scoring:
  combine: weighted_avg
  threshold: 0.7
  weights: {{names_it: 0.3, no_excuses: 0.1, ticket: 0.2, close: 0.3, shape: 0.1}}
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="for each figure that is a rate")
    asked = parser.parse_args()
    kept = [met for part in (contains, patterns, whole, loading, long_chrf) for met in part(asked.seconds)]
    return 0 if all(kept) else 1


def contains(seconds: float) -> Iterator[bool]:
    """Ten checks a response: what is remembered of one does not help with the next."""
    executor, responses = TextExecutor(), several(2_000)
    for kind in ("must_contain_any", "must_not_contain"):
        checks = [{"kind": kind, "values": [f"absent {n}", "not there either"]} for n in range(10)]
        rate = per_second(executor, checks, responses, seconds)
        yield told(f"{kind}, 10 a response of 2 kB", rate, "checks/s", least=100_000)


def patterns(seconds: float) -> Iterator[bool]:
    executor, responses = TextExecutor(), several(2_000)
    checks = [{"kind": "regex", "patterns": [rf"TICKET-\d{{{n + 3}}}"], "flags": "i"} for n in range(5)] + [
        {"kind": "regex", "patterns": [rf"\b(?:refund|invoice) no {n}\b"]} for n in range(5)
    ]
    rate = per_second(executor, checks, responses, seconds)
    executor.close()
    yield told("regex, 10 a response of 2 kB", rate, "checks/s", least=20_000)


def whole(seconds: float) -> Iterator[bool]:
    """Ten of contains, six of regex, four of target_match, on a response of its own each time."""
    text, executors = TextExecutor(), [TargetMatchExecutor()]
    checks: list[dict[str, Any]] = [
        {"kind": "must_contain_any", "id": f"c{n}", "values": [f"absent {n}", "sorry"]} for n in range(6)
    ]
    checks += [{"kind": "must_not_contain", "values": ["as an AI", f"word {n}"]} for n in range(4)]
    checks += [{"kind": "regex", "patterns": [rf"\bparcel\b.{{0,{n}}}Lyon"], "flags": "i"} for n in range(6)]
    checks += [{"kind": "target_match", "reference_path": f"expected.a{n}"} for n in range(4)]
    rubric = Rubric(id="r", version="1.0", checks=tuple(checks), scoring=Scoring(combine="weighted_avg"))
    responses = several(20_000)
    row = {"expected": {f"a{n}": text for n, text in enumerate(several(20_000, 4, seed=1))}}

    def once(number: int) -> None:
        evaluate(rubric, responses[number % len(responses)], row, [text, *executors])

    rate = rounds(once, seconds)
    text.close()
    yield told("20 text checks on 20 kB", 1000 / rate, "ms", most=2)


def loading(seconds: float) -> Iterator[bool]:
    with tempfile.TemporaryDirectory(prefix="proctor-bench-") as name:
        files = [Path(name) / f"r{n}.yaml" for n in range(1000)]
        for number, file in enumerate(files):
            file.write_text(RUBRIC.format(n=number))
        load_rubric(files[0])
        began = time.process_time()
        for file in files:
            load_rubric(file)
        yield told("1,000 rubrics loaded", time.process_time() - began, "s", most=3)


def long_chrf(seconds: float) -> Iterator[bool]:
    """In a process of its own, whose memory is its own, too."""
    code = (
        "import sys, time, resource; sys.path.insert(0, sys.argv[1]); import rubrics;"
        "from orchestrator.checks.target import chrf; one, two = rubrics.megabytes();"
        "began = time.process_time(); chrf(one, two);"
        "print(time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    argv = [sys.executable, "-c", code, str(Path(__file__).parent)]
    spent, peak = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()
    yield told("chrF, 1 MB against 1 MB", float(spent), "s", most=3)
    yield told("chrF, 1 MB, peak of the process", int(peak) / 1024, "MiB", most=400)
    yield told("chrF, furthest from sacrebleu's", furthest(), "", most=1e-9)


def furthest() -> float:
    from sacrebleu.metrics.chrf import CHRF

    theirs, worst = CHRF(), 0.0
    for number in range(40):
        one, two = several(30 * (number + 1) ** 2, 2, seed=number)
        wanted = theirs.sentence_score(one, [two]).score / 100
        worst = max(worst, abs(similarity(one, two) - wanted), abs(chrf(one, two) - wanted))
    return worst


def megabytes() -> tuple[str, str]:
    one, two = several(1_000_000, 2)
    return one, two


def several(length: int, count: int = 50, seed: int = 0) -> list[str]:
    """`count` different texts of about `length` characters."""
    chance, known, found = random.Random(seed), TEXT.split(), []
    for number in range(count):
        words = [f"Text {number}."]
        size = 0
        while size < length:
            words.append(chance.choice(known) if chance.random() < 0.9 else str(chance.random()))
            size += len(words[-1]) + 1
        found.append(" ".join(words)[:length])
    return found


def per_second(
    executor: TextExecutor, checks: list[dict[str, Any]], responses: list[str], least: float
) -> float:
    context = Context()

    def once(number: int) -> None:
        response = responses[number % len(responses)]
        for check in checks:
            executor.execute(check, response, context)

    return rounds(once, least) * len(checks)


def rounds(once: Callable[[int], None], seconds: float) -> float:
    """How often a second of CPU time `once` goes round."""
    once(0)
    began, number = time.process_time(), 0
    while (spent := time.process_time() - began) < seconds:
        number += 1
        once(number)
    return number / spent


def told(what: str, value: float, unit: str, least: float = 0, most: float = float("inf")) -> bool:
    met = least <= value <= most
    bound = f"at least {least:,.0f}" if least else f"at most {most:g}"
    shown = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    print(f"{what:<36} {shown:>10} {unit:<9} {'' if met else 'MISSED: '}{bound}")
    return met


if __name__ == "__main__":
    sys.exit(main())
