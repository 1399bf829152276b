"""score_delta: no crash, no suppression and no deletion raises a score."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from orchestrator.analyzers import AnalyzerError
from orchestrator.analyzers.errand import VERSION
from orchestrator.analyzers.measurement import Measurement
from orchestrator.analyzers.number import Number, read_number
from orchestrator.analyzers.phpcs import REPORT, Phpcs
from orchestrator.checks.closing import KEPT_FOLDER
from orchestrator.checks.score_delta import ScoreDeltaExecutor
from orchestrator.contract import ChangedFile, Context
from orchestrator.errors import TaskInvalid
from sandboxes.errors import EngineGone
from sandboxes.fake import FakeProvider, FakeRoom, done, ended
from sandboxes.spec import Command, Entry, RoomSpec

PARSED = "/tmp/proctor-parsed-php"
Findings = Mapping[str, list[tuple[str, int]]]


class Phpstanish(Phpcs):
    """An analyzer that cannot be told to ignore suppressions."""

    name = "phpstanish"
    suppresses = "phpstan"

    def obeys_suppressions(self, check: Any) -> bool:
        return True


class Phpmdish(Phpcs):
    """An analyzer whose comments reach beyond a line."""

    name = "phpmdish"
    suppresses = "phpmd"

    def obeys_suppressions(self, check: Any) -> bool:
        return True


@pytest.fixture
def run(run_check: Callable[..., Any]) -> Callable[..., Any]:
    tools = {"number": Number(), "phpcs": Phpcs(), "phpstanish": Phpstanish(), "phpmdish": Phpmdish()}
    return lambda check, *a, **n: run_check(ScoreDeltaExecutor(tools), check, *a, **n)


def number(min_delta: Any = 1, *, higher: Any = True, **fields: Any) -> dict[str, Any]:
    metadata = {"command": "cat state", "higher_is_better": higher, "unit": "points"}
    return {
        "id": "s",
        "kind": "score_delta",
        "tool": "number",
        "min_delta": min_delta,
        "metadata": metadata,
    } | fields


def phpcs(min_delta: float = 1, tool: str = "phpcs", **metadata: Any) -> dict[str, Any]:
    return {"id": "s", "kind": "score_delta", "tool": tool, "min_delta": min_delta, "metadata": metadata}


def states(before: str, after: str) -> dict[str, Any]:
    return {"before": {"state": before}, "after": {"state": after}}


def tree(findings: Findings) -> dict[str, str]:
    """A work tree in which phpcs finds these: {path: [(rule, line)]}; line n of every file reads "line n"."""
    text = "".join(f"line {n}\n" for n in range(1, 60))
    return {path: f"<?php {json.dumps(found)}\n{text}" for path, found in findings.items()}


def phpcs_script(room: FakeRoom, command: Command) -> Any:
    """A phpcs that reads its findings off the first line of each file of the room, and a php that refuses
    files with BROKEN in them."""
    script = command.argv[2]
    if command.argv[3] == KEPT_FOLDER:
        return put_back(room, command.argv[4:])
    if PARSED in script:
        together = script.startswith("(set -- ")
        paths = shlex.split(script.split(";")[0])[2:] if together else command.argv[4:]
        left(room, PARSED, parsed(room, paths))
        if not together:
            return done(0)
    left(room, VERSION, "PHP_CodeSniffer version 3.7.1 (stable)")
    files: dict[str, Any] = {}
    for entry in room.export("/workspace"):
        if entry.path.endswith(b".php"):
            found = json.loads(entry.data.split(b"\n")[0].removeprefix(b"<?php "))
            messages = [
                {"message": f"about {rule}", "source": rule, "type": "ERROR", "line": line}
                for rule, line in found
            ]
            files[entry.path.decode()] = {"errors": len(found), "warnings": 0, "messages": messages}
    total = sum(f["errors"] for f in files.values())
    document = {"totals": {"errors": total, "warnings": 0, "fixable": 0}, "files": files}
    left(room, REPORT, json.dumps(document))
    return done(1 if total else 0)


def left(room: FakeRoom, path: str, text: str) -> None:
    """A file that the command leaves in the room."""
    folder, _, name = path.rpartition("/")
    room.write([Entry(name.encode(), 0o100644, text.encode())], folder, owner="candidate")


def parsed(room: FakeRoom, paths: Any) -> str:
    lines = []
    for path in paths:
        broken = b"BROKEN" in (room.read(path, 1 << 20) or b"")
        lines.append(f"{255 if broken else 0} {path}\0{'Parse error: no' if broken else 'fine'}\0")
    return "".join(lines) + "end"


def put_back(room: FakeRoom, paths: Any) -> Any:
    for path in paths:
        room.remove([path.encode()], "/workspace")
        data = room.read(f"{KEPT_FOLDER}/{path}", 1 << 20)
        if data is not None:
            room.write([Entry(path.encode(), 0o100644, data)], "/workspace", owner="candidate")
    return done(0)


@pytest.mark.parametrize(
    ("before", "after", "higher", "minimum", "score", "passes"),
    [
        ("1", "4", True, 3, 1.0, True),
        ("4", "1", False, 3, 1.0, True),
        ("1", "4", True, 6, 0.5, False),
        ("1", "4", False, 3, 0.0, False),
        ("5", "5", True, 0, 1.0, True),
        ("5", "4", True, 0, 0.0, False),
        ("5", "4", True, -1, 1.0, True),
        ("5", "3", True, -1, 0.0, False),
        ("0.1", "0.3", True, 0.2, 1.0, True),
    ],
)
def test_delta_is_improvement_and_the_score_follows_it(
    run: Callable[..., Any], before: str, after: str, higher: bool, minimum: float, score: float, passes: bool
) -> None:
    outcome = run(number(minimum, higher=higher), **states(before, after))

    assert (outcome.passed, outcome.score) == (passes, score)
    assert outcome.details["before"] == float(before)
    assert outcome.details["after"] == float(after)


def test_the_reason_holds_both_values_and_the_delta(run: Callable[..., Any]) -> None:
    reason = run(number(), **states("1", "4")).reason

    assert reason == "number: 1 point before, 4 after, delta +3 (at least 1)"


@pytest.mark.parametrize(
    ("stdout", "value"), [(b"12\n", 12), (b"a\n-1.5e2\n\n", -150), (b" .5 ", 0.5), (b"7.", 7), (b"+3", 3)]
)
def test_the_last_line_is_the_number(stdout: bytes, value: float) -> None:
    assert read_number(stdout) == value


@pytest.mark.parametrize(
    "stdout",
    [
        b"",
        b"\n \n",
        b"nan",
        b"inf",
        b"1e999",
        b"12 points",
        b"0x10",
        b"1_000",
        b"1,5",
        "١".encode(),
        b"3\nok",
    ],
)
def test_anything_but_one_finite_number_is_an_error(stdout: bytes) -> None:
    with pytest.raises(AnalyzerError):
        read_number(stdout)


@pytest.mark.parametrize(
    "answer", [done(1, "9"), done(0, "oops"), done(0), ended("limit_hit:time", "9"), ended("missing_binary")]
)
def test_a_scorer_that_breaks_after_the_change_scores_nothing(
    run: Callable[..., Any], by_state: Any, answer: Any
) -> None:
    outcome = run(number(-100), script=by_state(broken=done(0, "1"), fixed=answer))

    assert (outcome.status, outcome.score, outcome.details["cause"]) == ("failed", 0.0, "analyzer_error")
    assert "delta" not in outcome.details
    assert outcome.details["end"] in ("analyzer_error", "limit_hit:time")


def test_a_scorer_that_breaks_before_the_change_is_a_bad_task(run: Callable[..., Any], by_state: Any) -> None:
    with pytest.raises(TaskInvalid, match="no measurement of the before state"):
        run(number(), script=by_state(broken=done(1), fixed=done(0, "1")))


def test_an_infrastructure_error_travels_up(make_judge: Callable[..., Any]) -> None:
    judge = make_judge(provider=FakeProvider(faults={"provision": EngineGone("gone")}))

    with pytest.raises(EngineGone):
        ScoreDeltaExecutor().execute(number(), "", Context(judge=judge))


def test_analyzers_are_found_by_entry_point(make_judge: Callable[..., Any]) -> None:
    judge = make_judge(**states("1", "4"))

    assert ScoreDeltaExecutor().execute(number(), "", Context(judge=judge)).passed


def test_without_rooms_the_check_is_not_executable() -> None:
    assert ScoreDeltaExecutor().execute(number(), "", Context()).status == "skipped"


@pytest.mark.parametrize(
    "fields",
    [
        {"tool": "phpmd"},
        {"tool": None},
        {"min_delta": True},
        {"min_delta": float("nan")},
        {"min_delta": "1"},
        {"guard_command": ""},
        {"baseline": "yesterday"},
        {"baseline": True},
        {"baseline": {"tool": "number"}},
        {"baseline": {"tool": "number", "value": "9"}},
        {"baseline": {"tool": "number", "value": 1, "mood": "good"}},
        {"baseline": {"run": ""}},
        {"baseline": {"run": "runs/a", "mood": "good"}},
        {"sandbox": "moon"},
        {"sandbox": 3},
        {"metadata": {"command": "cat state"}},
        {"metadata": {"command": "cat state", "higher_is_better": "yes"}},
        {"metadata": {"higher_is_better": True}},
        {"metadata": "x"},
        {"metadata": {"command": "cat state", "higher_is_better": True, "allow": ["everything"]}},
    ],
    ids=str,
)
def test_an_authors_mistake_fails_the_check(run: Callable[..., Any], fields: dict[str, Any]) -> None:
    outcome = run(number() | fields, **states("1", "4"))

    assert (outcome.status, outcome.details["cause"]) == ("failed", "authoring")


def test_a_number_can_be_the_baseline(run: Callable[..., Any]) -> None:
    outcome = run(number(3, baseline=1), **states("no number at all", "4"))

    assert outcome.passed
    assert outcome.details["before"] == 1.0


def test_a_stored_measurement_can_be_the_baseline(run: Callable[..., Any]) -> None:
    stored = run(number(), **states("1", "4")).details["measurement"]

    outcome = run(number(3, baseline=stored), **states("no number", "7"))

    assert outcome.passed
    assert Measurement.from_json(stored).value == 4.0


def test_a_stored_measurement_of_another_kind_is_refused(run: Callable[..., Any]) -> None:
    stored = run(number(), **states("1", "4")).details["measurement"] | {"unit": "feet"}

    with pytest.raises(TaskInvalid, match="unit 'feet' against 'points'"):
        run(number(3, baseline=stored), **states("1", "7"))


def test_a_guard_that_fails_is_worth_nothing_whatever_the_delta(run: Callable[..., Any]) -> None:
    outcome = run(number(guard_command="grep 2 state"), **states("2", "100"))

    assert (outcome.status, outcome.score, outcome.details["cause"]) == ("failed", 0.0, "guard:exit:1")
    assert outcome.reason == "the guard command ended with exit code 1"


def test_a_guard_that_fails_without_the_change_is_nobodys_failure(run: Callable[..., Any]) -> None:
    with pytest.raises(TaskInvalid, match=r"a guard fails on the unmodified state: .* exit code 3"):
        run(number(guard_command="exit 3"), **states("1", "100"))


GUARD = "python3 -m pytest -q"
RAN_BEFORE = {"t.py::bug": "failed", "t.py::ok": "passed"}


def guarded_by(by_state: Callable[..., Any], broken: Any, fixed: Any) -> Callable[..., Any]:
    """A script whose scorer prints 1 before the change and 100 after it, and whose guard is as given."""
    guard = by_state(broken=broken, fixed=fixed)
    value = by_state(broken=done(0, "1"), fixed=done(0, "100"))
    return lambda room, command: (guard if "pytest" in str(command.argv) else value)(room, command)


@pytest.mark.parametrize(
    ("after", "says"),
    [
        (None, "left no report"),
        ({"t.py::bug": "skipped", "t.py::ok": "passed"}, "do not with it: t.py::bug is skipped"),
        ({"t.py::bug": "xfailed", "t.py::ok": "passed"}, "t.py::bug is xfailed"),
        ({"t.py::bug": "failed", "t.py::ok": "passed"}, "exit code 0, but the report says 1 went wrong"),
        ({}, "nothing ran"),
    ],
    ids=["ended from inside", "skipped", "excused", "exit code changed", "no tests"],
)
def test_a_guard_that_says_0_without_having_tested_is_worth_nothing(
    run: Callable[..., Any], by_state: Any, reported_run: Any, after: Any, says: str
) -> None:
    fixed = done(0) if after is None else reported_run(0, after)
    script = guarded_by(by_state, reported_run(1, RAN_BEFORE), fixed)

    outcome = run(number(guard_command=GUARD), script=script)

    assert (outcome.status, outcome.score) == ("failed", 0.0)
    assert says in outcome.reason


def test_a_guard_whose_tests_were_skipped_all_along_holds(
    run: Callable[..., Any], by_state: Any, reported_run: Any
) -> None:
    tests = {"t.py::windows": "skipped", "t.py::ok": "passed"}
    script = guarded_by(by_state, reported_run(0, tests), reported_run(0, tests))

    assert run(number(guard_command=GUARD), script=script).passed


def test_what_the_guard_leaves_behind_is_not_measured(run: Callable[..., Any]) -> None:
    outcome = run(number(guard_command="echo 100 > state"), **states("1", "1"))

    assert not outcome.passed
    assert outcome.details["after"] == 1.0


def test_findings_are_compared_by_identity(run: Callable[..., Any]) -> None:
    before, after = {"a.php": [("R", 5), ("S", 6), ("T", 7)]}, {"a.php": [("R", 5), ("U", 9)]}

    outcome = run(phpcs(), script=phpcs_script, before=tree(before), after=tree(after))

    assert outcome.passed
    assert outcome.details["delta"] == 1.0
    assert outcome.details["matched"] == {
        "fixed": 2,
        "new": 1,
        "unchanged": 1,
        "moved": 0,
        "gone": 0,
        "suppressed": 0,
    }
    assert outcome.details["new"] == [["a.php", 9, "U", "error", "about U"]]
    assert outcome.reason.endswith("2 fixed, 1 new, 1 unchanged")


def test_a_swap_that_leaves_the_count_alone_is_shown(run: Callable[..., Any]) -> None:
    outcome = run(
        phpcs(), script=phpcs_script, before=tree({"a.php": [("R", 5)]}), after=tree({"a.php": [("S", 5)]})
    )

    assert not outcome.passed
    assert (outcome.details["delta"], outcome.details["matched"]["new"]) == (0.0, 1)


def test_deleting_a_bad_file_mends_nothing(run: Callable[..., Any]) -> None:
    before = {"bad.php": [("R", 5), ("R", 6)], "good.php": [("S", 5)]}

    outcome = run(phpcs(), script=phpcs_script, before=tree(before), after=tree({"good.php": [("S", 5)]}))

    assert not outcome.passed
    assert (outcome.details["after"], outcome.details["delta"]) == (1.0, 0.0)
    assert outcome.details["files_left"] == ["bad.php"]
    assert "2 counted back" in outcome.reason


def test_a_task_may_allow_deletion_and_the_outcome_says_so(run: Callable[..., Any]) -> None:
    before = {"bad.php": [("R", 5)], "good.php": []}

    outcome = run(
        phpcs(allow=["deletions"]), script=phpcs_script, before=tree(before), after=tree({"good.php": []})
    )

    assert outcome.passed
    assert outcome.details["allow"] == ["deletions"]


def test_code_that_moved_to_a_new_file_is_neither_gain_nor_loss(run: Callable[..., Any]) -> None:
    before, after = (
        {"old.php": [("R", 5), ("R", 6)], "x.php": []},
        {"new.php": [("R", 5), ("R", 6)], "x.php": []},
    )

    outcome = run(phpcs(0), script=phpcs_script, before=tree(before), after=tree(after))

    assert outcome.passed
    assert outcome.details["delta"] == 0.0


def test_a_renamed_file_keeps_its_findings(run: Callable[..., Any]) -> None:
    before, after = tree({"old.php": [("R", 5), ("S", 6)]}), tree({"new.php": [("R", 5)]})
    change = ChangedFile(
        "new.php", "old.php", "renamed", before["old.php"].encode(), after["new.php"].encode()
    )

    outcome = run(phpcs(), script=phpcs_script, before=before, after=after, changes=lambda: (change,))

    assert outcome.passed
    assert outcome.details["matched"] == {
        "fixed": 1,
        "new": 0,
        "unchanged": 1,
        "moved": 1,
        "gone": 0,
        "suppressed": 0,
    }


def test_emptying_the_analysed_set_is_an_analyzer_error(run: Callable[..., Any]) -> None:
    outcome = run(phpcs(), script=phpcs_script, before=tree({"a.php": [("R", 5)]}), after={"a.inc": "x"})

    assert outcome.details["cause"] == "analyzer_error"


def suppressing(path: str, line: int, word: str) -> tuple[dict[str, str], dict[str, str]]:
    before = tree({path: [("R", 5), ("R", 6)]})
    after = tree({path: []})
    lines = after[path].split("\n")
    lines[line - 1] = f"x(); // {word}"
    return before, {path: "\n".join(lines)}


def test_suppressions_a_tool_obeys_are_counted_back(run: Callable[..., Any]) -> None:
    before, after = suppressing("a.php", 5, "@phpstan-ignore-line")

    outcome = run(phpcs(2, tool="phpstanish"), script=phpcs_script, before=before, after=after)

    assert not outcome.passed
    assert (outcome.details["after"], outcome.details["delta"]) == (0.0, 1.0)
    assert outcome.details["suppressed"] == ["a.php:5: @phpstan-ignore-line"]
    assert outcome.details["counted_back"]["suppressions"] == 1


def test_suppressions_a_tool_ignores_are_named_only(run: Callable[..., Any]) -> None:
    before, after = suppressing("a.php", 5, "phpcs:ignore")

    outcome = run(phpcs(2), script=phpcs_script, before=before, after=after)

    assert outcome.passed
    assert "1 new suppression, not counted back" in outcome.reason


def with_ruleset(room: FakeRoom, command: Command) -> Any:
    """phpcs_script, but a ruleset with an exclusion in it finds nothing."""
    if any(word == "--standard=/workspace/rules.xml" for word in command.argv):
        rules = room.read("/workspace/rules.xml", 1 << 20)
        if rules is None:
            return done(3, "ERROR: no ruleset")
        if b"exclude" in rules:
            for path in ("a.php", "b.php"):
                room.write([Entry(path.encode(), 0o100644, b"<?php []\n")], "/workspace", owner="candidate")
    return phpcs_script(room, command)


@pytest.mark.parametrize("edit", ["<ruleset><exclude/></ruleset>", None], ids=["edited", "deleted"])
def test_a_ruleset_of_the_repository_is_taken_from_before_the_change(
    run: Callable[..., Any], edit: str | None
) -> None:
    before = tree({"a.php": [("R", 5)]}) | {"rules.xml": "<ruleset/>"}
    after = dict(before) if edit is None else before | {"rules.xml": edit}
    if edit is None:
        del after["rules.xml"]

    outcome = run(phpcs(standard="rules.xml"), script=with_ruleset, before=before, after=after)

    assert (outcome.status, outcome.details["delta"]) == ("failed", 0.0)
    assert outcome.details["guards"]["config"]["places"] == ["rules.xml"]
    assert "put back" in outcome.details["guards"]["config"]["says"]


def test_edits_of_configuration_are_reported_or_forbidden(run: Callable[..., Any]) -> None:
    states = {"before": tree({"a.php": [("R", 5)]}), "after": tree({"a.php": []}) | {"lib/phpcs.xml": "<x/>"}}

    reported = run(phpcs(), script=phpcs_script, **states)
    forbidden = run(phpcs(forbid=["config"]), script=phpcs_script, **states)

    assert reported.passed
    assert reported.details["guards"]["config"]["state"] == "reported"
    assert (forbidden.status, forbidden.details["cause"]) == ("failed", "guard:config")
    assert "lib/phpcs.xml" in forbidden.reason


def test_a_file_that_no_longer_parses_fails_whatever_the_delta(run: Callable[..., Any]) -> None:
    before = tree({"a.php": [("R", 5), ("R", 6)]})
    after = {"a.php": tree({"a.php": []})["a.php"] + "BROKEN"}

    outcome = run(phpcs(), script=phpcs_script, before=before, after=after)
    loosened = run(phpcs(allow=["parse"]), script=phpcs_script, before=before, after=after)

    assert (outcome.status, outcome.score, outcome.details["cause"]) == ("failed", 0.0, "guard:parse")
    assert "a.php: Parse error: no" in outcome.reason
    assert loosened.passed
    assert loosened.details["guards"]["parse"]["state"] == "loosened"


def test_what_did_not_parse_before_is_not_the_changes_doing(run: Callable[..., Any]) -> None:
    before = {"a.php": tree({"a.php": [("R", 5)]})["a.php"] + "BROKEN"}
    after = {"a.php": tree({"a.php": []})["a.php"] + "BROKEN"}

    assert run(phpcs(), script=phpcs_script, before=before, after=after).passed


def test_an_emptied_file_is_no_improvement(run: Callable[..., Any]) -> None:
    before, after = tree({"a.php": [("R", 5), ("R", 6)]}), {"a.php": "<?php []\n"}

    outcome = run(phpcs(), script=phpcs_script, before=before, after=after)
    loosened = run(phpcs(allow=["code_lines"]), script=phpcs_script, before=before, after=after)

    assert (outcome.status, outcome.details["cause"]) == ("failed", "guard:code_lines")
    assert "a.php: 60 lines of code before, 1 after" in outcome.reason
    assert loosened.passed


def test_filling_up_elsewhere_does_not_make_up_for_an_emptied_file(run: Callable[..., Any]) -> None:
    filler = "<?php []\n" + "$x = 1;\n" * 100
    before = tree({"a.php": [("R", 5), ("R", 6)]})

    outcome = run(phpcs(), script=phpcs_script, before=before, after={"a.php": "<?php []\n", "b.php": filler})

    assert outcome.details["cause"] == "guard:code_lines"


METHOD = "".join(f"$result->number{n} = compute({n});\n" for n in range(5))


@pytest.mark.parametrize(
    ("after", "says"),
    [
        ({"a.php": f"KEPT\n$code = <<<'X'\n{METHOD}X;\n"}, "a.php: 5 lines of code became text"),
        ({"a.php": "KEPT\n", "a.inc": f"<?php\n{METHOD}"}, "a.inc: 5 lines of code moved here"),
        ({"a.php": "KEPT\n", "notes.txt": METHOD}, "notes.txt: 5 lines of code moved here"),
        ({"a.php": f"KEPT\n{METHOD}eval(decode('x'));\n"}, "a.php: evaluates code"),
    ],
    ids=["text", "extension", "text file", "eval"],
)
def test_code_may_not_hide_where_the_tool_does_not_look(
    run: Callable[..., Any], after: dict[str, str], says: str
) -> None:
    kept = tree({"a.php": []})["a.php"]
    before = {"a.php": tree({"a.php": [("R", 5)]})["a.php"] + METHOD}
    after = {path: text.replace("KEPT\n", kept) for path, text in after.items()}

    outcome = run(phpcs(), script=phpcs_script, before=before, after=after)

    assert outcome.details["cause"] == "guard:code_lines"
    assert says in outcome.reason


def test_what_a_string_held_before_is_no_hideout(run: Callable[..., Any]) -> None:
    text = f"$code = <<<'X'\n{METHOD}X;\n"
    before = {"a.php": tree({"a.php": [("R", 5)]})["a.php"] + METHOD + text}
    after = {"a.php": tree({"a.php": []})["a.php"] + text}

    assert run(phpcs(), script=phpcs_script, before=before, after=after).passed


def test_code_that_moved_to_another_file_is_not_lost(run: Callable[..., Any]) -> None:
    before = tree({"a.php": [("R", 5), ("R", 6)]})
    after = {"a.php": "<?php []\n", "b.php": tree({"b.php": []})["b.php"]}

    outcome = run(phpcs(), script=phpcs_script, before=before, after=after)

    assert outcome.details["guards"]["code_lines"] == {"state": "passed"}


def test_a_file_wide_suppression_counts_back_all_it_hides(run: Callable[..., Any]) -> None:
    before = tree({"a.php": [("R", 5), ("R", 6), ("S", 9)]})
    after = {"a.php": tree({"a.php": []})["a.php"] + "/** @SuppressWarnings(PHPMD) */\n"}

    outcome = run(phpcs(tool="phpmdish"), script=phpcs_script, before=before, after=after)

    assert (outcome.status, outcome.details["delta"]) == ("failed", 0.0)
    assert outcome.details["matched"]["suppressed"] == 3


def test_one_comment_that_hides_three_findings_counts_three_back(run: Callable[..., Any]) -> None:
    before = tree({"a.php": [("R", 5), ("S", 5), ("T", 5)]})
    after = tree({"a.php": []})
    lines = after["a.php"].split("\n")
    lines[4] = "rewritten(); // @phpstan-ignore-line"

    outcome = run(
        phpcs(tool="phpstanish"), script=phpcs_script, before=before, after={"a.php": "\n".join(lines)}
    )

    assert (outcome.status, outcome.details["delta"]) == ("failed", 0.0)


def test_what_was_mended_far_from_a_suppression_stays_mended(run: Callable[..., Any]) -> None:
    before = tree({"a.php": [("R", 5), ("S", 40)]})
    lines = tree({"a.php": []})["a.php"].split("\n")
    lines[4], lines[39] = "x(); // @phpstan-ignore-line", "mended();"

    outcome = run(
        phpcs(tool="phpstanish"), script=phpcs_script, before=before, after={"a.php": "\n".join(lines)}
    )

    assert (outcome.details["delta"], outcome.passed) == (1.0, True)


def test_a_task_may_refuse_any_new_suppression(run: Callable[..., Any]) -> None:
    before, after = suppressing("a.php", 5, "phpcs:ignore")

    outcome = run(phpcs(forbid=["suppressions"]), script=phpcs_script, before=before, after=after)

    assert outcome.details["cause"] == "guard:suppressions"


def test_severities_may_be_weighed(run: Callable[..., Any]) -> None:
    before, after = {"a.php": [("R", 5), ("S", 6), ("T", 7)]}, {"a.php": [("R", 5)]}

    outcome = run(
        phpcs(1, weights={"error": 0.5}), script=phpcs_script, before=tree(before), after=tree(after)
    )

    assert (outcome.details["before"], outcome.details["delta"]) == (1.5, 1.0)
    assert outcome.details["unit"] == "weighed findings"


def test_with_no_new_a_swap_fails_even_where_fewer_are_left(run: Callable[..., Any]) -> None:
    before, after = {"a.php": [("R", 5), ("S", 6), ("T", 7)]}, {"a.php": [("U", 9)]}

    outcome = run(phpcs(mode="no_new"), script=phpcs_script, before=tree(before), after=tree(after))

    assert (outcome.status, outcome.details["cause"]) == ("failed", "new_findings")
    assert outcome.details["delta"] == 2.0


def test_rules_and_files_that_changed_are_tabled(run: Callable[..., Any]) -> None:
    before, after = {"a.php": [("R", 5), ("S", 6)]}, {"a.php": [("R", 5)]}

    details = run(phpcs(), script=phpcs_script, before=tree(before), after=tree(after)).details

    assert (details["by_rule"], details["by_file"]) == ({"S": [1, 0]}, {"a.php": [2, 1]})


def test_search_paths_into_the_work_tree_are_closed_for_the_tool(run: Callable[..., Any]) -> None:
    seen: list[Mapping[str, str]] = []

    def script(room: FakeRoom, command: Command) -> Any:
        if "phpcs" in command.argv:
            seen.append(command.env)
        return phpcs_script(room, command)

    room = RoomSpec(env={"PATH": "/workspace/bin:/usr/bin::.", "PYTHONPATH": "/opt/x", "HOME": "/workspace"})
    run(phpcs(), script=script, before=tree({"a.php": [("R", 5)]}), after=tree({"a.php": []}), room=room)

    assert seen
    assert all(env == {"PATH": "/usr/bin", "HOME": "/home/candidate"} for env in seen)
