"""Which tests had to turn green, and which did: the per-test half of `test_transitions` (C-8), pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.checks.causes import clip, printable
from orchestrator.testreports import FAILING, PASSING, Status, TestReport

ROWS_KEPT = 200
"""Rows of the test table kept in an outcome; those that went wrong come first."""
NAMES_KEPT = 20
NAME_LENGTH = 200
_DURATION = re.compile(r"\([\d.]+(?:ms|s)\)\Z")


@dataclass(frozen=True)
class Wanted:
    """The task's lists. `skip_ok` and `missing_before_ok` hold for every id (True) or for those named."""

    fail_to_pass: tuple[str, ...] = ()
    pass_to_pass: tuple[str, ...] = ()
    skip_ok: bool | frozenset[str] = False
    """Imported tasks may let a skipped test count; the verdict shows it."""
    missing_before_ok: bool | frozenset[str] = False
    """Leave for a fail_to_pass test that the before state never comes to: it cannot be collected, or the run
    hangs or crashes before it."""
    pass_to_pass_count: int | None = None
    """How many tests pass before and after (tests marked to fail not counted), where `pass_to_pass` lists
    only some of them."""

    @classmethod
    def from_expected(cls, expected: Mapping[str, Any]) -> Wanted | None:
        """None when the task lists no tests. Raises ValueError with a sentence for a malformed list."""
        turning = _ids(expected, "fail_to_pass")
        staying = _ids(expected, "pass_to_pass")
        both = sorted(set(turning) & set(staying))
        if both:
            raise ValueError(f"expected.fail_to_pass and expected.pass_to_pass both list {both[0]!r}")
        count = _count(expected, "pass_to_pass_count")
        if not turning and not staying:
            if count is not None:
                raise ValueError("expected.pass_to_pass_count needs fail_to_pass or pass_to_pass beside it")
            return None
        leaves = _leave(expected, "skip_ok"), _leave(expected, "missing_before_ok")
        return cls(turning, staying, *leaves, count)

    @property
    def ids(self) -> tuple[str, ...]:
        return (*self.fail_to_pass, *self.pass_to_pass)

    def holds(self, test_id: str, status: Status) -> bool:
        """Whether `status` counts as passed for this test."""
        return status in PASSING or (status == "skipped" and _allows(self.skip_ok, test_id))


def wrong_before(wanted: Wanted, report: TestReport) -> tuple[str, ...]:
    """Why the before state does not fit the lists, a sentence for each test; empty when it does."""
    found = []
    for test_id in wanted.fail_to_pass:
        status = report.status(test_id)
        gone = status in ("missing", "not_run") and _allows(wanted.missing_before_ok, test_id)
        if status not in FAILING and not gone:
            found.append(f"{status} before the change, should fail: {name(test_id, report)}")
    for test_id in wanted.pass_to_pass:
        status = report.status(test_id)
        if not wanted.holds(test_id, status):
            found.append(f"{status} before the change, should pass: {name(test_id, report)}")
    green = len(_green(wanted, report))
    if wanted.pass_to_pass_count is not None and green < wanted.pass_to_pass_count:
        found.append(f"{green} tests pass before the change, fewer than pass_to_pass_count")
    return tuple(found)


def miscounted(wanted: Wanted, before: TestReport, after: TestReport) -> str:
    """What pass_to_pass_count says against the tests that pass on both sides; empty when nothing."""
    if wanted.pass_to_pass_count is None:
        return ""
    then, now = _green(wanted, before), _green(wanted, after)
    stayed = len(then.keys() & now.keys())
    if stayed == wanted.pass_to_pass_count:
        return ""
    lost = [test_id for test_id in then if test_id not in now]
    names = ", ".join(f"{name(i, after)}: {after.status(i)}" for i in lost[:3]) + (
        ", ..." if lost[3:] else ""
    )
    text = f"{stayed} tests stayed green, pass_to_pass_count is {wanted.pass_to_pass_count}"
    return f"{text} ({names})" if lost else text


def _green(wanted: Wanted, report: TestReport) -> dict[str, Status]:
    """What pass_to_pass_count counts: skipped, doubled and unexpectedly passing tests are left out."""
    turning = set(wanted.fail_to_pass)
    return {i: s for i, s in report.statuses.items() if s == "passed" and i not in turning}


def short_after(wanted: Wanted, report: TestReport) -> dict[str, Status]:
    """The listed tests that do not hold in the after state, with what they are instead."""
    statuses = {test_id: report.status(test_id) for test_id in wanted.ids}
    return {test_id: status for test_id, status in statuses.items() if not wanted.holds(test_id, status)}


def skipped_but_ok(wanted: Wanted, report: TestReport) -> tuple[str, ...]:
    """Listed tests that count only because the task lets skipped ones count."""
    return tuple(i for i in wanted.ids if report.status(i) == "skipped" and _allows(wanted.skip_ok, i))


