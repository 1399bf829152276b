// What vitest saw, written down by a reporter in its main process. Understands vitest 1 to 4.
// The format, what it proves and what it cannot is said in proctor_report.py.

import { createRequire } from "node:module";
import path from "node:path";
import process from "node:process";

const require = createRequire(import.meta.url);
const { take } = require("./proctor_runners.cjs");

export default class {
  onInit(vitest) {
    this.section = take("vitest");
    this.vitest = vitest;
    this.failed = false;
  }

  /** How vitest 1 and 2 end; later ones call it beside onTestRunEnd, or not at all. */
  onFinished(_, errors = []) {
    this.finish(errors);
  }

  onTestRunEnd(_, errors = [], reason = "") {
    if (reason === "interrupted") this.section?.write({ kind: "trouble", what: "interrupted" });
    this.finish(errors);
  }

  finish(errors) {
    if (!this.section) return;
    for (const file of this.vitest.state.getFiles()) this.file(file);
    if (errors.length > 0) this.broken("errors outside of any test");
    this.section.end([], this.failed ? 1 : 0);
    this.section = null;
  }

  file(file) {
    const name = path.relative(process.cwd(), file.filepath);
    const broken = broke(file);
    if (broken) this.broken(name);
    for (const task of file.tasks ?? []) this.task(task, [name], broken);
  }

  task(task, above, setupFailed) {
    const titles = [...above, task.name];
    if (task.type !== "suite") {
      this.test(titles.join(" > "), task, setupFailed);
      return;
    }
    const broken = broke(task);
    if (broken) this.broken(titles.join(" > "));
    for (const inner of task.tasks ?? []) this.task(inner, titles, setupFailed || broken);
  }

  test(id, { mode, fails, result }, setupFailed) {
    const state = result?.state;
    if (state === "fail") this.failed = true;
    if (mode === "todo") this.section.test(id, "skipped", "[NOTRUN] todo");
    else if (state === "pass" && (result.retryCount ?? 0) > 0) this.section.test(id, "rerun");
    else if (state === "pass" && fails) this.section.test(id, "skipped", "test.fails");
    else if (state === "pass") this.section.test(id, "passed");
    else if (state === "fail") this.section.test(id, "failed");
    else if (setupFailed) this.section.phases(id, [["setup", "failed", null]]);
    else if (mode === "skip" || state === "skip") this.section.test(id, "skipped");
    else this.section.test(id, "skipped", "[NOTRUN] it never came to its end");
  }

  broken(id) {
    this.failed = true;
    this.section.write({ kind: "collect", id, outcome: "failed" });
  }
}

/** Whether a file or suite failed by itself: it could not be loaded, or one of its hooks failed. */
function broke({ result }) {
  return result?.state === "fail" && (result.errors ?? []).length > 0;
}
