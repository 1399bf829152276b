// Asks jest, vitest and mocha for a report: adds reporters of ours to what the command says. Loaded with
// --require into every node of the command; silent in each that is none of the three.
//
// The path and the nonce leave the environment here, before any code of the candidate runs; the reporter takes
// them from this module, once. What a report proves and what it cannot is said in proctor_report.py.

"use strict";

const fs = require("node:fs");
const path = require("node:path");
const process = require("node:process");
const { isMainThread } = require("node:worker_threads");
const { watched } = require("./proctor_files.cjs");
const { Section, asked } = require("./proctor_section.cjs");

const PROGRAMS = {
  jest: ["JEST", /^jest(\.js)?$/],
  vitest: ["VITEST", /^vitest(\.mjs|\.js)?$/],
  mocha: ["MOCHA", /^_?mocha(\.js)?$/],
};

const ours = {};
let named = "spec";

/** The section of `runner`'s run; null when nobody asked, or somebody took it already. At its end it names the
 * test files that are no longer what they were when the runner started. */
function take(runner) {
  const found = ours[runner];
  delete ours[runner];
  return found ? new Watching(found.asked, tool(runner), found.changed) : null;
}

class Watching extends Section {
  #changed;

  constructor(asked, version, changed) {
    super(asked, version);
    this.#changed = changed;
  }

  end(collected, status) {
    for (const file of this.#changed().slice(0, 20)) this.write({ kind: "changed", what: `file ${file}` });
    super.end(collected, status);
  }
}

/** The mocha reporter that the command named, which ours stands in for. */
function replaced() {
  return named;
}

/** "jest 30.5.2": what the started script's package says of itself. */
function tool(name) {
  for (let at = fs.realpathSync(process.argv[1]); at !== path.dirname(at); at = path.dirname(at)) {
    try {
      return `${name} ${JSON.parse(fs.readFileSync(path.join(path.dirname(at), "package.json"), "utf8")).version}`;
    } catch {
      // not there; one folder up
    }
  }
  return name;
}

function option(words, name) {
  return words.some((word) => word === name || word.startsWith(`${name}=`));
}

/** Our words at the end of the options: those that follow would be taken for values of ours. */
function append(argv, words) {
  const end = argv.indexOf("--", 2);
  argv.splice(end < 0 ? argv.length : end, 0, ...words);
}

const ADD = {
  jest(argv) {
    const own = option(argv, "--reporters") ? [] : ["--reporters=default"];
    append(argv, [...own, `--reporters=${path.join(__dirname, "proctor_jest.cjs")}`]);
  },
  vitest(argv) {
    const own = option(argv, "--reporter") ? [] : ["--reporter=default"];
    append(argv, [...own, `--reporter=${path.join(__dirname, "proctor_vitest.mjs")}`]);
  },
  mocha(argv) {
    // mocha knows one reporter only: ours calls the one that was named.
    for (let at = 2; at < argv.length && argv[at] !== "--"; at++) {
      const whole = /^(?:--reporter|-R)=(.*)$/s.exec(argv[at]);
      const apart = argv[at] === "--reporter" || argv[at] === "-R";
      if (!whole && !apart) continue;
      named = whole ? whole[1] : (argv[at + 1] ?? named);
      argv.splice(at--, whole ? 1 : 2);
    }
    append(argv, ["--reporter", path.join(__dirname, "proctor_mocha.cjs")]);
  },
};

function takePost() {
  const script = path.basename(process.argv[1] ?? "");
  for (const [name, [word, pattern]] of Object.entries(PROGRAMS)) {
    if (!pattern.test(script)) continue;
    const found = asked(word);
    if (found === null) continue;
    ours[name] = { asked: found, changed: watched(process.cwd()) };
    ADD[name](process.argv);
  }
}

if (isMainThread) takePost();

module.exports = { replaced, take };
