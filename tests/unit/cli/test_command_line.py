"""The command line itself: what it offers, how it answers, how its output may be cut off."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import COMMANDS, build
from orchestrator.cli.ending import finish

PROCTOR = Path(sys.executable).with_name("proctor")
REPOSITORY = Path(__file__).parents[3]
HEAVY = (
    *("rich", "pydantic", "docker", "jsonschema", "sacrebleu", "tenacity", "yaml"),
    *("numpy", "scipy", "sqlalchemy"),
)


def call(*arguments: object) -> int:
    return finish(build(), [str(argument) for argument in arguments])


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = call(name, "--help")

    told = capsys.readouterr().out
    assert code == 0
    assert "Example" in told
    assert f"proctor {name}" in told


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_the_documentation(name: str) -> None:
    pages = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]

    assert any(f"proctor {name}" in page.read_text(encoding="utf-8") for page in pages)


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys; from orchestrator.cli import build; from orchestrator.cli.ending import finish\n"
        "finish(build(), ['--help'])\n"
        f"print('heavy:', sorted(set({HEAVY}) & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.endswith("heavy: []\n")


def test_an_unknown_command_or_a_missing_argument_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("grade") == 2
    assert call("run") == 2
    assert "Traceback" not in capsys.readouterr().err


def test_the_version_is_the_installed_one(capsys: pytest.CaptureFixture[str]) -> None:
    from importlib.metadata import version

    assert call("--version") == 0
    assert capsys.readouterr().out == f"proctor {version('proctor')}\n"


def test_a_reader_that_leaves_early_is_no_error() -> None:
    shell = f"set -o pipefail; '{PROCTOR}' schema rubric | head -c 10"

    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)

    assert done.stdout.startswith("{")
    assert done.stderr == ""


@pytest.mark.parametrize("asked", ["--help", "schema rubric"])
def test_a_reader_that_never_read_is_told_as_no_verdict(asked: str) -> None:
    shell = f"set -o pipefail; '{PROCTOR}' {asked} | exec 0<&-"

    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (141, "")


def test_closed_streams_are_no_trouble() -> None:
    shell = f"'{PROCTOR}' schema rubric <&- >&- 2>&-"

    assert subprocess.run(["bash", "-c", shell], check=False).returncode == 0


def test_without_git_nothing_starts_and_it_is_said_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    assert call("run", "quickstart", "--agent", "gold", "--tasks", "csv_quotes") == 3
    assert "install git" in capsys.readouterr().err


def test_output_is_utf_8_whatever_the_locale_says(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text(
        'id: r\nversion: "1.0"\nchecks: [{kind: must_contain_any, id: c, values: ["é"]}]\n'
        "scoring: {combine: all_pass}\n",
        encoding="utf-8",
    )
    environment = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    asked = [PROCTOR, "check", "r.yaml", "--response", "-"]

    plain, structured = (
        subprocess.run(
            [*asked, *more],
            input="é".encode(),
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            check=False,
        )
        for more in ([], ["--json"])
    )

    assert (plain.returncode, plain.stderr) == (0, b"")
    assert json.loads(structured.stdout.decode())["passed"] is True


RUBRIC = """id: polite
version: "1.0"
checks:
  - {kind: must_contain_any, id: greets, values: [hello]}
  - {kind: command, id: tests, command: make test}
