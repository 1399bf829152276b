"""Reports that real runners left, as recorded: jest, vitest, mocha, go, cargo and nextest; and CTRF."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.contract import StepResult
from orchestrator.testreports import Reporter, TestReport, built_in
from orchestrator.testreports.cargo_report import read_lines
from orchestrator.testreports.ctrf_report import read_ctrf
from orchestrator.testreports.go_report import read_events
from orchestrator.testreports.jsonlines import nonce, read_report
from orchestrator.testreports.nextest_report import read_nextest
from sandboxes.protocol import Done, Output


def recorded(data: Path, name: str) -> str:
    return (data / "runners" / name).read_text(encoding="utf-8")


def javascript(data: Path, name: str) -> TestReport:
    return read_report((data / "runners" / f"{name}.jsonl").read_bytes(), nonce("recorded"))


def reporter(name: str) -> Reporter:
    return next(r for r in built_in() if r.name == name)


def printed(stdout: str = "", stderr: str = "", exit_code: int = 1, total: int | None = None) -> StepResult:
    out = Output(stdout.encode(), total=len(stdout.encode()) if total is None else total)
    return StepResult(Done("exited", exit_code, None, out, Output(stderr.encode(), total=len(stderr)), 0.1))


@pytest.mark.parametrize("name", ["jest-30", "jest-29", "vitest-4", "vitest-2"])
def test_jest_and_vitest_tell_every_test_apart(data: Path, name: str) -> None:
    report = javascript(data, name)

    told = {i.removeprefix("test/a.test.js > "): s for i, s in report.statuses.items()}
    assert report.end == "graded"
    assert (
        told.items()
        >= {
            'plain "quoted" [x] ü': "passed",
            "group > works": "passed",
            "group > breaks": "failed",
            "group > again": "skipped",
            "group > later": "not_run",
            "twice": "ambiguous",
            "mended": "failed",
            "adds 1 to 2": "passed",
            "flaky": "ambiguous",
            "blind": "passed",
        }.items()
    )
    assert told["known"] == ("passed" if name == "jest-29" else "xfailed")
    assert report.collection["test/b.test.js"] == "error"
    assert report.status("test/c.test.js > hooked > never") in ("failed", "error")
    assert report.disagreement(1) == ""


@pytest.mark.parametrize("name", ["mocha-12", "mocha-10"])
def test_mochas_hooks_decide_the_tests_they_stand_beside(data: Path, name: str) -> None:
    report = javascript(data, name)

    assert {i.removeprefix("test/a.js > "): s for i, s in report.statuses.items()} == {
        'plain "quoted" [x] ü': "passed",
        "group > works": "passed",
        "group > breaks": "failed",
        "group > again": "skipped",
        "group > later": "skipped",
        "twice": "ambiguous",
        "flaky": "ambiguous",
        "hopeless": "failed",
        "blind": "passed",
        "skips itself": "skipped",
        "before all > never": "error",
        "before each > struck": "error",
        "before each > left": "not_run",
        "after each > torn": "error",
    }
    assert report.disagreement(5) == ""


@pytest.mark.parametrize("name", ["jest-30", "vitest-4", "mocha-12"])
def test_a_recorded_report_with_one_word_changed_is_unreadable(data: Path, name: str) -> None:
    whole = (data / "runners" / f"{name}.jsonl").read_bytes()

    report = read_report(whole.replace(b'"failed"', b'"passed"', 1), nonce("recorded"))

    assert report.end == "report_unreadable"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("jest", "No tests found, exiting with code 1"),
        ("vitest", "No test files found, exiting with code 1"),
        ("mocha", "Error: No test files found: test"),
    ],
)
def test_a_run_without_any_test_file_is_an_end_of_its_own(name: str, says: str) -> None:
    report = reporter(name).read(printed(stderr=says), "token")

    assert (report.end, report.problems) == ("nothing_ran", (f"{name} found no tests",))


def test_go_tells_packages_that_died_or_were_not_built(data: Path) -> None:
    report = read_events(recorded(data, "go-1.19.jsonl"))

    demo = "example.com/demo"
    assert (
        report.statuses.items()
        >= {
            f"{demo}::TestStays": "passed",
            f"{demo}::TestSkips": "skipped",
            f"{demo}::TestParent": "failed",
            f"{demo}::TestParent/with_spaces": "passed",
            f"{demo}::TestParent/ünï/code": "passed",
            f"{demo}::TestParent/bad": "failed",
            f"{demo}::ExampleF": "passed",
            f"{demo}/panics::TestPanics": "failed",
        }.items()
    )
    assert report.end == "run_incomplete"
    assert report.problems[0] == f"{demo}/dies never came to its end"
    assert report.collection == {f"{demo}/broken": "error"}


def test_a_go_result_that_a_test_printed_itself_makes_both_ambiguous(data: Path) -> None:
    report = read_events(recorded(data, "go-1.19.jsonl"))

    assert report.status("example.com/demo::TestTurns") == "ambiguous"
    assert report.doubled == {"example.com/demo::TestTurns": "failed"}


def go(*events: tuple[str, str]) -> str:
    """Events of package p: (action, test), the test empty for the package itself."""
    return "".join(
        json.dumps({"Action": action, "Package": "p"} | ({"Test": test} if test else {})) + "\n"
        for action, test in events
    )


def test_a_go_test_that_went_down_with_its_binary_is_an_error() -> None:
    report = read_events(go(("run", "TestA"), ("pass", "TestA"), ("run", "TestB"), ("fail", "")))

    assert dict(report.statuses) == {"p::TestA": "passed", "p::TestB": "error"}
    assert report.end == "graded"


def test_a_go_package_that_fails_outside_of_any_test_is_named() -> None:
    report = read_events(go(("run", "TestA"), ("pass", "TestA"), ("fail", "")))

    assert report.collection == {"p": "error"}
    assert report.disagreement(0) == "exit code 0, but the report says 1 went wrong (p)"


def test_go_without_a_single_test_ran_nothing_and_without_a_build_is_incomplete() -> None:
    assert read_events(go(("skip", ""))).end == "nothing_ran"
    assert read_events("FAIL\tp [build failed]\n").end == "run_incomplete"
    assert read_events("ok p\n").end == "report_missing"


def test_go_events_that_are_not_whole_are_no_report() -> None:
    report = reporter("go").read(printed(go(("pass", "")), total=10**9), "token")

    assert report.end == "report_unreadable"


def test_cargo_ids_say_which_binary_a_test_stands_in(data: Path) -> None:
    report = read_lines(recorded(data, "cargo-1.65.stdout"), recorded(data, "cargo-1.65.stderr"))

    assert report.end == "graded"
    assert dict(report.statuses) == {
        "demo_crate src/lib.rs > tests::later": "skipped",
        "demo_crate src/lib.rs > tests::slow": "skipped",
        "demo_crate src/lib.rs > tests::stays": "passed",
        "demo_crate src/lib.rs > tests::panics - should panic": "passed",
        "demo_crate src/lib.rs > tests::turns": "failed",
        "demo_crate src/main.rs > in_main": "passed",
        "it tests/it.rs > works": "passed",
        "it tests/it.rs > works_too": "passed",
        "demo-crate doc-tests > src/lib.rs - f (line 5)": "passed",
    }
    assert report.disagreement(101) == ""


@pytest.mark.parametrize(
    ("old", "new", "end"),
    [
        ("test in_main ... ok\n", "", "run_incomplete"),
        ("test in_main ... ok\n", "test in_main ... ok\ntest more ... ok\n", "run_incomplete"),
        ("test result: ok. 1 passed; 0 failed", "test result: ok. 2 passed; 0 failed", "run_incomplete"),
        ("running 2 tests\ntest works ... ok", "test works ... ok", "report_unreadable"),
    ],
)
def test_cargo_lines_that_do_not_add_up_are_no_result(data: Path, old: str, new: str, end: str) -> None:
    stdout = recorded(data, "cargo-1.65.stdout")
    assert old in stdout

    report = read_lines(stdout.replace(old, new, 1), recorded(data, "cargo-1.65.stderr"))

    assert report.end == end


def test_doc_tests_that_ran_in_two_goes_are_one_binarys(data: Path) -> None:
    report = read_lines(recorded(data, "cargo-1.95.stdout"), recorded(data, "cargo-1.95.stderr"))

    docs = [i for i in report.statuses if i.startswith("demo_crate doc-tests > ")]
    assert (report.end, len(docs), len(report.statuses)) == ("graded", 5, 13)
    assert report.status("demo_crate doc-tests > src/lib.rs - i (line 30) - compile fail") == "passed"


def test_doc_tests_of_which_nobody_knows_the_crate_are_unreadable(data: Path) -> None:
    stdout, stderr = recorded(data, "cargo-1.95.stdout"), recorded(data, "cargo-1.95.stderr")
    docs = stdout[stdout.index("\nrunning 3 tests\ntest src/lib.rs - f") :]
    single = docs[docs.index("\nrunning 2 tests") :]

    report = read_lines(stdout + single, f"{stderr}   Doc-tests other\n")

    assert report.end == "report_unreadable"


def test_a_crate_that_does_not_compile_is_an_incomplete_run() -> None:
    report = read_lines("", "error[E0308]: mismatched types\nerror: could not compile `demo` due to x\n")

    assert report.end == "run_incomplete"
    assert "could not compile `demo`" in report.problems[0]


def test_a_binary_that_printed_a_green_run_and_exited_is_told_by_its_plan(data: Path) -> None:
    forged = "\nrunning 5 tests\ntest tests::turns ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; "
    forged += "0 measured; 0 filtered out; finished in 0.00s\n"

    report = read_lines(forged, "     Running unittests src/lib.rs (target/debug/deps/demo_crate-27bb)\n")

    assert report.end == "run_incomplete"


def test_nextest_events_are_read_and_held_against_its_summary(data: Path) -> None:
    stdout, stderr = recorded(data, "nextest-0.9.stdout"), recorded(data, "nextest-0.9.stderr")

    report = read_nextest(stdout, stderr)

    assert report.end == "graded"
    assert dict(report.statuses) == {
        "demo-crate::demo-crate$tests::later": "skipped",
        "demo-crate::demo-crate$tests::slow": "skipped",
        "demo-crate::demo-crate$tests::stays": "passed",
        "demo-crate::demo-crate$tests::panics": "passed",
        "demo-crate::demo-crate$tests::turns": "failed",
        "demo-crate::demo-crate$in_main": "passed",
        "demo-crate::it$works": "passed",
        "demo-crate::it$works_too": "passed",
    }
    assert read_nextest(stdout, "").end == "run_incomplete"
    assert read_nextest("\n".join(stdout.splitlines()[:-3]), stderr).end == "run_incomplete"


def test_a_nextest_test_that_passes_at_its_second_try_is_ambiguous() -> None:
    events = [("started", "a::a$t"), ("failed", "a::a$t"), ("started", "a::a$t#2"), ("ok", "a::a$t#2")]
    stdout = "\n".join(json.dumps({"type": "test", "event": e, "name": n}) for e, n in events)

    report = read_nextest(stdout, "     Summary [   0.1s] 1 test run: 1 passed (1 flaky), 0 skipped\n")

    assert (report.end, dict(report.statuses)) == ("graded", {"a::a$t": "ambiguous"})


def ctrf(*tests: dict[str, Any], **told: int) -> bytes:
    words = ("passed", "failed", "skipped", "pending", "other")
    counts = {word: sum(t["status"] == word for t in tests) for word in words}
    summary = {"tests": len(tests), **counts, "start": 0, "stop": 1, **told}
    return json.dumps({"results": {"tool": {"name": "x"}, "summary": summary, "tests": tests}}).encode()


def test_ctrf_names_suites_and_counts_a_flaky_pass_as_two_results() -> None:
    report = read_ctrf(
        ctrf(
            {"name": "a", "status": "passed", "suite": ["f.py", "C"]},
            {"name": "b", "status": "other", "suite": "f.py"},
            {"name": "c", "status": "passed", "flaky": True, "retries": 1},
        )
    )

    assert dict(report.statuses) == {"f.py > C > a": "passed", "f.py > b": "unknown", "c": "ambiguous"}
    assert (report.end, report.tool) == ("graded", "x")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"results": {"tests": {}, "summary": {}}}',
        b"[" * 100_000,
        ctrf({"name": "a", "status": "passed"}, passed=2),
        ctrf({"name": "a", "status": "failed"}, tests=7),
        b'{"results": {"tests": [{"status": "passed"}], "summary": {}}}',
    ],
)
def test_what_is_no_whole_ctrf_is_unreadable(data: bytes) -> None:
    assert read_ctrf(data).end == "report_unreadable"


def test_a_ctrf_without_tests_ran_nothing() -> None:
    assert read_ctrf(ctrf()).end == "nothing_ran"


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("npx jest --ci", "jest"),
        ("node_modules/.bin/vitest run", "vitest"),
        ("mocha -R dot test", "mocha"),
        ("cd api && go test ./...", "go"),
        ("cargo test --workspace", "cargo"),
        ("cargo +1.65 --locked t", "cargo"),
        ("cargo nextest run", "nextest"),
        ("make test", None),
        ("cargo build", None),
        ("go vet ./...", None),
        ("cat jest.config.js", None),
    ],
)
def test_a_runner_is_recognised_by_its_command(command: str, name: str | None) -> None:
    assert next((r.name for r in built_in() if r.recognises(command)), None) == name


def test_what_the_room_asks_of_node_and_go_is_kept() -> None:
    jest = reporter("jest").step("jest", {"NODE_OPTIONS": "--expose-gc"}, "t").command.env
    go_env = reporter("go").step("go test", {"GOFLAGS": "-mod=vendor"}, "t").command.env

    assert jest["NODE_OPTIONS"].endswith("/proctor_runners.cjs --expose-gc")
    assert go_env == {"GOFLAGS": "-mod=vendor -json"}
