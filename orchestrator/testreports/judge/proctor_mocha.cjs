// What mocha saw, written down by a reporter that stands in for the one the command named, and calls it.
// Understands mocha 8 to 12. The format, what it proves and what it cannot is said in proctor_report.py.

"use strict";

const fs = require("node:fs");
const { createRequire } = require("node:module");
const path = require("node:path");
const process = require("node:process");
const { replaced, take } = require("./proctor_runners.cjs");

class Recorder {
  constructor(section, runner) {
    this.section = section;
    this.last = null; // written when the next result comes: a test's hooks end after it
    this.collected = new Set();
    this.failed = false;
    runner.once("start", () => this.collect(runner));
    runner.on("pending", (test) => this.add(test, ["call", "skipped", null]));
    runner.on("pass", (test) => this.add(test, ["call", "passed", null]));
    runner.on("retry", (test) => this.add(test, ["call", "rerun", null]));
    runner.on("fail", (found) => this.fail(found));
    runner.once("end", () => this.end());
  }

  collect(runner) {
    for (const test of testsOf(runner.suite)) if (chosen(runner, test)) this.collected.add(id(test));
  }

  /** Attempts of one test, and its hooks, are one result; another test of that name is another. */
  add(test, phase) {
    const name = id(test);
    const again = this.last?.phases.some(([, outcome]) => outcome === "rerun");
    if (this.last?.name !== name || !(again || this.last.test === test)) this.flush();
    this.last ??= { name, test, phases: [] };
    if (again && phase[1] === "failed") this.last.phases = []; // every attempt failed
    this.last.test = test;
    this.last.phases.push(phase);
  }

  fail(found) {
    this.failed = true;
    if (found.type !== "hook") {
      this.add(found, ["call", "failed", null]);
      return;
    }
    this.section.write({ kind: "collect", id: id(found), outcome: "failed" });
    const one = found.ctx?.currentTest;
    if (/^"after each"/.test(found.title) && one) this.add(one, ["teardown", "failed", null]);
    else if (/^"before each"/.test(found.title) && one) this.add(one, ["setup", "failed", null]);
    else if (/^"before all"/.test(found.title)) {
      for (const test of testsOf(found.parent)) {
        if (this.collected.has(id(test))) this.add(test, ["setup", "failed", null]);
      }
    }
  }

  flush() {
    if (this.last) this.section.phases(this.last.name, this.last.phases);
    this.last = null;
  }

  end() {
    this.flush();
    this.section.end([...this.collected], this.failed ? 1 : 0);
  }
}

function* testsOf(suite) {
  yield* suite?.tests ?? [];
  for (const inner of suite?.suites ?? []) yield* testsOf(inner);
}

/** Whether --grep lets this test run. */
function chosen({ _grep, _invert }, test) {
  return !_grep || _grep.test(test.fullTitle()) !== Boolean(_invert);
}

function id(found) {
  const file = found.file === undefined ? "" : path.relative(process.cwd(), found.file);
  return [file, ...found.titlePath()].join(" > ");
}

/** The reporter that the command named: one of mocha's own, or a module. */
function named(word) {
  const from = createRequire(fs.realpathSync(process.argv[1]));
  const own = from("mocha").reporters;
  if (own[word]) return own[word];
  const here = createRequire(path.join(process.cwd(), "x"));
  for (const load of [() => here(path.resolve(word)), () => here(word), () => from(word)]) {
    try {
      return load();
    } catch {
      // not there; the next place
    }
  }
  return own.spec;
}

module.exports = function (runner, options) {
  const section = take("mocha");
  if (section) new Recorder(section, runner);
  const Reporter = named(replaced());
  return new (Reporter.default ?? Reporter)(runner, options);
};
