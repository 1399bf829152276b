// Test files of the work tree as the kernel knew them when the run began. Code under test may rewrite on disk
// what the runner has not loaded yet, and put it back; the time of change that the kernel keeps it cannot set.

"use strict";

const fs = require("node:fs");
const path = require("node:path");

const NAMES = /(?:\.(?:test|spec)|^test|[-_]test)\.[cm]?[jt]sx?$|^test-.*\.[cm]?[jt]sx?$/;
const CODE = /\.[cm]?[jt]sx?$/;
const MOST = 20000;

function stamp(file) {
  try {
    const seen = fs.statSync(file, { bigint: true });
    return `${seen.ino} ${seen.ctimeNs} ${seen.size}`;
  } catch {
    return "gone";
  }
}

function* below(folder, inside) {
  let entries = [];
  try {
    entries = fs.readdirSync(folder, { withFileTypes: true });
  } catch {
    return; // not ours to read
  }
  for (const entry of entries) {
    const place = path.join(folder, entry.name);
    if (entry.isDirectory()) {
      if (entry.name === "node_modules" || entry.name.startsWith(".")) continue;
      yield* below(place, inside || /^(?:tests?|__tests__)$/.test(entry.name));
    } else if (entry.isFile() && (NAMES.test(entry.name) || (inside && CODE.test(entry.name)))) {
      yield place;
    }
  }
}

/** A function that names the test files below `top` that are no longer what they were when this was called. */
function watched(top) {
  const known = new Map();
  for (const file of below(top, false)) {
    known.set(file, stamp(file));
    if (known.size > MOST) break;
  }
  return () => [...known].filter(([file, mark]) => stamp(file) !== mark).map(([file]) => path.relative(top, file));
}

module.exports = { watched };
