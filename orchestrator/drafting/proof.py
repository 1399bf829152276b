"""A sketch tried out in rooms: what the tests of both states say, and the lists that follow from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from orchestrator.deadline import Deadline
from orchestrator.drafting.sketch import Sketch
from orchestrator.errors import AuthoringError
from orchestrator.evidence import RoomJudge
from orchestrator.loading import load_benchmark
from orchestrator.tasks import states
from orchestrator.testreports import FAILING, PASSING, TestReport, built_in
from orchestrator.tools import Tools
from orchestrator.worktree.change import Change
from sandboxes.protocol import Provider


@dataclass(frozen=True)
class Seen:
    """One run of the command in one state."""

    report: TestReport
    end: str
    output: str
    seconds: float

    @property
    def good(self) -> bool:
        """A whole run in which tests passed; others may have failed."""
        return self.report.end == "graded" and any(s in PASSING for s in self.report.statuses.values())


@dataclass(frozen=True)
class Lists:
    """Test ids, in the order in which they ran."""

    fail_to_pass: tuple[str, ...] = ()
    pass_to_pass: tuple[str, ...] = ()
    missing_before: bool = False
    """The fail_to_pass tests cannot even be collected before the fix."""

    def without(self, tests: frozenset[str]) -> Lists:
        turning = tuple(t for t in self.fail_to_pass if t not in tests)
        staying = tuple(t for t in self.pass_to_pass if t not in tests)
        return replace(self, fail_to_pass=turning, pass_to_pass=staying)


def rooms(folder: Path, provider: Provider, home: Path) -> RoomJudge:
    """The judge's rooms of the one task in `folder`: before, and after with its own fix."""
    benchmark = load_benchmark(folder)
    tools = Tools(benchmark, provider, {}, (), lambda ref: None, home)
    state = tools.state(benchmark.tasks[0])
    graded = states.graded(state, Change.read(state.gold or b""))
    return RoomJudge(
        provider=provider,
        room=tools.room(state),
        trees=state.store,
        judge_tree=graded.before,
        graded_tree=graded.tree,
        deadline=Deadline(),
    )


def run(judge: RoomJudge, sketch: Sketch, side: Literal["before", "after"]) -> Seen:
    """Raises AuthoringError when no reader knows the tests of its command."""
    command = sketch.command
    known = (r for r in built_in() if (r.name == sketch.report if sketch.report else r.recognises(command)))
    reporter = next((r for r in known if r.names_tests), None)
    if reporter is None:
        raise AuthoringError(f"no reader knows the tests run by {command!r}")
    step = reporter.step(command, judge.env, "draft")
    result = (judge.before if side == "before" else judge.after)(step)[0]
    done = result.done
    output = f"{done.stdout.text}\n{done.stderr.text}"
    return Seen(reporter.read(result, "draft"), done.end, output, done.seconds)


def lists(before: TestReport, after: TestReport) -> Lists:
    """What turns and what stays.

    >>> after = TestReport("graded", {"a": "passed", "b": "passed"})
    >>> lists(TestReport("graded", {"a": "failed", "b": "passed"}), after)
    Lists(fail_to_pass=('a',), pass_to_pass=('b',), missing_before=False)
    """
    holds = [test for test, status in after.statuses.items() if status in PASSING]
    turning = tuple(t for t in holds if before.status(t) in FAILING)
    staying = tuple(t for t in holds if before.status(t) in PASSING)
    absent = tuple(t for t in holds if before.status(t) in ("missing", "not_run"))
    return Lists(turning or absent, staying, bool(absent and not turning))
