"""Our reporters inside real processes of Node, called by stand-ins for jest, vitest and mocha.

The stand-ins have the parts of the runners that ours looks at, by their published interfaces; the runners
themselves come from the registry (`engine/test_runners.py`). Needs `node` 20 or newer.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import orchestrator.testreports
from orchestrator.testreports import TestReport, built_in
from orchestrator.testreports.jsonlines import JUDGE_FOLDER, nonce, read_report, report_path

JUDGE = Path(orchestrator.testreports.__file__).parent / "judge"
Ran = tuple[list[str], TestReport | None]

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None and not os.environ.get("CI"), reason="node is not installed"
)

SHOW = "console.log(JSON.stringify(process.argv.slice(2)));\n"
JEST = (
    SHOW
    + """
const words = process.argv.filter((word) => word.startsWith("--reporters=/"));
const reporter = new (require(words.at(-1).slice("--reporters=".length)))();
const seen = Object.keys(process.env).filter((name) => name.startsWith("PROCTOR_")).length;
const test = (title, status, more) => ({ ancestorTitles: ["group"], title, status, ...more });
reporter.onTestResult({}, {
  testFilePath: process.cwd() + "/a.test.js",
  testResults: [
    test(`sees ${seen}`, "passed"),
    test("odd", "focused"),
    test("again", "passed", { invocations: 2 }),
  ],
});
EARLY
reporter.onRunComplete(new Set(), { wasInterrupted: false });
"""
)
VITEST = (
    SHOW
    + """
const words = process.argv.filter((word) => word.startsWith("--reporter=/"));
import(words.at(-1).slice("--reporter=".length)).then(({ default: Reporter }) => {
  const reporter = new Reporter();
  const task = (name, state) => ({ type: "test", name, mode: "run", result: state && { state } });
  const broken = { state: "fail", errors: [{}] };
  const file = {
    filepath: process.cwd() + "/a.test.js",
    tasks: [
      task("works", "pass"),
      task("hangs", undefined),
      { type: "suite", name: "group", result: broken, tasks: [task("struck", "skip")] },
    ],
  };
  reporter.onInit({ state: { getFiles: () => [file] } });
  reporter.onTestRunEnd([], [{}], "failed");
  reporter.onFinished([], []);
});
"""
)
MOCHA_INDEX = """
module.exports.reporters = {
  spec: class { constructor(runner) { runner.once("end", () => console.log("told by spec")); } },
  dot: class { constructor(runner) { runner.once("end", () => console.log("told by dot")); } },
};
"""
MOCHA = (
    SHOW
    + """
