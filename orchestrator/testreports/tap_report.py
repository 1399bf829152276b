"""Any test runner that prints TAP, by the names of its points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from orchestrator.testreports.printed import PrintedReporter
from orchestrator.testreports.report import ReportEnd, Status, TestReport, once
from orchestrator.testreports.tap import Point, Stream, streams


class TapReporter(PrintedReporter):
    """Any TAP on the standard output. Ids are the points' descriptions, with the titles of the subtests
    before them: `outer > inner`. A point that closes a subtest is no test of its own. Only used where a
    check says `report: tap`."""

    name = "tap"

    def parse(self, text: str) -> TestReport:
        return read_points(text)


def read_points(text: str) -> TestReport:
    """TAP by the names of its points."""
    found = streams(text)
    points = [point for stream in found for point in stream.points]
    tests = [(_path(point), point.status) for point in points if not point.children]
    broken: dict[str, Status] = {
        _path(p): "error" for p in points if p.children and p.status == "failed" and not _explained(p, points)
    }
    return _report(found, tests, broken)


def _path(point: Point) -> str:
    return " > ".join((*point.titles, point.name))


def _explained(parent: Point, points: Iterable[Point]) -> bool:
    """Whether a failed test stands inside a failed subtest."""
    inside = (*parent.titles, parent.name)
    return any(p.titles[: len(inside)] == inside and p.status == "failed" for p in points)


def _report(found: list[Stream], tests: list[tuple[str, Status]], broken: Mapping[str, Status]) -> TestReport:
    if not found:
        return TestReport("report_missing", problems=("the command printed no line of TAP",))
    statuses, doubled = once(tests)
    problems = tuple(dict.fromkeys(p for stream in found for p in stream.problems))
    ended = all(stream.ended for stream in found)
    end: ReportEnd = "run_incomplete" if not ended else "graded" if statuses else "nothing_ran"
    return TestReport(end, statuses, problems, collection=broken, doubled=doubled, tool="TAP")