def unlisted_failures(wanted: Wanted, report: TestReport) -> tuple[str, ...]:
    """What went wrong without being in a list: named, but not counted (C-8)."""
    listed = set(wanted.ids)
    return tuple(test_id for test_id in report.went_wrong if test_id not in listed)


def table(wanted: Wanted, before: TestReport, after: TestReport) -> dict[str, Any]:
    """{"tests": {id: [before, after]}, ...} for the outcome's details, bounded."""
    short = short_after(wanted, after)
    order = [*short, *(i for i in wanted.ids if i not in short)]
    unlisted = unlisted_failures(wanted, after)
    return {
        "tests": {_key(i): [before.status(i), after.status(i)] for i in order[:ROWS_KEPT]},
        "tests_left_out": max(0, len(order) - ROWS_KEPT),
        "listed": {"fail_to_pass": len(wanted.fail_to_pass), "pass_to_pass": len(wanted.pass_to_pass)},
        "stayed_green": len(_green(wanted, before).keys() & _green(wanted, after).keys()),
        "counts": {"before": before.counts, "after": after.counts},
        "missing": [name(i, after) for i, status in short.items() if status == "missing"][:NAMES_KEPT],
        "unlisted_failures": [_key(i) for i in unlisted[:NAMES_KEPT]],
        "skipped_but_ok": [_key(i) for i in skipped_but_ok(wanted, after)[:NAMES_KEPT]],
    }


def sentence(short: Mapping[str, Status], report: TestReport) -> str:
    """ "2 failed (a, b); 1 missing (c, nearest id is d)": what is short, by status."""
    by_status: dict[Status, list[str]] = {}
    for test_id, status in short.items():
        by_status.setdefault(status, []).append(test_id)
    parts = []
    for status, ids in by_status.items():
        names = ", ".join(name(test_id, report) for test_id in ids[:3]) + (", ..." if ids[3:] else "")
        parts.append(f"{len(ids)} {status.replace('_', ' ')} ({names})")
    return "; ".join(parts)


def name(test_id: str, report: TestReport) -> str:
    """The id for people, clipped; a missing one with the nearest id there is (B061)."""
    shown = _key(test_id)
    near = nearest(test_id, report.statuses) if report.status(test_id) == "missing" else None
    return shown if near is None else f"{shown}, nearest id is {_key(near)}"


def nearest(test_id: str, ids: Iterable[str]) -> str | None:
    """The reported id most like a missing one; None when none is near."""
    folded = _folded(test_id)
    candidates = list(_plausible(test_id, ids))
    for candidate in candidates:
        if _folded(candidate) == folded:
            return candidate
    # A long path in common does not make two tests near.
    names = {_own(candidate): candidate for candidate in candidates[:300]}
    close = difflib.get_close_matches(_own(test_id), names, n=1, cutoff=0.85)
    return names[close[0]] if close else None


def _plausible(test_id: str, ids: Iterable[str]) -> Iterator[str]:
    """Ids of the same last file or class part; comparing against all of a big suite would take minutes."""
    stem = _stem(test_id)
    return (i for i in ids if _stem(i) == stem)


def _stem(test_id: str) -> str:
    """The file, or the class, that the test stands in; folders left out."""
    return _split(test_id.partition("[")[0])[0].rpartition("/")[2].strip()


def _own(test_id: str) -> str:
    """The test's own name and parameters, without where it stands."""
    head, bracket, parameters = test_id.partition("[")
    return (_split(head)[1] + bracket + parameters)[:500]


def _split(head: str) -> tuple[str, str]:
    """(where it stands, the test's own name): `file::test`, or `file > title > nested title`."""
    where, _, own = max((head.rpartition(mark) for mark in ("::", " > ")), key=lambda parts: len(parts[0]))
    return where, own


def _folded(test_id: str) -> str:
    """Without what differs between two ways to write one id: space, quotes, case, a duration at the end."""
    bare = _DURATION.sub("", "".join(test_id.split()))
    return bare.casefold().replace('"', "").replace("'", "")


def _key(test_id: str) -> str:
    return clip(printable(test_id), NAME_LENGTH)


def _allows(leave: bool | frozenset[str], test_id: str) -> bool:
    return leave if isinstance(leave, bool) else test_id in leave


def _ids(expected: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = expected.get(key)
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or not all(isinstance(i, str) and i for i in value):
        raise ValueError(f"expected.{key} is not a list of test ids")
    return tuple(dict.fromkeys(value))


def _count(expected: Mapping[str, Any], key: str) -> int | None:
    value = expected.get(key)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise ValueError(f"expected.{key} is not a number of tests")


def _leave(expected: Mapping[str, Any], key: str) -> bool | frozenset[str]:
    value = expected.get(key, False)
    if isinstance(value, bool):
        return value
    if isinstance(value, list | tuple) and all(isinstance(i, str) for i in value):
        return frozenset(value)
    raise ValueError(f"expected.{key} is neither true, false nor a list of test ids")