const { EventEmitter } = require("node:events");
const runner = new EventEmitter();
const file = process.cwd() + "/t.js";
const test = (title) => ({ type: "test", file, title, titlePath: () => ["group", title] });
const [torn, left] = [test("torn"), test("left")];
runner.suite = { tests: [torn, left], suites: [] };
const at = process.argv.indexOf("--reporter");
new (require(process.argv[at + 1]))(runner, {});
runner.emit("start");
runner.emit("pass", torn);
const hook = { type: "hook", title: '"after each" hook for "torn"', ctx: { currentTest: torn } };
runner.emit("fail", { ...hook, file, titlePath: () => ["group", hook.title] });
runner.emit("end");
"""
)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Ran]:
    """run(reporter's name, command, {file: text}) -> (the words the runner saw, report)."""

    def run_node(name: str, command: str, files: dict[str, str]) -> Ran:
        for place, text in files.items():
            path = tmp_path / "work" / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        reporter = next(reader for reader in built_in() if reader.name == name)
        assert reporter.recognises(command)
        token = str(tmp_path)
        ours = reporter.step(command, {}, token).command.env
        env = {key: value.replace(JUDGE_FOLDER, str(JUDGE)) for key, value in ours.items()}
        report = Path(report_path(token))
        try:
            done = subprocess.run(
                command,
                shell=True,
                cwd=tmp_path / "work",
                env={"PATH": os.environ["PATH"], **env},
                capture_output=True,
                timeout=60,
                check=True,
            )
            found = read_report(report.read_bytes(), nonce(token)) if report.exists() else None
        finally:
            shutil.rmtree(report.parent, ignore_errors=True)
        words, *printed = done.stdout.decode().splitlines()
        return [*json.loads(words), *printed], found

    return run_node


def test_jest_is_given_our_reporter_beside_its_own_and_sees_no_key(run: Callable[..., Ran]) -> None:
    words, report = run("jest", "node jest.js --ci", {"jest.js": JEST.replace("EARLY", "")})

    assert words == ["--ci", "--reporters=default", f"--reporters={JUDGE}/proctor_jest.cjs"]
    assert report is not None
    assert (report.end, dict(report.statuses)) == (
        "graded",
        {
            "a.test.js > group > sees 0": "passed",
            "a.test.js > group > odd": "unknown",
            "a.test.js > group > again": "ambiguous",
        },
    )


def test_reporters_and_patterns_that_the_command_names_stay(run: Callable[..., Ran]) -> None:
    files = {"jest.js": JEST.replace("EARLY", "")}

    words, _ = run("jest", "node jest.js --reporters=summary -- a.test.js", files)

    assert words == ["--reporters=summary", f"--reporters={JUDGE}/proctor_jest.cjs", "--", "a.test.js"]


def test_a_jest_that_exits_early_leaves_no_result(run: Callable[..., Ran]) -> None:
    _, report = run("jest", "node jest.js", {"jest.js": JEST.replace("EARLY", "process.exit(0);")})

    assert report is not None
    assert report.end == "run_incomplete"


def test_a_test_file_that_is_rewritten_and_put_back_meanwhile_is_told(run: Callable[..., Ran]) -> None:
    early = """
        const fs = require("node:fs");
        const text = fs.readFileSync("tests/a.test.js");
        fs.writeFileSync("tests/a.test.js", "");
        fs.writeFileSync("tests/a.test.js", text);
    """
    files = {
        "jest.js": JEST.replace("EARLY", early),
        "tests/a.test.js": "// a\n",
        "tests/b.test.js": "// b\n",
    }

    _, report = run("jest", "node jest.js", files)

    assert report is not None
    assert (report.end, report.changed) == ("graded", ("file tests/a.test.js",))


def test_vitest_tells_hooks_and_errors_outside_of_tests_once(run: Callable[..., Ran]) -> None:
    files = {"vitest.js": VITEST, "package.json": '{"version": "9.9.9"}'}

    words, report = run("vitest", "node vitest.js run", files)

    assert words == ["run", "--reporter=default", f"--reporter={JUDGE}/proctor_vitest.mjs"]
    assert report is not None
    assert (report.end, report.tool) == ("graded", "vitest 9.9.9")
    assert dict(report.statuses) == {
        "a.test.js > works": "passed",
        "a.test.js > hangs": "not_run",
        "a.test.js > group > struck": "error",
    }
    assert dict(report.collection) == {"a.test.js > group": "error", "errors outside of any test": "error"}


@pytest.mark.parametrize(
    ("options", "told"),
    [("", "spec"), ("-R dot", "dot"), ("--reporter=dot", "dot"), ("--reporter nowhere", "spec")],
)
def test_the_mocha_reporter_that_the_command_names_is_called_by_ours(
    run: Callable[..., Ran], options: str, told: str
) -> None:
    home = "node_modules/mocha"
    files = {f"{home}/index.js": MOCHA_INDEX, f"{home}/bin/mocha.js": MOCHA}
    files[f"{home}/package.json"] = '{"version": "12.3.4"}'

    words, report = run("mocha", f"node {home}/bin/mocha.js {options}", files)

    assert words == ["--reporter", f"{JUDGE}/proctor_mocha.cjs", f"told by {told}"]
    assert report is not None
    assert (report.end, report.tool) == ("graded", "mocha 12.3.4")
    assert dict(report.statuses) == {"t.js > group > torn": "error", "t.js > group > left": "not_run"}


def test_a_process_that_is_no_runner_takes_no_post(run: Callable[..., Ran]) -> None:
    text = SHOW + "if (!process.env.PROCTOR_JEST_NONCE) throw new Error('the key is gone');\n"

    words, report = run("jest", "node other.js && : jest", {"other.js": text})

    assert (words, report) == ([], None)
