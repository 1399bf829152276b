"""Whatever is typed or lies in a folder: one clear message, the right exit code, never a fault of ours."""

from __future__ import annotations

import io
import json
import os
import pwd
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.cli import build
from orchestrator.cli.ending import finish
from orchestrator.errors import EXIT_AUTHOR, EXIT_HARNESS, EXIT_INFRASTRUCTURE
from orchestrator.store import RunFolder
from sandboxes.home import chosen

Call = Callable[..., tuple[int, str]]
ODD = (
    "",
    " ",
    ".",
    "..",
    "/",
    "/dev/null",
    "/proc/self/mem",
    "-",
    "--",
    "a\nb",
    "\udcff\udcfe",
    "ä",
    "x" * 5000,
)
WORDS = st.one_of(
    st.sampled_from(ODD),
    st.sampled_from(
        ("small", "out", "-j", "0", "-1", "1e9", "NaN", "--json", "--repeats", "--tasks", "--agent")
    ),
    st.sampled_from(
        ("gold", "noop", "predictions:", "predictions:/", "command:", "--resume", "--out", "--quiet")
    ),
    st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=8),
)


@pytest.fixture
def call(bench: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """A command line beside a small benchmark ("small") and a finished run ("run"): exit code and words."""
    runs = bench("word")
    runs.run("gold", "noop")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))

    def type_in(*arguments: str) -> tuple[int, str]:
        said = io.StringIO()
        with redirect_stderr(said), redirect_stdout(io.TextIOWrapper(io.BytesIO())):
            code = finish(build(), list(arguments))
        return code, said.getvalue()

    return type_in


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS, max_size=6))
def test_no_words_after_a_dry_run_are_a_fault_of_ours(call: Call, words: list[str]) -> None:
    code, said = call("run", *words, "--dry-run")

    assert code in (0, EXIT_AUTHOR), said
    assert "Traceback" not in said


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(("report", "show", "check", "validate", "schema")), st.lists(WORDS, max_size=4))
def test_no_words_after_a_command_that_looks_are_a_fault_of_ours(
    call: Call, command: str, words: list[str]
) -> None:
    code, said = call(command, *words)

    assert code != EXIT_HARNESS, said
    assert "Traceback" not in said


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.binary(max_size=40), st.just(b"\n"), st.just(b'{"trial": 1}')), max_size=6))
def test_nothing_in_the_records_file_keeps_the_rest_from_being_read(
    call: Call, tmp_path: Path, junk: list[bytes]
) -> None:
    records = tmp_path / "run" / "records.jsonl"
    whole = records.read_bytes()
    try:
        records.write_bytes(whole + b"".join(junk))

        code, said = call("report", "run")

        assert code == 0, said
        assert len(list(RunFolder(tmp_path / "run").records())) == 2
        lines = (whole + b"".join(junk)).removesuffix(b"\n").count(b"\n") + 1 - 2
        assert lines == 0 or "records.jsonl:" in said
    finally:
        records.write_bytes(whole)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        b'{"format": "0"}',
        b'{"format": "1", "plan": {}}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_run_is_told_in_one_line(call: Call, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run" / "run.json").write_bytes(content)

    for arguments in (
        ("report", "run"),
        ("show", "run", "word"),
        ("run", "small", "--agent", "gold", "--resume"),
    ):
        code, said = call(*arguments, *(("--out", "run") if arguments[0] == "run" else ()))

        assert code == EXIT_AUTHOR and said.startswith("proctor: ") and said.count("\n") == 1, said


def test_a_plan_of_another_shape_is_told_in_one_line(call: Call, tmp_path: Path) -> None:
    header = json.loads((tmp_path / "run" / "run.json").read_bytes())
    (tmp_path / "run" / "run.json").write_text(json.dumps({**header, "plan": {"trials": [1]}}))

    code, said = call("report", "run")

    assert code == EXIT_AUTHOR and said.count("\n") == 1


def test_more_trials_than_a_run_can_hold_are_refused_at_once(call: Call) -> None:
    code, said = call("run", "small", "--agent", "gold", "--repeats", str(10**12), "--dry-run")

    assert code == EXIT_AUTHOR and "at most 1000000" in said


@pytest.mark.parametrize("named", [None, ""])
def test_a_user_without_a_home_folder_is_told_what_to_set(
    call: Call, monkeypatch: pytest.MonkeyPatch, named: str | None
) -> None:
    monkeypatch.delenv("PROCTOR_HOME")
    monkeypatch.delenv("HOME") if named is None else monkeypatch.setenv("HOME", named)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])

    code, said = call("reap")

    assert code == EXIT_INFRASTRUCTURE and said.count("\n") == 1
    assert "no home folder is known for user" in said and "set PROCTOR_HOME" in said


def test_an_empty_home_variable_names_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROCTOR_HOME", raising=False)
    monkeypatch.setenv("HOME", "")

    assert chosen() == Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache" / "proctor"


@pytest.mark.parametrize("more", [("--dry-run",), ()])
def test_an_unknown_sandbox_is_refused_before_anything_is_planned(call: Call, more: tuple[str, ...]) -> None:
    code, said = call("run", "small", "--agent", "gold", "--sandbox", "nosuch", *more)

    assert code == EXIT_AUTHOR and 'there is no sandbox "nosuch"; known: docker, oci' in said


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_holds_no_predictions(call: Call, device: str) -> None:
    code, said = call("run", "small", "--agent", f"predictions:{device}", "--dry-run")

    assert code == EXIT_AUTHOR and "is a device" in said
