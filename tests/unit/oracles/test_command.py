"""The command check: every end is its own cause, and no end but a real pass is a pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.checks.command import CommandExecutor
from orchestrator.contract import Context
from orchestrator.errors import TaskInvalid
from orchestrator.evidence import Profile
from sandboxes.errors import SandboxLost
from sandboxes.fake import FakeProvider, done, ended
from sandboxes.spec import Image, Limits

PYTEST = {"id": "tests", "kind": "command", "command": "python3 -m pytest -q"}
TURNS = PYTEST | {"expect": "test_transitions"}
LISTS = {"fail_to_pass": ["t.py::bug"], "pass_to_pass": ["t.py::ok", "t.py::other"]}
BROKEN = {"t.py::bug": "failed", "t.py::ok": "passed", "t.py::other": "passed"}
FIXED = {"t.py::bug": "passed", "t.py::ok": "passed", "t.py::other": "passed"}


def command(line: str = "make test", **fields: Any) -> dict[str, Any]:
    return {"id": "c", "kind": "command", "command": line, **fields}


@pytest.fixture
def run(run_check: Callable[..., Any]) -> Callable[..., Any]:
    return lambda check, *a, **n: run_check(CommandExecutor(), check, *a, **n)


def test_exit_zero_passes(run: Callable[..., Any]) -> None:
    outcome = run(command("grep fixed state"))

    assert (outcome.status, outcome.score) == ("passed", 1.0)
    assert outcome.details["end"] == "graded"
    assert outcome.details["exit_code"] == 0


def test_the_state_before_the_change_fails_what_the_change_mends(run: Callable[..., Any]) -> None:
    assert run(command("grep fixed state", expect="test_transitions")).status == "passed"


@pytest.mark.parametrize(
    ("answer", "end", "cause", "says"),
    [
        (done(3, stderr="a\nboom\n"), "graded", "exit:3", "exit code 3: a | boom"),
        (done(126), "graded", "exit:126", "could not execute it"),
        (done(127), "graded", "exit:127", "no such command"),
        (done(124), "graded", "exit:124", "exit code 124"),
        (done(137), "graded", "exit:137", "SIGKILL"),
        (ended("signalled", signal=9), "graded", "signal:9", "SIGKILL, by no limit of ours"),
        (ended("limit_hit:time", seconds=5), "limit_hit:time", "limit_hit:time", "time limit after 5.0 s"),
        (ended("limit_hit:memory"), "limit_hit:memory", "limit_hit:memory", "memory limit"),
        (ended("limit_hit:pids"), "limit_hit:pids", "limit_hit:pids", "pids limit"),
        (ended("limit_hit:disk"), "limit_hit:disk", "limit_hit:disk", "disk limit"),
        (ended("limit_hit:output"), "limit_hit:output", "limit_hit:output", "output limit"),
        (ended("missing_binary"), "missing_binary", "missing_binary", "no such program"),
    ],
    ids=lambda value: value if isinstance(value, str) and ":" in value else "",
)
def test_every_end_of_a_room_is_its_own_cause(
    run: Callable[..., Any], answer: Any, end: str, cause: str, says: str
) -> None:
    outcome = run(command(), script=lambda room, asked: answer)

    assert (outcome.status, outcome.score) == ("failed", 0.0)
    assert (outcome.details["end"], outcome.details["cause"]) == (end, cause)
    assert says in outcome.reason


def test_an_infrastructure_error_travels_up(make_judge: Callable[..., Any]) -> None:
    judge = make_judge(provider=FakeProvider(faults={"run": SandboxLost("gone")}))

    with pytest.raises(SandboxLost):
        CommandExecutor().execute(command(), "", Context(judge=judge))


def test_without_rooms_the_check_is_not_executable() -> None:
    assert CommandExecutor().execute(command(), "", Context()).status == "skipped"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"command": ""}, "command is ''"),
        ({"command": ["ls"]}, "must be a shell command"),
        ({"command": "a\0b"}, "NUL"),
        ({"expect": "exit_one"}, "expect is 'exit_one'"),
        ({"setup": "pristine"}, "setup is 'pristine'"),
        ({"setup": "revert_fix"}, "the task is set up with none"),
        ({"sandbox": 3}, "sandbox is 3"),
        ({"sandbox": "moon"}, "no sandbox profile is called 'moon'"),
    ],
    ids=str,
)
def test_an_authors_mistake_fails_the_check_and_says_which(
    run: Callable[..., Any], fields: dict[str, Any], says: str
) -> None:
    outcome = run(command() | fields)

    assert (outcome.status, outcome.details["cause"]) == ("failed", "authoring")
    assert says in outcome.reason


def test_a_profile_replaces_image_and_limits(run: Callable[..., Any]) -> None:
    seen = []
    moon = Profile(Image("image", "moon:1"), Limits(time=7))

    def script(room: Any, asked: Any) -> Any:
        seen.append((room.spec.image.ref, room.spec.limits.time))
        return done(0)

    outcome = run(command(sandbox="moon"), script=script, profiles={"moon": moon})

    assert outcome.passed
    assert seen == [("moon:1", 7)]


def test_a_fix_that_was_already_there_proves_nothing(run: Callable[..., Any]) -> None:
    with pytest.raises(TaskInvalid, match="passes before the change"):
        run(command("true", expect="test_transitions"))


@pytest.mark.parametrize(
    "answer", [done(126), done(127), done(139), ended("limit_hit:time"), ended("missing_binary")]
)
def test_a_before_state_that_fails_for_another_reason_is_a_bad_task(
    run: Callable[..., Any], answer: Any
) -> None:
    with pytest.raises(TaskInvalid, match="not a failing test"):
        run(command(expect="test_transitions"), script=lambda room, asked: answer)


def test_each_listed_test_must_turn_green(run: Callable[..., Any], by_state: Any, reported_run: Any) -> None:
    script = by_state(broken=reported_run(1, BROKEN), fixed=reported_run(0, FIXED))

    outcome = run(TURNS, script=script, expected=LISTS)

    assert outcome.passed, outcome.reason
    assert outcome.reason == "1 tests turned green, 2 stayed green"
    assert outcome.details["tests"]["t.py::bug"] == ["failed", "passed"]


@pytest.mark.parametrize(
    ("after", "code", "says"),
    [
        (BROKEN, 1, "1 failed (t.py::bug)"),
        ({"t.py::bug": "passed", "t.py::ok": "passed"}, 0, "1 missing (t.py::other"),
        (FIXED | {"t.py::ok": "skipped"}, 0, "1 skipped (t.py::ok)"),
        (FIXED | {"t.py::bug": "not_run"}, 0, "1 not run (t.py::bug)"),
        (FIXED | {"t.py::bug": "xfailed"}, 0, "1 xfailed (t.py::bug)"),
        (FIXED | {"t.py::other": "error"}, 1, "1 error (t.py::other)"),
        ([*FIXED.items(), ("t.py::bug", "passed")], 0, "1 ambiguous (t.py::bug)"),
    ],
    ids=["failed", "missing", "skipped", "not run", "xfailed", "error", "ambiguous"],
)
def test_anything_but_passed_is_no_pass(
    run: Callable[..., Any], by_state: Any, reported_run: Any, after: Any, code: int, says: str
) -> None:
    script = by_state(broken=reported_run(1, BROKEN), fixed=reported_run(code, after))

    outcome = run(TURNS, script=script, expected=LISTS)

    assert outcome.status == "failed"
    assert outcome.details["cause"] == "tests_short"
    assert says in outcome.reason


def test_an_imported_task_may_let_skips_count_and_the_verdict_shows_it(
    run: Callable[..., Any], by_state: Any, reported_run: Any
) -> None:
    script = by_state(broken=reported_run(1, BROKEN), fixed=reported_run(0, FIXED | {"t.py::ok": "skipped"}))

    outcome = run(TURNS, script=script, expected=LISTS | {"skip_ok": True})

    assert outcome.passed
    assert "1 counted though skipped" in outcome.reason


def test_a_near_miss_names_the_nearest_id(run: Callable[..., Any], by_state: Any, reported_run: Any) -> None:
    lists = {"fail_to_pass": ["t.py::bug[a b]"]}
    script = by_state(
        broken=reported_run(1, {"t.py::bug[a b]": "failed"}),
        fixed=reported_run(0, {"t.py::bug[a b ]": "passed"}),
    )

    outcome = run(TURNS, script=script, expected=lists)

    assert "nearest id is t.py::bug[a b ]" in outcome.reason


def test_unlisted_failures_are_named_and_do_not_count(
    run: Callable[..., Any], by_state: Any, reported_run: Any
) -> None:
    noise = {"t.py::flaky": "failed"}
    script = by_state(broken=reported_run(1, BROKEN | noise), fixed=reported_run(1, FIXED | noise))

    outcome = run(TURNS, script=script, expected=LISTS)

    assert outcome.passed
    assert "t.py::flaky" in outcome.reason
    assert outcome.details["unlisted_failures"] == ["t.py::flaky"]


@pytest.mark.parametrize(
    ("code", "tests", "status"),
    [(1, FIXED, 1), (0, FIXED | {"t.py::more": "failed"}, 1), (0, FIXED, 1)],
    ids=["non-zero, nothing failed", "zero, one failed", "zero, pytest said 1"],
)
def test_exit_code_and_report_must_agree(
    run: Callable[..., Any], by_state: Any, reported_run: Any, code: int, tests: Any, status: int
) -> None:
    after = reported_run(code, tests, exit_status=status)
    script = by_state(broken=reported_run(1, BROKEN), fixed=after)

    outcome = run(TURNS, script=script, expected=LISTS)

    assert outcome.details["cause"] == "exit_and_report_disagree"


@pytest.mark.parametrize(
    ("before", "code", "says"),
    [
        (FIXED, 0, "passed before the change, should fail: t.py::bug"),
        (BROKEN | {"t.py::ok": "failed"}, 1, "failed before the change, should pass: t.py::ok"),
        ({"t.py::ok": "passed", "t.py::other": "passed"}, 0, "missing before the change, should fail"),
        (BROKEN, 0, "exit code 0, but the report says"),
        (BROKEN | {"t.py::bug": "skipped"}, 0, "skipped before the change, should fail"),
    ],
    ids=["passes already", "broken anyway", "missing", "hidden exit code", "skipped"],
)
def test_a_before_state_that_is_not_as_listed_is_a_bad_task(
    run: Callable[..., Any], by_state: Any, reported_run: Any, before: Any, code: int, says: str
) -> None:
    script = by_state(broken=reported_run(code, before), fixed=reported_run(0, FIXED))

    with pytest.raises(TaskInvalid, match="(?s)" + says.replace("(", r"\(")):
        run(TURNS, script=script, expected=LISTS)


def test_a_collection_error_before_needs_the_tasks_leave(
    run: Callable[..., Any], by_state: Any, reported_run: Any
) -> None:
    before = reported_run(2, {}, extra=[{"kind": "collect", "id": "t.py", "outcome": "failed"}])
    script = by_state(broken=before, fixed=reported_run(0, {"t.py::bug": "passed"}))
    lists = {"fail_to_pass": ["t.py::bug"]}

    with pytest.raises(TaskInvalid, match=r"collection error in t\.py"):
        run(TURNS, script=script, expected=lists)

    assert run(TURNS, script=script, expected=lists | {"missing_before_ok": True}).passed


def test_a_hang_before_is_judged_only_with_the_tasks_leave(
    run: Callable[..., Any], by_state: Any, reported_run: Any
) -> None:
    def hang(room: Any, command: Any) -> Any:
        reported_run(0, {"t.py::ok": "passed"}, cut=True)(room, command)
        return ended("limit_hit:time", seconds=10)

    lists = {"fail_to_pass": ["t.py::bug"], "pass_to_pass": ["t.py::ok"]}
    with pytest.raises(TaskInvalid, match="hit its time limit"):
        run(TURNS, script=by_state(broken=hang, fixed=reported_run(0, FIXED)), expected=lists)

    lists |= {"missing_before_ok": True}
    assert run(TURNS, script=by_state(broken=hang, fixed=reported_run(0, FIXED)), expected=lists).passed
    still = run(TURNS, script=by_state(broken=hang, fixed=hang), expected=lists)
    assert (still.passed, still.details["end"]) == (False, "limit_hit:time")
    assert "1 missing (t.py::bug" in still.reason


def test_a_program_that_is_not_there_is_no_tests_before_state(
    run: Callable[..., Any], by_state: Any, reported_run: Any
) -> None:
    lists = {"fail_to_pass": ["t.py::bug"], "missing_before_ok": True}

    with pytest.raises(TaskInvalid, match="found no such command"):
        run(TURNS, script=by_state(broken=done(127), fixed=reported_run(0, FIXED)), expected=lists)


@pytest.mark.parametrize(
    ("count", "after", "says"),
    [
        (2, FIXED, None),
        (2, FIXED | {"t.py::other": "failed"}, "1 tests stayed green, pass_to_pass_count is 2"),
        (1, FIXED, "2 tests stayed green, pass_to_pass_count is 1"),
    ],
)
def test_the_tests_that_stay_green_are_counted_also_where_they_are_not_listed(
    run: Callable[..., Any], by_state: Any, reported_run: Any, count: int, after: Any, says: str | None
) -> None:
    code = int("failed" in after.values())
    script = by_state(broken=reported_run(1, BROKEN), fixed=reported_run(code, after))
    lists = {"fail_to_pass": ["t.py::bug"], "pass_to_pass": ["t.py::ok"], "pass_to_pass_count": count}

    outcome = run(TURNS, script=script, expected=lists)

    assert outcome.passed is (says is None)
    assert says is None or says in outcome.reason


def test_too_few_green_tests_before_is_a_bad_task(
    run: Callable[..., Any], by_state: Any, reported_run: Any
) -> None:
    script = by_state(broken=reported_run(1, BROKEN), fixed=reported_run(0, FIXED))
    lists = {"fail_to_pass": ["t.py::bug"], "pass_to_pass_count": 3}

    with pytest.raises(TaskInvalid, match="2 tests pass before the change, fewer than pass_to_pass_count"):
        run(TURNS, script=script, expected=lists)


def test_a_collection_error_after_is_an_incomplete_run(
    run: Callable[..., Any], by_state: Any, reported_run: Any
) -> None:
    after = reported_run(2, {}, extra=[{"kind": "collect", "id": "t.py", "outcome": "failed"}])
    script = by_state(broken=reported_run(1, BROKEN), fixed=after)

    outcome = run(TURNS, script=script, expected=LISTS)

    assert outcome.details["end"] == "run_incomplete"
    assert "collection error in t.py" in outcome.reason
    assert "3 missing" in outcome.reason


def test_nothing_ran_is_an_end_of_its_own(run: Callable[..., Any], by_state: Any, reported_run: Any) -> None:
    script = by_state(broken=reported_run(1, BROKEN), fixed=reported_run(5, {}))

    assert run(TURNS, script=script, expected=LISTS).details["end"] == "nothing_ran"


@pytest.mark.parametrize("check", [PYTEST, TURNS], ids=["exit_zero", "test_transitions"])
@pytest.mark.parametrize("expected", [{}, LISTS], ids=["plain", "lists"])
def test_a_run_that_says_zero_without_its_end_never_passes(
    run: Callable[..., Any], by_state: Any, reported_run: Any, check: Any, expected: Any
) -> None:
    script = by_state(broken=reported_run(1, BROKEN), fixed=done(0))

    outcome = run(check, script=script, expected=expected)

    assert outcome.status == "failed"
    assert outcome.details["end"] == "run_incomplete"


def test_a_run_without_a_report_tells_the_commands_own_error_first(
    run: Callable[..., Any], by_state: Any
) -> None:
    lost = done(1, stderr="ModuleNotFoundError: No module named 'pluggy'")

    with pytest.raises(TaskInvalid, match=r"\Athe command said: ModuleNotFoundError: .*'pluggy'; before"):
        run(TURNS, script=by_state(broken=lost, fixed=done(0)), expected=LISTS)


def test_a_forged_report_is_unreadable(run: Callable[..., Any], by_state: Any, reported_run: Any) -> None:
    script = by_state(broken=reported_run(1, BROKEN), fixed=reported_run(0, FIXED, digest="0" * 64))

    outcome = run(TURNS, script=script, expected=LISTS)

    assert outcome.details["end"] == "report_unreadable"
    assert "changed or forged" in outcome.reason


def test_exit_zero_holds_when_all_is_skipped_but_the_reason_says_so(
    run: Callable[..., Any], by_state: Any, reported_run: Any
) -> None:
    skipped = reported_run(0, {"t.py::a": "skipped"})

    outcome = run(PYTEST, script=by_state(broken=skipped, fixed=skipped))

    assert outcome.passed
    assert "no test really ran" in outcome.reason


@pytest.mark.parametrize("check", [PYTEST, TURNS], ids=["exit_zero", "test_transitions"])
@pytest.mark.parametrize(
    ("after", "extra", "says"),
    [
        (FIXED | {"t.py::bug": "skipped"}, (), "t.py::bug is skipped"),
        (FIXED | {"t.py::ok": "skipped", "t.py::bug": "skipped"}, (), "t.py::bug is skipped, and 1 more"),
        (FIXED | {"t.py::ok": "not_run"}, (), "t.py::ok is not run"),
        (FIXED | {"t.py::bug": "xfailed"}, (), "t.py::bug is xfailed"),
        ({"t.py::ok": "passed"}, [{"kind": "collect", "id": "u.py", "outcome": "skipped"}], "bug is missing"),
    ],
    ids=["skipped", "all skipped", "not run", "excused", "whole file skipped"],
)
def test_a_change_that_makes_tests_skip_themselves_does_not_pass(
    run: Callable[..., Any],
    by_state: Any,
    reported_run: Any,
    check: Any,
    after: Any,
    extra: Any,
    says: str,
) -> None:
    script = by_state(broken=reported_run(1, BROKEN), fixed=reported_run(0, after, extra=list(extra)))

    outcome = run(check, script=script)

    assert (outcome.status, outcome.details["cause"]) == ("failed", "tests_dodged")
    assert says in outcome.reason


PATCHED = {"kind": "changed", "what": "unittest.case.TestCase.assertEqual"}
HOOKED = {"kind": "hook", "what": "pytest_pyfunc_call of /w/conftest.py"}


@pytest.mark.parametrize("line", [PATCHED, HOOKED], ids=["patch", "hook"])
@pytest.mark.parametrize("listed", [False, True], ids=["plain", "listed"])
@pytest.mark.parametrize("check", [PYTEST, TURNS], ids=["exit_zero", "turns"])
def test_a_change_that_changes_the_test_runner_does_not_pass(
    run: Callable[..., Any], by_state: Any, reported_run: Any, check: Any, listed: bool, line: Any
) -> None:
    script = by_state(broken=reported_run(1, BROKEN), fixed=reported_run(0, FIXED, extra=[line]))
    expected = {"expected": LISTS} if listed else {}

    outcome = run(check, script=script, **expected)

    assert (outcome.status, outcome.details["cause"]) == ("failed", "runner_changed")
    assert f"the code under test changed the test runner: {line['what']}" in outcome.reason


def test_a_project_that_always_changes_its_test_runner_may_go_on_doing_so(
    run: Callable[..., Any], by_state: Any, reported_run: Any
) -> None:
    lines = [PATCHED, HOOKED]
    before = reported_run(1, BROKEN, extra=list(lines))
    script = by_state(broken=before, fixed=reported_run(0, FIXED, extra=list(lines)))

    assert run(PYTEST, script=script).passed
    assert run(TURNS, script=script).passed


def test_tests_that_were_skipped_before_the_change_may_stay_skipped(
    run: Callable[..., Any], by_state: Any, reported_run: Any
) -> None:
    windows = {"t.py::windows": "skipped", "t.py::known": "xfailed"}
    script = by_state(broken=reported_run(1, BROKEN | windows), fixed=reported_run(0, FIXED | windows))

    assert run(PYTEST, script=script).passed
    assert run(TURNS, script=script).passed


def test_a_command_whose_runner_never_reports_is_judged_by_its_exit_code(
    run: Callable[..., Any], by_state: Any
) -> None:
    outcome = run(PYTEST, script=by_state(broken=done(1), fixed=done(0)))

    assert outcome.passed


def test_lists_need_a_runner_that_can_be_read(run: Callable[..., Any]) -> None:
    with pytest.raises(TaskInvalid, match="no reader knows the tests"):
        run(command("make test", expect="test_transitions"), expected=LISTS)


@pytest.mark.parametrize(
    "expected",
    [{"fail_to_pass": "t.py::bug"}, {"fail_to_pass": [1]}, {"fail_to_pass": ["a"], "pass_to_pass": ["a"]}],
    ids=["text", "number", "in both"],
)
def test_malformed_lists_are_the_tasks_fault(run: Callable[..., Any], expected: Any) -> None:
    with pytest.raises(TaskInvalid, match=r"expected\."):
        run(TURNS, script=lambda room, asked: done(1), expected=expected)


def test_the_reason_holds_nothing_a_terminal_would_obey(run: Callable[..., Any]) -> None:
    outcome = run(
        command(), script=lambda room, asked: done(1, stderr=b"\x1b[31mred\x1b[0m \x07\xff\x1b]0;title\x07")
    )

    assert outcome.reason == "the command ended with exit code 1: red \\x07\ufffd"


def test_the_token_after_the_change_is_new_each_time(run: Callable[..., Any]) -> None:
    seen = []

    def script(room: Any, asked: Any) -> Any:
        seen.append(asked.env["PROCTOR_PYTEST_REPORT"])
        return done(1)

    run(PYTEST, script=script)
    run(PYTEST, script=script)

    assert len(set(seen)) == 2
