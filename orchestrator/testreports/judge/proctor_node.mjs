// What node's test runner saw, written down from inside the runner's own process, as JSON lines.
// The format, what it proves and what it cannot is said in proctor_report.py.
//
// A reporter of `node --test`: the tests run in processes of their own, which get neither path nor nonce.
// A test that holds others is a suite: only the innermost ones are tests. Understands Node 20 or newer.

import path from "node:path";
import process from "node:process";
import files from "./proctor_files.cjs";
import judge from "./proctor_section.cjs";

const ours = [judge.asked("NODE")];
const rewritten = ours[0] ? files.watched(process.cwd()) : () => [];

function relative(file) {
  return file === undefined ? "" : path.relative(process.cwd(), file);
}

class Recorder {
  constructor(section) {
    this.section = section;
    this.open = []; // by depth: {name, file, children}
  }

  start({ nesting, name, file }) {
    this.open.length = nesting;
    this.open.push({ name, file, children: 0 });
  }

  result(passed, data) {
    const mine = this.open[data.nesting];
    if (mine === undefined || mine.name !== data.name) {
      this.whole(passed, data); // a file of its own: it died, or it holds no test
      return;
    }
    if (data.nesting > 0) this.open[data.nesting - 1].children += 1;
    const id = [relative(this.open[0].file), ...this.open.slice(0, data.nesting + 1).map((t) => t.name)].join(" > ");
    this.open.length = data.nesting;
    if (data.nesting === 0 && data.file !== undefined && path.resolve(data.name) === data.file) this.whole(passed, data);
    else if (mine.children > 0) this.suite(id, passed, data);
    else if (marked(data.skip)) this.section.test(id, "skipped");
    else if (marked(data.todo)) this.section.test(id, passed ? "passed" : "skipped", "todo");
    else this.section.test(id, passed ? "passed" : "failed");
  }

  suite(id, passed, data) {
    const own = data.details?.error?.failureType !== "subtestsFailed";
    if (!passed && own && !marked(data.todo)) this.section.write({ kind: "collect", id, outcome: "failed" });
  }

  whole(passed, data) {
    const id = relative(data.file ?? data.name);
    this.section.write({ kind: "collect", id, outcome: passed ? "skipped" : "failed" });
  }
}

function marked(word) {
  return word !== undefined && word !== false;
}

export default async function* proctor(events) {
  const found = ours.pop();
  const section = found ? new judge.Section(found, `node ${process.versions.node}`) : null;
  const recorder = section && new Recorder(section);
  for await (const { type, data } of events) {
    if (recorder === null) continue;
    if (type === "test:start") recorder.start(data);
    else if (type === "test:pass" || type === "test:fail") recorder.result(type === "test:pass", data);
  }
  for (const file of rewritten().slice(0, 20)) section?.write({ kind: "changed", what: `file ${file}` });
  section?.end([], Number(process.exitCode ?? 0));
  yield "";
}
