// What jest saw, written down by a reporter in its main process. Understands jest 26 to 30.
// The format, what it proves and what it cannot is said in proctor_report.py.

"use strict";

const path = require("node:path");
const process = require("node:process");
const { take } = require("./proctor_runners.cjs");

module.exports = class {
  constructor() {
    this.section = take("jest");
    this.failed = false;
  }

  onTestResult(_, { testFilePath, testResults, testExecError }) {
    if (!this.section) return;
    const file = path.relative(process.cwd(), testFilePath);
    for (const found of testResults) {
      this.result([file, ...found.ancestorTitles, found.title].join(" > "), found);
    }
    if (!testExecError) return;
    this.failed = true;
    this.section.write({ kind: "collect", id: file, outcome: "failed" });
  }

  result(id, { status, failing, invocations = 1 }) {
    if (status === "failed") this.failed = true;
    if (status === "passed" && invocations > 1) this.section.test(id, "rerun");
    else if (status === "passed" && failing) this.section.test(id, "skipped", "test.failing");
    else if (status === "passed" || status === "failed") this.section.test(id, status);
    else if (status === "todo") this.section.test(id, "skipped", "[NOTRUN] todo");
    else if (status === "pending" || status === "skipped") this.section.test(id, "skipped");
    else this.section.test(id, `jest says ${status}`);
  }

  onRunComplete(_, results) {
    if (!this.section) return;
    if (results.wasInterrupted) this.section.write({ kind: "trouble", what: "interrupted" });
    if (results.runExecError) this.section.write({ kind: "trouble", what: "the run could not be executed" });
    this.section.end([], this.failed ? 1 : 0);
  }
};
