"""A draft as a commented benchmark: YAML text that people read and change. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.documents.validation import Proposal
from orchestrator.drafting.proof import Lists
from orchestrator.drafting.sketch import Sketch
from orchestrator.drafting.split import Split
from orchestrator.drafting.wanted import Commits, Patches, Wanted
from orchestrator.loading.quoting import quoted

ALL_SHOWN = 100
"""pass_to_pass tests listed; of more, this many are taken from all over the suite."""
RUBRIC = "listed_tests_turn"
FIX = "fix.patch"


@dataclass(frozen=True)
class Draft:
    """Everything the document says."""

    benchmark: str
    task: str
    wanted: Wanted
    source: Mapping[str, Any]
    split: Split
    sketch: Sketch
    lists: Lists = field(default_factory=Lists)
    seconds: float = 0.0
    """One run of its tests on the mended state."""
    limits: Proposal = field(default_factory=lambda: Proposal(memory=None, oracle_time="300s"))


def benchmark(draft: Draft) -> str:
    """The text of benchmark.yaml."""
    return "\n".join(_benchmark(draft)) + "\n"


def rubric(draft: Draft) -> str:
    """The text of the rubric that grades it."""
    report = f"    report: {draft.sketch.report}\n" if draft.sketch.report else ""
    return f"""\
# Each listed test must turn, or go on passing. They are told by id: what fails in both states does not count.
id: {RUBRIC}
version: "1.0"
label: Listed tests turn
checks:
  - kind: command
    id: tests
    command: {quoted(draft.sketch.command)}
    expect: test_transitions
{report}scoring:
  combine: all_pass
"""


def sample(tests: tuple[str, ...], size: int = ALL_SHOWN) -> tuple[str, ...]:
    """Evenly taken from all of them, in order.

    >>> sample(("a", "b", "c", "d"), 2)
    ('a', 'c')
    """
    if len(tests) <= size:
        return tests
    return tuple(tests[index * len(tests) // size] for index in range(size))


def _benchmark(draft: Draft) -> Iterator[str]:
    name = draft.wanted.name
    yield f"# Drafted from two states of {name}: a task is to mend the older one as the newer one did."
    yield "# Read it, above all the input: it is all that a candidate is told. Then:"
    yield "#   proctor validate . --execute               before, gold and no-op, three times each"
    yield f"#   proctor shell {draft.task} -b .             look around in the candidate's room"
    yield f"id: {draft.benchmark}"
    yield 'version: "1.0"'
    yield "tasks:"
    yield f"  - id: {quoted(draft.task)}"
    yield "    # Say what is wrong and what should happen instead; do not tell how."
    yield "    input: |"
    where = " and ".join(f"`{path}`" for path in draft.split.swap)
    yield f"      {draft.wanted.title} has a fault that was mended later. Mend it below {where}."
    yield "      The tests that came with the mended state judge your change."
    yield f"    rubric_ref: rubric/{RUBRIC}@1.0"
    yield from _environment(draft.sketch)
    yield "    setup: revert_fix"
    yield from _source(draft)
    yield from _dependencies(draft.sketch)
    if draft.sketch.env:
        yield "    env:"
        yield from (f"      {key}: {quoted(value)}" for key, value in draft.sketch.env.items())
    yield "    limits:  # twice the memory and five times the time that the fix needed here"
    if draft.limits.memory:
        yield f"      memory: {draft.limits.memory}"
    yield f"      oracle_time: {draft.limits.oracle_time}"
    yield from _expected(draft.lists)


def _environment(sketch: Sketch) -> Iterator[str]:
    if not sketch.debian:
        yield "    environment: {host: true}"
        return
    yield "    environment:"
    yield "      debian:"
    yield f"        suite: {sketch.suite}"
    yield f"        packages: {_flow(sketch.debian)}"


def _source(draft: Draft) -> Iterator[str]:
    yield "    source:"
    for key, value in draft.source.items():
        if isinstance(value, Mapping):
            yield f"      {key}:"
            yield from (f"        {quoted(side)}: {quoted(text)}" for side, text in value.items())
        elif isinstance(value, tuple):
            yield f"      {key}:"
            yield from (f"        - {quoted(item)}" for item in value)
        else:
            yield f"      {key}: {quoted(value)}"
    if isinstance(draft.wanted, Commits):
        yield f"    fix_patch: {FIX}"
        return
    if isinstance(draft.wanted, Patches):
        return
    yield "      # What the candidate gets from the older release; the tests stay as in the newer one."
    yield f"      swap: {_flow(draft.split.swap)}"
    if draft.split.keep:
        yield f"      keep: {_flow(draft.split.keep)}"


def own_name(path: str) -> str:
    """Where a file of the judge's lies beside the benchmark.

    >>> own_name("vendor/autoload.php")
    'own/vendor_autoload.php'
    """
    return "own/" + path.replace("/", "_")


def _dependencies(sketch: Sketch) -> Iterator[str]:
    if sketch.own:
        yield "    hidden_files:  # in the judge's rooms only"
        yield from (f"      {quoted(path)}: {quoted(own_name(path))}" for path in sketch.own)
    held = {kind: items for kind, items in sketch.dependencies.items() if items}
    if held:
        yield "    dependencies:  # resolved when this was drafted; installed once, without running any of it"
    for kind, items in held.items():
        yield f"      {kind}:"
        yield from (f"        - {quoted(item)}" for item in items)


def _expected(lists: Lists) -> Iterator[str]:
    if not lists.fail_to_pass:
        return
    yield "    expected:"
    yield f"      fail_to_pass:  # all {len(lists.fail_to_pass)}"
    yield from (f"        - {quoted(test)}" for test in lists.fail_to_pass)
    if lists.missing_before:
        yield "      missing_before_ok: true  # before the fix their files cannot even be imported"
    chosen = sample(lists.pass_to_pass)
    if chosen:
        whole = len(lists.pass_to_pass)
        note = f"all {whole}" if len(chosen) == whole else f"{len(chosen)} of {whole}"
        yield f"      pass_to_pass:  # {note}"
        yield from (f"        - {quoted(test)}" for test in chosen)


def _flow(items: Iterable[str]) -> str:
    return f"[{', '.join(quoted(item) for item in items)}]"
