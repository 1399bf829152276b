"""JUnit XML, as many test runners write it, to results.

Candidates may have written it: no document type is accepted and so no entity expanded, and only `testcase`
elements count, however their suites are nested.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from xml.parsers import expat

from orchestrator.testreports.report import Status


class JUnitTrouble(ValueError):
    """The file is no JUnit report. One sentence."""


@dataclass
class Case:
    """One `testcase` element."""

    attributes: dict[str, str]
    status: Status = "passed"
    marks: list[tuple[str, str]] = field(default_factory=list)
    """(element, its type attribute) of what stands inside it: failure, error, skipped, ..."""


_WORDS: tuple[tuple[str, Status], ...] = (("error", "error"), ("failure", "failed"), ("skipped", "skipped"))
_ODD = frozenset({"warning"})
RISKY = "RiskyTestError"


def cases(data: bytes) -> list[Case]:
    """Every test case of a report, in order. Raises JUnitTrouble.

    >>> [c.status for c in cases(b'<testsuites><testcase name="a"><skipped/></testcase></testsuites>')]
    ['skipped']
    """
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.StartDoctypeDeclHandler = reader.doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise JUnitTrouble(f"the report is not whole XML: {error}") from error
    if reader.root not in ("testsuites", "testsuite"):
        raise JUnitTrouble(f"the report begins with <{reader.root}>, not with <testsuites>")
    return reader.cases


def named(case: Case) -> str:
    """`classname::name`, or the name alone."""
    owner = case.attributes.get("classname") or case.attributes.get("class")
    name = case.attributes.get("name", "")
    return f"{owner}::{name}" if owner else name


class _Reader:
    """The handlers of one parse."""

    def __init__(self) -> None:
        self.cases: list[Case] = []
        self.root = ""
        self._inside: Case | None = None

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.root = self.root or name
        if name == "testcase":
            if self._inside is not None:
                raise JUnitTrouble("a test case stands inside another")
            self._inside = Case(dict(attributes))
            self.cases.append(self._inside)
        elif self._inside is not None:
            self._inside.marks.append((name, attributes.get("type", "")))

    def end(self, name: str) -> None:
        if name == "testcase" and self._inside is not None:
            self._inside.status = _status(self._inside.marks)
            self._inside = None

    def doctype(self, *_: object) -> None:
        raise JUnitTrouble("the report brings a document type, which no test runner writes")


def _status(marks: Iterable[tuple[str, str]]) -> Status:
    """The gravest of what stands inside a test case."""
    marks = list(marks)
    if any(kind in ("error", "failure") and not of.endswith(RISKY) for kind, of in marks):
        return next(status for word, status in _WORDS if word in {kind for kind, _ in marks})
    if any(kind in _ODD or of.endswith(RISKY) for kind, of in marks):
        return "unknown"
    return "skipped" if any(kind == "skipped" for kind, _ in marks) else "passed"