scoring: {combine: all_pass}
"""


@pytest.fixture
def rubric(tmp_path: Path) -> Path:
    file = tmp_path / "polite.yaml"
    file.write_text(RUBRIC)
    return file


def checked(
    rubric: Path, response: bytes, capsys: pytest.CaptureFixture[str], *more: object
) -> tuple[int, dict[str, Any]]:
    file = rubric.with_name("answer.txt")
    file.write_bytes(response)
    code = call("check", rubric, "--response", file, "--json", *more)
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, document


def test_a_check_answers_in_the_agreed_shape(rubric: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, verdict = checked(rubric, b"Hello there", capsys)

    assert code == 0
    assert list(verdict) == [
        *("rubric", "score", "passed", "reason", "outcomes", "skipped", "warnings", "route", "executors")
    ]
    assert (verdict["rubric"], verdict["score"], verdict["passed"]) == ("rubric/polite@1.0", 1.0, True)
    assert [list(o) for o in verdict["outcomes"]] == [["id", "kind", "score", "passed", "reason"]]
    assert [(s["id"], s["kind"]) for s in verdict["skipped"]] == [("tests", "command")]


def test_a_check_that_fails_exits_1(rubric: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, verdict = checked(rubric, b"Good day", capsys)

    assert (code, verdict["score"], verdict["passed"]) == (1, 0.0, False)


def test_a_response_that_is_not_utf_8_fails_every_text_check(
    rubric: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, verdict = checked(rubric, b"hello \xff", capsys)

    assert code == 1
    assert "UTF-8" in verdict["outcomes"][0]["reason"]


def test_nothing_executable_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "oracle.yaml"
    file.write_text(
        'id: oracle\nversion: "1.0"\nchecks: [{kind: command, command: "true"}]\n'
        "scoring: {combine: all_pass}\n"
    )

    code, verdict = checked(file, b"anything", capsys)

    assert (code, verdict["score"], verdict["passed"]) == (0, None, None)


def test_a_task_of_another_rubric_is_a_warning(rubric: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = rubric.with_name("task.yaml")
    task.write_text("id: t\nrubric_ref: rubric/other@1.0\n")

    _, verdict = checked(rubric, b"hello", capsys, "--task", task)

    assert any("rubric/other@1.0" in warning for warning in verdict["warnings"])


def test_composites_find_the_rubrics_beside_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "polite.yaml").write_text(RUBRIC)
    (tmp_path / "broken.yaml").write_text("id: [")
    outer = tmp_path / "outer.yaml"
    outer.write_text(
        'id: outer\nversion: "1.0"\nchecks: [{kind: composite, id: c, rubric_ref: rubric/polite@1.0}]\n'
        "scoring: {combine: all_pass}\n"
    )

    code, verdict = checked(outer, b"hello", capsys)

    assert (code, verdict["outcomes"][0]["kind"]) == (0, "composite")


def test_an_authoring_error_exits_2_and_prints_no_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "r.yaml"
    file.write_text(RUBRIC.replace("values", "valuse"))

    code = call("check", file, "--response", file, "--json")

    told = capsys.readouterr()
    assert (code, told.out) == (2, "")
    assert "valuse" in told.err


def test_validate_names_errors_and_warnings_apart(rubric: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rubric.write_text(RUBRIC.replace("combine: all_pass", "combine: all_pass, threshold: 0.5"))

    code = call("validate", rubric, "--json")

    found = json.loads(capsys.readouterr().out)
    assert (code, found["valid"], found["errors"]) == (0, True, [])
    assert found["warnings"][0]["line"] == 6


def test_validate_refuses_a_ref_that_names_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "benchmark.yaml").write_text(
        'id: b\nversion: "1.0"\ntasks: [{id: t, rubric_ref: rubric/nowhere@1.0}]\n'
    )

    assert call("validate", tmp_path) == 2
    assert "rubric/nowhere@1.0" in capsys.readouterr().err


@pytest.mark.parametrize("document", ["rubric", "benchmark", "record"])
def test_schemas_are_printed_whole(document: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("schema", document) == 0
    assert json.loads(capsys.readouterr().out)["$schema"].endswith("2020-12/schema")


def test_the_doctor_answers_for_machines_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))

    code = call("doctor", "--json")

    found = json.loads(capsys.readouterr().out)
    assert code == (0 if found["fit"] else 3)
    assert {"oci", "docker"} <= set(found["engines"])
    assert all(e["available"] or e["problem"] for e in found["engines"].values())


def test_an_interrupt_during_the_first_imports_is_one_word_and_130() -> None:
    program = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from orchestrator.cli import main\n"
        "main(['--help'])\n"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (130, "", "proctor: interrupted\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_speaks_of_no_types_of_python(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    call(name, "--help")

    told = capsys.readouterr().out
    assert not any(word in told for word in ("<path>", "<str>", "<int>", "list["))


def test_a_value_that_is_not_among_the_known_is_said_plainly(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("schema", "nosuch") == 2

    said = capsys.readouterr().err
    assert "'nosuch' is not one of 'rubric', 'benchmark'" in said
    assert "Value error" not in said


def test_an_unknown_benchmark_is_answered_with_those_that_are_shipped(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call("run", "nosuch", "--agent", "gold") == 2

    said = capsys.readouterr().err
    assert "nosuch: there is no such file" in said
    assert "quickstart" in said


def test_a_command_called_from_python_does_not_end_the_process_behind_the_callers_back() -> None:
    program = (
        "import atexit\n"
        "atexit.register(print, 'the caller goes on')\n"
        "from orchestrator.cli import main\n"
        "try:\n    main(['no-such-command'])\nexcept SystemExit:\n    pass\n"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (0, "the caller goes on\n")
