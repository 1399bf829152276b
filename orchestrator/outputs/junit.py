"""A run as JUnit XML: a suite per agent, a case per check, and the gates in a suite of their own.

`failure` is wrong work, `error` trouble of the machine, of the task or of proctor, `skipped` what was not
executed or is kept apart. Text of a candidate's making cannot leave its element.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree

from orchestrator import words
from orchestrator.documents.record import OutcomeRecord, TrialRecord
from orchestrator.dossier import Dossier
from orchestrator.report import Row

LOG_SHOWN = 4000
"""Characters of a command's output in a case."""

Mark = Literal["", "failure", "error", "skipped"]


@dataclass(frozen=True)
class _Case:
    classname: str
    name: str
    seconds: float
    mark: Mark = ""
    kind: str = ""
    message: str = ""
    text: str = ""


def document(dossier: Dossier) -> bytes:
    """The whole run, as UTF-8."""
    report = dossier.report
    suites = [(agent.agent, _of_agent(dossier, agent.agent)) for agent in report.agents]
    if report.gates:
        suites.append(("gates", list(_gates(dossier))))
    root = ElementTree.Element(
        "testsuites", name=words.safe(f"{report.benchmark} {report.benchmark_version}")
    )
    for name, cases in suites:
        root.append(_suite(name, cases, dossier))
    _count(root, [case for _, cases in suites for case in cases])
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _of_agent(dossier: Dossier, agent: str) -> list[_Case]:
    rows = [row for row in dossier.report.rows if row.agent == agent]
    return [case for row in rows for case in _cases(row, dossier.latest.get(row.trial))]


def _cases(row: Row, record: TrialRecord | None) -> Iterator[_Case]:
    """The checks of a graded trial, then the trial itself where its checks do not tell its fate."""
    again = f" #{row.repeat}" if row.repeat > 1 else ""
    verdict = record.verdict if record and row.status in ("passed", "failed", "unscored") else None
    outcomes = (*verdict.outcomes, *verdict.skipped) if verdict else ()
    cases = [_check(outcome, row, again) for outcome in outcomes]
    yield from cases
    if not cases or (row.status == "failed") != any(case.mark == "failure" for case in cases):
        yield _whole(row, again, timed=not cases)


def _check(outcome: OutcomeRecord, row: Row, again: str) -> _Case:
    name = (outcome.id or outcome.kind) + again
    took = outcome.details.get("seconds")
    seconds = float(took) if isinstance(took, int | float) and not isinstance(took, bool) else 0.0
    text = outcome.reason + _printed(outcome)
    if outcome.status == "passed":
        return _Case(row.task, name, seconds)
    if outcome.status == "failed" and row.status == "passed":
        return _Case(row.task, name, seconds, text="failed, and the rubric passes all the same: " + text)
    marks: dict[str, Mark] = {"failed": "failure", "error": "error"}
    kind = str(outcome.details.get("cause") or outcome.details.get("end") or outcome.kind)
    return _Case(row.task, name, seconds, marks.get(outcome.status, "skipped"), kind, outcome.reason, text)


def _whole(row: Row, again: str, *, timed: bool) -> _Case:
    marks: dict[str, Mark] = {
        "passed": "",
        "failed": "failure",
        "errored": "error",
        "invalid": "skipped" if row.end == "quarantined" else "error",
    }
    mark = marks.get(row.status, "skipped")
    kind = row.end or row.status
    return _Case(row.task, "trial" + again, row.seconds if timed else 0.0, mark, kind, row.reason, row.reason)


def _printed(outcome: OutcomeRecord) -> str:
    streams = ((name, outcome.details.get(name)) for name in ("stdout", "stderr"))
    return "".join(f"\n\n{name}:\n{text[-LOG_SHOWN:]}" for name, text in streams if isinstance(text, str))


def _gates(dossier: Dossier) -> Iterator[_Case]:
    """Only a hard gate can fail; what the others say is told."""
    for result in dossier.report.gates:
        mark: Mark = "failure" if result.gate.kind == "hard" and not result.met else ""
        name = f"{result.gate.kind} gate {result.gate.metric} of {result.agent}"
        yield _Case("gates", name, 0.0, mark, "gate", result.reason, result.reason)


def _suite(name: str, cases: list[_Case], dossier: Dossier) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=words.safe(name))
    suite.set("timestamp", dossier.header.started[:19])
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in {"run": dossier.header.run_id, "provider": dossier.header.provider}.items():
        ElementTree.SubElement(properties, "property", name=key, value=words.safe(value))
    for case in cases:
        suite.append(_element(case))
    _count(suite, cases)
    return suite


def _element(case: _Case) -> ElementTree.Element:
    facts = {"classname": case.classname, "name": case.name}
    element = ElementTree.Element("testcase", {key: words.safe(value) for key, value in facts.items()})
    element.set("time", f"{case.seconds:.3f}")
    if case.mark:
        message = words.shorten(words.safe(case.message), 500)
        inner = ElementTree.SubElement(element, case.mark, message=message, type=words.safe(case.kind))
        inner.text = words.safe(case.text)
    elif case.text:
        ElementTree.SubElement(element, "system-out").text = words.safe(case.text)
    return element


def _count(element: ElementTree.Element, cases: Iterable[_Case]) -> None:
    cases = list(cases)
    marks = Counter(case.mark for case in cases)
    element.set("tests", str(len(cases)))
    for plural, mark in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(plural, str(marks[mark]))  # type: ignore[index]
    element.set("time", f"{sum(case.seconds for case in cases):.3f}")
