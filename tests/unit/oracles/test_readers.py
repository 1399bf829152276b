"""One contract for every report reader: a finished run is read, everything else is no measurement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.analyzers import AnalyzerError
from orchestrator.analyzers.formats import FORMATS
from orchestrator.analyzers.reports import Raw

DATA = Path(__file__).parents[2] / "data" / "oracles"
BANDIT_CLEAN = {
    "errors": [],
    "metrics": {"_totals": {"SEVERITY.HIGH": 0}, "a.py": {"loc": 2}},
    "results": [],
}
PYLINT_CLEAN = {
    "messages": [],
    "statistics": {"messageTypeCount": {"error": 0}, "modulesLinted": 1, "score": 10.0},
}
RULE = {"id": "R1", "defaultConfiguration": {"level": "error"}}
SARIF = {
    "version": "2.1.0",
    "runs": [
        {
            "tool": {
                "driver": {"name": "x", "rules": [{"id": "R1", "defaultConfiguration": {"level": "error"}}]}
            },
            "originalUriBaseIds": {"SRC": {"uri": "file:///srv/repo/"}},
            "results": [
                {
                    "ruleIndex": 0,
                    "message": {"text": "m"},
                    "locations": [
                        {
                            "physicalLocation": {
                                "artifactLocation": {"uri": "src/a%20b.php", "uriBaseId": "SRC"},
                                "region": {"startLine": 7},
                            }
                        }
                    ],
                },
                {"ruleId": "R2", "kind": "pass", "message": {"text": "fine"}},
                {
                    "ruleId": "R3",
                    "level": "note",
                    "message": {"text": "n"},
                    "suppressions": [{"kind": "inSource"}],
                },
            ],
        }
    ],
}

FINISHED: list[tuple[str, object, int, str, int]] = [
    ("phpcs", "phpcs/bad.371.json", 2, "3.7.1", 11),
    ("phpcs", "phpcs/bad.3.13.4.json", 2, "3.13.4", 11),
    ("phpcs", "phpcs/bad.4.0.0.json", 3, "4.0.0", 11),
    ("phpcs", "phpcs/bad.371.checkstyle", 2, "3.7.1", 11),
    ("phpcs", "phpcs/bad.3.13.4.checkstyle", 2, "3.13.4", 11),
    ("phpcs", "phpcs/bad.4.0.0.checkstyle", 3, "4.0.0", 11),
    ("phpstan", "phpstan/clean.json", 0, "1.12.7", 0),
    ("phpstan", "phpstan/three.json", 1, "1.12.7", 3),
    ("phpstan", "phpstan/crlf.json", 1, "1.12.7", 5),
    ("phpstan", "phpstan/trait.json", 1, "1.12.7", 2),
    ("phpstan", "phpstan/ignore_id.json", 0, "1.12.7", 0),
    ("phpstan", "phpstan/ignore_unmatched.json", 1, "1.12.7", 1),
    ("phpstan", "phpstan/neon_unmatched.json", 1, "1.12.7", 1),
    (
        "phpstan",
        {
            "totals": {"errors": 0, "file_errors": 1},
            "files": {
                "a.php": {
                    "errors": 1,
                    "messages": [{"message": "Undefined variable: $x", "line": 3, "ignorable": True}],
                }
            },
            "errors": [],
        },
        1,
        "1.10.60",
        1,
    ),
    (
        "phpstan",
        {
            "totals": {"errors": 0, "file_errors": 1},
            "files": {
                "a.php": {
                    "errors": 1,
                    "messages": [
                        {
                            "message": "m",
                            "line": None,
                            "ignorable": False,
                            "identifier": "ignore.unmatched",
                            "tip": "t",
                        }
                    ],
                }
            },
            "errors": [],
        },
        1,
        "2.1.0",
        1,
    ),
    ("phpmd", "phpmd/violations.rc2.json", 2, "2.13.0", 3),
    ("phpmd", {"version": "x", "files": []}, 0, "2.13.0", 0),
    ("php-cs-fixer", {"about": "x", "files": [], "time": {"total": 1}, "memory": 1}, 0, "3.95.3", 0),
    (
        "php-cs-fixer",
        {"files": [{"name": "a.php", "appliedFixers": ["braces", "indentation_type"]}]},
        8,
        "3",
        2,
    ),
    (
        "php-lint",
        b"0 /w/a.php\x00No syntax errors\x00255 /w/b.php\x00PHP Parse error: x in /w/b.php on line 3\x00end",
        0,
        "8.2.36",
        1,
    ),
    ("ruff", "python/ruff.json", 1, "0.17.6", 2),
    ("ruff", [], 0, "0.17.6", 0),
    ("pylint", "python/pylint2.json", 20, "4.1.4", 3),
    ("pylint", PYLINT_CLEAN, 0, "4.1.4", 0),
    ("mypy", "python/mypy.jsonl", 1, "2.4.1", 2),
    ("mypy", b"\n", 0, "2.4.1", 0),
    ("bandit", BANDIT_CLEAN, 0, "1.9.4", 0),
    ("radon", {}, 0, "6.0.1", 0),
    (
        "radon",
        {"a.py": [{"type": "method", "classname": "A", "name": "f", "lineno": 3, "complexity": 11}]},
        0,
        "6",
        1,
    ),
    (
        "eslint",
        [{"filePath": "a.js", "messages": [], "suppressedMessages": [], "errorCount": 0, "warningCount": 0}],
        0,
        "10.15.0",
        0,
    ),
    ("sarif", SARIF, 0, "", 2),
    ("checkstyle", "phpcs/bad.371.checkstyle", 0, "", 11),
    ("audit", {"score": 71.5}, 0, "", 0),
]

UNFINISHED: list[tuple[str, object, int, str]] = [
    ("phpstan", "phpstan/syntax.json", 1, "could not parse"),
    ("phpstan", "phpstan/internal_error.json", 1, "did not finish: Internal error"),
    ("phpstan", "../phpstan_crash/after-worker-died.json", 1, "did not finish: Child process"),
    ("phpstan", "../phpstan_crash/after-empty.txt", 255, "wrote no report"),
    ("phpstan", "../phpstan_crash/after-oom.txt", 255, "not whole JSON"),
    ("phpstan", "../phpstan_crash/after-no-files.txt", 1, "not whole JSON"),
    ("phpstan", b"", 0, "wrote no report"),
    (
        "phpstan",
        {"totals": {"errors": 0, "file_errors": 3}, "files": [], "errors": []},
        1,
        "contradicts itself",
    ),
    (
        "phpstan",
        {
            "totals": {"errors": 0, "file_errors": 1},
            "files": {
                "a.php": {
                    "errors": 1,
                    "messages": [
                        {"message": "Syntax error, unexpected T_STRING", "line": 2, "ignorable": False}
                    ],
                }
            },
            "errors": [],
        },
        1,
        "could not parse",
    ),
    ("phpmd", "phpmd/violations_plus_parse_error.rc3.json", 3, "could not parse"),
    ("phpmd", {"version": "x", "files": []}, 1, "exit code 1"),
    ("php-cs-fixer", {"files": []}, 4, "could not parse"),
    ("php-cs-fixer", b"", 0, "wrote no report"),
    ("php-cs-fixer", {"files": []}, 16, "exit code 16"),
    ("php-lint", b"0 /w/a.php\0No syntax errors\0", 0, "cut off"),
    ("php-lint", b"1 /w/a.php\0Could not open input file\0end", 0, "exit code 1"),
    ("php-lint", b"end", 0, "found no PHP file"),
    ("ruff", "python/ruff_syntax.json", 1, "could not parse"),
    (
        "ruff",
        [{"code": "E902", "filename": "x", "message": "No such file", "location": {"row": 1}}],
        1,
        "parse",
    ),
    ("pylint", b"No files to lint: exiting.", 32, "not whole JSON"),
    (
        "pylint",
        {
            "messages": [
                {"type": "error", "symbol": "syntax-error", "message": "m", "path": "a.py", "line": 1}
            ],
            "statistics": {"messageTypeCount": {"error": 1}, "score": 0.0},
        },
        2,
        "could not parse",
    ),
    (
        "pylint",
        {"messages": [], "statistics": {"messageTypeCount": {"error": 2}, "score": 9.0}},
        2,
        "contradicts",
    ),
    (
        "mypy",
        b'{"file": "a.py", "line": 1, "message": "Invalid syntax", "code": "syntax", "severity": "error"}\n',
        2,
        "could not check everything",
    ),
    ("mypy", b'{"file": "a.py"}\nTraceback', 1, "middle of a line"),
    ("mypy", b"Success: no issues\n", 0, "no JSON"),
    ("bandit", "python/bandit_with_error.json", 1, "could not parse syn/a.py"),
    ("bandit", {"errors": [], "metrics": {"_totals": {"SEVERITY.HIGH": 0}}, "results": []}, 0, "no file"),
    ("bandit", {**BANDIT_CLEAN, "metrics": {"_totals": {"SEVERITY.HIGH": 2}, "a.py": {}}}, 0, "contradicts"),
    ("radon", "python/radon_cc_with_error.json", 0, "could not parse syn/a.py"),
    ("eslint", "eslint/eslint.json", 1, "could not parse"),
    ("eslint", [], 0, "no file"),
    (
        "eslint",
        [
            {
                "filePath": "a.js",
                "messages": [{"ruleId": None, "message": "File ignored because outside", "severity": 1}],
                "errorCount": 0,
                "warningCount": 1,
            }
        ],
        0,
        "left a.js out",
    ),
    ("sarif", {"version": "2.1.0", "runs": []}, 0, "no run"),
    ("sarif", {"version": "2.1.0", "runs": [{"tool": {}}]}, 0, "never looked"),
    (
        "sarif",
        {"version": "2.1.0", "runs": [{"results": [], "invocations": [{"executionSuccessful": False}]}]},
        0,
        "not successful",
    ),
    (
        "sarif",
        {
            "version": "2.1.0",
            "runs": [
                {
                    "results": [],
                    "invocations": [
                        {
                            "executionSuccessful": True,
                            "toolExecutionNotifications": [{"level": "error", "message": {"text": "died"}}],
                        }
                    ],
                }
            ],
        },
        0,
        "died",
    ),
    ("checkstyle", b"<!DOCTYPE x [<!ENTITY a 'b'>]><checkstyle/>", 0, "document type"),
    ("checkstyle", b"<html/>", 0, "no checkstyle"),
    ("checkstyle", b"<checkstyle><error line='1' message='m'/></checkstyle>", 0, "known shape"),
    ("checkstyle", b"<checkstyle><file name='a'><exception>x</exception></file></checkstyle>", 0, "crashed"),
    ("audit", "audit/composer-2.5.5_audit.rc1.json", 1, "nothing at score"),
    ("audit", "audit/npm11_audit_endpoint_refused.rc1.json", 1, "nothing at score"),
    ("audit", "audit/npm11_audit_offline_false_clean.rc0.json", 0, "nothing at score"),
    ("audit", {"score": "71"}, 0, "no number"),
    ("audit", {"score": True}, 0, "no number"),
    ("audit", {"score": 171}, 0, "not within"),
    ("audit", b'{"score": NaN}', 0, "no number"),
]


def bytes_of(source: object) -> bytes:
    if isinstance(source, bytes):
        return source
    if isinstance(source, str):
        return (DATA / "analyzers" / source).read_bytes()
    return json.dumps(source).encode()


def names(cases: list[tuple[str, object, int, str, int]] | list[tuple[str, object, int, str]]) -> list[str]:
    return [f"{number}-{case[0]}" for number, case in enumerate(cases)]


@pytest.mark.parametrize(("tool", "source", "code", "version", "findings"), FINISHED, ids=names(FINISHED))
def test_a_finished_run_is_read(tool: str, source: object, code: int, version: str, findings: int) -> None:
    report = FORMATS[tool](Raw(bytes_of(source), code, version))

    assert len(report.findings) == findings
    assert all(f.rule for f in report.findings)


@pytest.mark.parametrize(("tool", "source", "code", "version", "findings"), FINISHED, ids=names(FINISHED))
def test_another_exit_code_than_the_reports_is_refused(
    tool: str, source: object, code: int, version: str, findings: int
) -> None:
    if tool in ("sarif", "checkstyle", "audit"):
        return  # formats of many tools: whoever runs one knows its codes
    unsure = {1, 2, 3} if str(source).endswith(".checkstyle") else set()  # it does not say what is fixable
    for other in {1, 2, 3, 4, 16, 124, 137, 255} - {code} - unsure:
        with pytest.raises(AnalyzerError, match=r"exit code|parse"):
            FORMATS[tool](Raw(bytes_of(source), other, version))


@pytest.mark.parametrize(("tool", "source", "code", "version", "findings"), FINISHED, ids=names(FINISHED))
@pytest.mark.parametrize("damage", ["empty", "blank", "cut", "head", "tail", "list"])
def test_a_damaged_report_is_no_measurement(
    tool: str, source: object, code: int, version: str, findings: int, damage: str
) -> None:
    whole = bytes_of(source)
    data = {
        "empty": b"",
        "blank": b" \n",
        "cut": whole.rstrip()[:-1],
        "head": b"Deprecated: x\n" + whole,
        "tail": whole + b"\nUnable to encode",
        "list": b"[1, 2]",
    }[damage]
    if tool == "mypy" and code == 0 and damage in ("empty", "blank", "cut"):
        return  # mypy says nothing at all when all is well

    with pytest.raises(AnalyzerError):
        FORMATS[tool](Raw(data, code, version))


@pytest.mark.parametrize(("tool", "source", "code", "says"), UNFINISHED, ids=names(UNFINISHED))
def test_an_unfinished_run_is_no_measurement(tool: str, source: object, code: int, says: str) -> None:
    with pytest.raises(AnalyzerError, match=says):
        FORMATS[tool](Raw(bytes_of(source), code, "3.7.1"))


@pytest.mark.parametrize("code", [0, 1])
def test_mypys_notes_are_no_errors_whatever_its_exit_code(code: int) -> None:
    """With JSON it ends with 1 for notes alone (1.11 to 2.4)."""
    note = {"file": "a.py", "line": 5, "column": 4, "message": "not checked", "hint": None}
    line = json.dumps(note | {"code": "annotation-unchecked", "severity": "note"}).encode() + b"\n"

    report = FORMATS["mypy"](Raw(line, code, "2.4.1"))

    assert (report.findings, report.counts["notes"]) == ((), 1)
    with pytest.raises(AnalyzerError, match="exit code 1, but 0 errors means 0"):
        FORMATS["mypy"](Raw(b"", 1, "2.4.1"))


def test_incomplete_on_stderr_is_believed() -> None:
    data = bytes_of("phpstan/three.json")
    said = (DATA / "analyzers" / "phpstan" / "syntax.stderr.txt").read_text()

    with pytest.raises(AnalyzerError, match="incomplete"):
        FORMATS["phpstan"](Raw(data, 1, "1.12.7", stderr=said))


def test_a_trait_is_one_file_and_its_findings_keep_their_number() -> None:
    report = FORMATS["phpstan"](Raw(bytes_of("phpstan/trait.json"), 1, "1.12.7"))

    assert [(f.path, f.line) for f in report.findings] == [("trait/src/a.php", 2)] * 2


def test_roots_and_separators_do_not_matter() -> None:
    one = Raw(
        json.dumps(
            {
                "totals": {"errors": 0, "file_errors": 1},
                "errors": [],
                "files": {
                    "/srv/repo/src/A.php": {
                        "errors": 1,
                        "messages": [{"message": "m", "line": 1, "identifier": "i"}],
                    }
                },
            }
        ).encode(),
        1,
        root="/srv/repo",
    )
    other = Raw(one.data.replace(b"/srv/repo/src/A.php", b"C:\\\\w\\\\src\\\\A.php"), 1, root="C:\\w")

    assert FORMATS["phpstan"](one).findings == FORMATS["phpstan"](other).findings


def test_places_in_sarif_are_resolved() -> None:
    found = FORMATS["sarif"](Raw(json.dumps(SARIF).encode(), 0, root="/srv/repo")).findings

    assert [(f.rule, f.path, f.line, f.severity) for f in found] == [
        ("R1", "src/a b.php", 7, "error"),
        ("R3", "", 0, "note"),
    ]


def test_what_comments_suppress_in_eslint_counts_like_the_rest() -> None:
    entries = json.loads(bytes_of("eslint/eslint.json"))
    kept = [entry for entry in entries if not entry["fatalErrorCount"]]

    report = FORMATS["eslint"](Raw(json.dumps(kept).encode(), 1, "10.15.0"))

    assert len(report.findings) == 4 + 1 + 4
