// What tape saw, written down from inside its own process. Loaded with --require into every node of the
// command; it waits for tape and leaves all else alone. Understands tape 4 and 5.
//
// What a test prints cannot pass for a result: the outcomes come from tape's own events. Harnesses that a
// test makes for itself are its own affair.

"use strict";

const Module = require("node:module");
const { Section, asked } = require("./proctor_section.cjs");

const IS_RESULTS = /[\\/]tape[\\/]lib[\\/]results\.js$/;

class Recorder {
  constructor(section) {
    this.section = section;
    this.names = [];
    this.fail = false;
  }

  watch(test) {
    const results = [];
    let ended = false;
    this.names.push(test.name);
    test.on("test", (inner) => this.watch(inner));
    test.on("result", (result) => {
      if (typeof result === "string") return; // a comment
      if (!result.ok && !result.todo) this.fail = true;
      if (!ended) results.push(result);
      else if (!result.ok) this.section.test(test.name, "failed");
    });
    test.once("end", () => {
      ended = true;
      this.finish(test, results);
    });
  }

  finish(test, results) {
    const held = results.every((result) => result.ok);
    if (test._skip) this.section.test(test.name, "skipped");
    else if (test._todo) this.section.test(test.name, held ? "passed" : "skipped", "todo");
    else this.section.test(test.name, results.every((r) => r.ok || r.todo) ? "passed" : "failed");
  }
}

function install(Results) {
  const ours = asked("TAPE");
  if (ours === null) return;
  const push = Results.prototype.push;
  let first = null;
  let recorder = null;
  Results.prototype.push = function (test) {
    if (first === null) {
      first = this;
      recorder = new Recorder(new Section(ours, "tape"));
      this.once("done", () => recorder.section.end([...new Set(recorder.names)], recorder.fail ? 1 : 0));
    }
    if (this === first) recorder.watch(test);
    return push.call(this, test);
  };
}

if (process.env.PROCTOR_TAPE_REPORT) {
  const load = Module.prototype.load;
  Module.prototype.load = function (filename) {
    const answer = load.call(this, filename);
    if (IS_RESULTS.test(filename)) install(this.exports);
    return answer;
  };
}
