// One run of a JavaScript test runner, as JSON lines that nobody without the nonce can make up afterwards.
// The format, what it proves and what it cannot is said in proctor_report.py.

"use strict";

const crypto = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");
const process = require("node:process");

/** The path and nonce of `runner`, which the environment no longer holds afterwards; null when nobody asked. */
function asked(runner) {
  const names = [`PROCTOR_${runner}_REPORT`, `PROCTOR_${runner}_NONCE`];
  const [file, word] = names.map((name) => process.env[name]);
  for (const name of names) delete process.env[name];
  const nonce = word?.startsWith("@") ? claimed(word.slice(1)) : word;
  return file && nonce ? { file, nonce } : null;
}

/** The key in a file, which holds the next run's key afterwards: nobody can make this one out of it. */
function claimed(file) {
  const lock = `${file}.lock`;
  for (let i = 0; i < 400; i++) {
    try {
      fs.closeSync(fs.openSync(lock, "wx", 0o600));
      break;
    } catch {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
  try {
    const key = fs.readFileSync(file, "utf8");
    fs.writeFileSync(file, crypto.createHash("sha256").update(`next ${key}`).digest("hex"));
    return key;
  } catch {
    return null;
  } finally {
    fs.rmSync(lock, { force: true });
  }
}

class Section {
  #file;
  #mac;
  #run = crypto.randomBytes(8).toString("hex");
  #lines = 0;
  #finished = new Set();

  constructor({ file, nonce }, tool) {
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    const { O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW } = fs.constants;
    this.#file = fs.openSync(file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600);
    this.#mac = crypto.createHmac("sha256", nonce);
    this.write({ kind: "begin", tool });
  }

  write(facts) {
    const line = this.#put(facts);
    this.#mac.update(line);
    this.#lines += 1;
  }

  /** A test's outcome (passed, failed, skipped); `expected` says why it was expected to fail, or is null. */
  test(id, outcome, expected = null) {
    this.phases(id, [["call", outcome, expected]]);
  }

  /** A test in several phases: [setup|call|teardown, outcome, expected] each. */
  phases(id, phases) {
    this.#finished.add(id);
    this.write({ kind: "test", id, phases });
  }

  /** `collected` is every id that should have run. */
  end(collected, status) {
    const not_run = collected.filter((id) => !this.#finished.has(id));
    const counts = { ran: this.#finished.size, not_run, lines: this.#lines, exit_status: status };
    this.#put({ kind: "end", ...counts, digest: this.#mac.digest("hex") });
    fs.closeSync(this.#file);
  }

  #put(facts) {
    const line = JSON.stringify({ ...facts, run: this.#run }) + "\n";
    fs.writeFileSync(this.#file, line);
    return line;
  }
}

module.exports = { Section, asked };
