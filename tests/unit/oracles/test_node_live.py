"""Our modules inside real runs of Node, read back as the judge would. Needs `node` 20 or newer."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import orchestrator.testreports
from orchestrator.testreports import NodeReporter, TapeReporter, TestReport
from orchestrator.testreports.jsonlines import JUDGE_FOLDER, nonce, read_report, report_path

JUDGE = Path(orchestrator.testreports.__file__).parent / "judge"
Ran = tuple[int, TestReport | None]

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None and not os.environ.get("CI"), reason="node is not installed"
)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Ran]:
    """run(command, {file: text}, reporter) -> (exit code, report)."""

    def run_node(command: str, files: dict[str, str], reporter: NodeReporter | TapeReporter) -> Ran:
        for name, text in files.items():
            path = tmp_path / "work" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        token = str(tmp_path)
        step = reporter.step(command, {}, token)
        report = Path(report_path(token))
        here = {key: value.replace(JUDGE_FOLDER, str(JUDGE)) for key, value in step.command.env.items()}
        env = {"PATH": os.environ["PATH"], **here}
        try:
            done = subprocess.run(
                command, shell=True, cwd=tmp_path / "work", env=env, capture_output=True, timeout=60
            )
            found = read_report(report.read_bytes(), nonce(token)) if report.exists() else None
        finally:
            shutil.rmtree(report.parent, ignore_errors=True)
        return done.returncode, found

    return run_node


TITLES = """
const { test, describe, it } = require("node:test");
const assert = require("node:assert");
test("plain \\"quoted\\" [x] ü", () => {});
test("outer", async (t) => {
  await t.test("inner", () => {});
  await t.test("breaks", () => assert.ok(false));
});
describe("group", () => { it("works", () => {}); it("again", { skip: true }, () => {}); });
test("twice", () => {});
test("twice", () => {});
test("later", { todo: true }, () => assert.ok(false));
test("blind", () => {
  const seen = Object.keys(process.env).filter((name) => name.startsWith("PROCTOR_"));
  assert.deepStrictEqual(seen, []);
});
"""


@pytest.mark.parametrize("options", ["", "--test-reporter=tap", "--test-reporter tap"])
def test_every_title_becomes_a_path_with_a_status_of_its_own(run: Callable[..., Ran], options: str) -> None:
    exit_code, report = run(
        f"node --test {options} test/a.test.js", {"test/a.test.js": TITLES}, NodeReporter()
    )

    assert report is not None
    assert report.end == "graded"
    assert {i.removeprefix("test/a.test.js > "): s for i, s in report.statuses.items()} == {
        'plain "quoted" [x] ü': "passed",
        "outer > inner": "passed",
        "outer > breaks": "failed",
        "group > works": "passed",
        "group > again": "skipped",
        "twice": "ambiguous",
        "later": "xfailed",
        "blind": "passed",
    }
    assert (exit_code, report.disagreement(exit_code)) == (1, "")


def test_a_file_that_cannot_be_loaded_is_a_failed_collection(run: Callable[..., Ran]) -> None:
    files = {"a.test.js": 'require("./nowhere");', "b.test.js": 'require("node:test")("b", () => {});'}

    exit_code, report = run("node --test", files, NodeReporter())

    assert report is not None
    assert report.collection == {"a.test.js": "error"}
    assert report.statuses == {"b.test.js > b": "passed"}
    assert report.disagreement(exit_code) == ""


def test_a_runner_that_is_killed_leaves_no_result(run: Callable[..., Ran]) -> None:
    files = {"a.test.js": 'require("node:test")("a", () => process.kill(process.ppid, "SIGKILL"));'}

    _, report = run("node --test; true", files, NodeReporter())

    assert report is not None
    assert report.end == "run_incomplete"


# The parts of tape that ours looks at, from its published interface.
TAPE = """
const { EventEmitter } = require("node:events");
const Results = require("./lib/results");
const results = new Results();
module.exports = (name, work) => {
  const t = new EventEmitter();
  t.name = name;
  t.ok = (value) => { if (!value) process.exitCode = 1; t.emit("result", { ok: Boolean(value) }); };
  t.comment = (text) => { console.log("# " + text); t.emit("result", text); };
  results.push(t);
  results.queue.push(() => { work(t); t.emit("end"); });
};
setImmediate(() => results.run());
"""
RESULTS = """
const { EventEmitter } = require("node:events");
class Results extends EventEmitter {
  queue = [];
  push() {}
  run() { for (const work of this.queue) work(); this.emit("done"); }
}
Results.prototype.push = function () {};
module.exports = Results;
"""
LIBRARY = {"node_modules/tape/index.js": TAPE, "node_modules/tape/lib/results.js": RESULTS}


def test_what_a_tape_test_prints_cannot_pass_for_a_result(run: Callable[..., Ran]) -> None:
    text = """
        const test = require("tape");
        test("a", (t) => { t.ok(true); console.log("# b"); t.comment("b"); t.ok(false); });
        test("b", (t) => { t.ok(true); });
        test("b", (t) => { t.ok(true); });
    """

    exit_code, report = run("node tape.js", LIBRARY | {"tape.js": text}, TapeReporter())

    assert report is not None
    assert (report.end, dict(report.statuses)) == ("graded", {"a": "failed", "b": "ambiguous"})
    assert report.disagreement(exit_code) == ""


def test_a_tape_run_that_exits_early_is_no_result(run: Callable[..., Ran]) -> None:
    text = 'const test = require("tape"); test("a", (t) => t.ok(true)); test("b", () => process.exit(0));'

    exit_code, report = run("node tape.js", LIBRARY | {"tape.js": text}, TapeReporter())

    assert report is not None
    assert (exit_code, report.end) == (0, "run_incomplete")
