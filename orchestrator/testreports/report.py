"""What a test runner reported, and what can read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol

from orchestrator.contract import Step, StepResult

Status = Literal[
    "passed",
    "failed",
    "error",
    "skipped",
    "xfailed",
    "xpassed",
    "not_run",
    "missing",
    "ambiguous",
    "unknown",
]
"""How one test came out.

failed: its body failed (a strict unexpected pass, too). error: setup, teardown or collection failed, or
its worker crashed. xfailed, xpassed: ran, marked as expected to fail (not strict). not_run: collected,
never executed (`xfail(run=False)`, a run that stopped early). missing: the report does not name it.
ambiguous: two results under one id. unknown: a result in words we do not know.
"""

PASSING: frozenset[str] = frozenset({"passed", "xpassed"})
"""Really ran, and its body held (docs: B066). Nothing else is ever a pass."""
FAILING: frozenset[str] = frozenset({"failed", "error", "xfailed"})
"""Really tried, and did not hold: what a fail_to_pass test must be in the before state."""
WRONG: tuple[Status, ...] = ("failed", "error", "ambiguous")
"""What explains a non-zero exit code and contradicts a zero; an ambiguous test when it hides a failure."""

ReportEnd = Literal["graded", "nothing_ran", "run_incomplete", "report_unreadable", "report_missing"]


@dataclass(frozen=True)
class TestReport:
    """One command's tests. `end` other than "graded" means it is no result, whatever `statuses` holds."""

    __test__ = False

    end: ReportEnd
    statuses: Mapping[str, Status] = field(default_factory=dict, repr=False)
    problems: tuple[str, ...] = ()
    """Sentences: why `end` is what it is, or what else was odd."""
    unnamed: Mapping[Status, int] = field(default_factory=dict)
    """How many tests ended how, where the runner gives only totals."""
    collection: Mapping[str, Status] = field(default_factory=dict)
    """Files or classes that failed ("error") or were skipped as a whole while tests were collected."""
    doubled: Mapping[str, Status] = field(default_factory=dict, repr=False)
    """Of ambiguous tests: the worst of their results. One that is not here may hide anything."""
    exit_statuses: tuple[int, ...] = ()
    """What the runner itself meant to exit with, one for each time the command ran it."""
    tool: str = ""
    """Runner and version, "pytest 8.3.4"."""
    changed: tuple[str, ...] = ()
    """What of the runner was another thing at the end, "unittest.case.TestCase.assertEqual"."""
    hooks: tuple[str, ...] = ()
    """Whose hooks could decide a test besides the runner's own, "pytest_pyfunc_call of /w/conftest.py"."""

    @cached_property
    def counts(self) -> dict[str, int]:
        """How often each status occurs, most frequent first."""
        return dict((Counter(self.statuses.values()) + Counter(self.unnamed)).most_common())

    @cached_property
    def went_wrong(self) -> tuple[str, ...]:
        """Ids that explain a non-zero exit: tests and collections that failed, also under a doubled id."""
        wrong = [i for i, s in self.statuses.items() if s in WRONG and self.doubled.get(i, s) in WRONG]
        return (*wrong, *(i for i, s in self.collection.items() if s == "error"))

    def status(self, test_id: str) -> Status:
        """Exact ids only; "missing" when the report does not name it."""
        return self.statuses.get(test_id, "missing")

    def disagreement(self, exit_code: int) -> str:
        """What exit code and report say against each other (C-8); empty when they agree."""
        unnamed = sum(self.unnamed.get(word, 0) for word in WRONG)
        wrong = len(self.went_wrong) + unnamed
        if exit_code == 0 and wrong:
            which = f" ({self.went_wrong[0][:200]})" if self.went_wrong else ""
            return f"exit code 0, but the report says {wrong} went wrong{which}"
        if exit_code == 0 and any(s not in (0, 5) for s in self.exit_statuses):
            return f"exit code 0, but the runner itself ended with {max(self.exit_statuses)}"
        if exit_code != 0 and not wrong:
            return f"exit code {exit_code}, but the report says nothing failed"
        return ""


def once(results: Iterable[tuple[str, Status]]) -> tuple[dict[str, Status], dict[str, Status]]:
    """Every id with its status, and of those that came twice, which are ambiguous, the worst result.

    >>> once([("a", "passed"), ("b", "passed"), ("a", "failed")])
    ({'a': 'ambiguous', 'b': 'passed'}, {'a': 'failed'})
    """
    statuses: dict[str, Status] = {}
    doubled: dict[str, Status] = {}
    for test_id, status in results:
        if test_id in statuses:
            known = doubled.get(test_id, statuses[test_id])
            doubled[test_id] = status if status in WRONG and known not in WRONG else known
            status = "ambiguous"
        statuses[test_id] = status
    return statuses, doubled


class Reporter(Protocol):
    """Makes one test runner leave a report, and reads it."""

    name: str
    names_tests: bool
    """Whether each test comes with its id, as the lists of test_transitions need."""

    def recognises(self, command: str) -> bool:
        """Whether this shell command runs our runner."""
        ...

    def step(self, command: str, env: Mapping[str, str], token: str) -> Step:
        """The command as a step that leaves a report. `env` is what the room has already; `token` must be
        unpredictable wherever the candidate's code runs."""
        ...

    def read(self, result: StepResult, token: str) -> TestReport:
        """Never raises for what the candidate's code may have written."""
        ...


def printed_text(result: StepResult) -> str | TestReport:
    """What a runner that reports on its standard output printed; a report of its own when some is missing."""
    if result.done.stdout.truncated:
        problem = "the output is larger than what is kept of it (raise limits.output)"
        return TestReport("report_unreadable", problems=(problem,))
    return result.done.stdout.text
