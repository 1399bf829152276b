"""Writes what a test runner saw as JSON lines that nobody without the nonce can make up afterwards.

Imported by the plug-ins beside it, inside the candidate's own process. Each run in one command is a section
of the same file: a `begin` line, a line for each test, an `end` line with the section's own counts, the
runner's exit status and a keyed digest (HMAC-SHA256, key: the nonce) over every earlier line of the section.
The reader believes nothing without it, and compares it with the exit code of the process.

What this stops: a planted or edited report file, one left from another run, a run that ends early
(`os._exit`), an exit code changed after the summary, a test that is hidden behind another of its name.

A runner that was patched from inside is told by `proctor_watch`.

What it cannot stop: the candidate's code runs in this very process. Code that a test imports can walk the
heap to the recorder. The key itself is no longer to be found when that code begins: it came in a file that
the recorder has written over by then.
"""

# Runs under the candidate's own Python, down to 3.6: no annotations, no pathlib.
# mypy: ignore-errors
# ruff: noqa: PTH103, PTH108, PTH120, PTH123

import hashlib
import hmac
import json
import os
import time

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)


def take(runner):
    """(path, nonce) from the environment, which no longer holds them afterwards: this process reports, its
    children do not. Empty words when nobody asked."""
    path = os.environ.pop("PROCTOR_%s_REPORT" % runner, "")  # noqa: UP031
    nonce = os.environ.pop("PROCTOR_%s_NONCE" % runner, "")  # noqa: UP031
    return path, _claimed(nonce[1:]) if nonce.startswith("@") else nonce


def _claimed(path):
    """The key in a file, which holds the next run's key afterwards: nobody can make this one out of it."""
    lock = path + ".lock"
    for _ in range(400):
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            break
        except FileExistsError:
            time.sleep(0.005)
    try:
        with open(path, "r+") as file:
            key = file.read()
            file.seek(0)
            file.write(hashlib.sha256(b"next " + key.encode()).hexdigest())
        return key
    except OSError:
        return ""
    finally:
        os.unlink(lock)


def looking(section, watch):
    """A function that writes down what changed since it was last called. It holds on to the methods it needs:
    who replaces them in their class is told, and silences nobody."""
    write, changes, file_changes = section.write, watch.changes, watch.file_changes

    def look(whole=False):
        for name in (*changes(), *(file_changes() if whole else ())):
            write("changed", what=name)

    return look


class Section:
    """One run of a test runner."""

    def __init__(self, path, nonce, tool):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        self._file = os.open(path, _FLAGS, 0o600)
        self._mac = hmac.new(nonce.encode(), digestmod=hashlib.sha256)
        self._run = os.urandom(8).hex()
        self._pid = os.getpid()
        self._lines = 0
        self.finished = set()
        self.write("begin", tool=tool)

    def write(self, kind, **facts):
        """One line. A forked child that runs on in the runner's code must not write for its parent."""
        if os.getpid() != self._pid:
            return
        line = json.dumps(dict(facts, run=self._run, kind=kind), ensure_ascii=True).encode() + b"\n"
        self._mac.update(line)
        self._lines += 1
        while line:
            line = line[os.write(self._file, line) :]

    def test(self, test_id, phases):
        """A test's phases: [setup|call|teardown|crash, outcome, why it was expected to fail or None]."""
        self.finished.add(test_id)
        self.write("test", id=test_id, phases=phases)

    def end(self, collected, exit_status):
        """`collected` is every id that should have run."""
        self.write(
            "end",
            ran=len(self.finished),
            not_run=[test_id for test_id in collected if test_id not in self.finished],
            lines=self._lines,
            exit_status=exit_status,
            digest=self._mac.hexdigest(),
        )
        if os.getpid() == self._pid:
            os.close(self._file)
