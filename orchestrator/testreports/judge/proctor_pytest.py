"""What pytest saw, written down from inside its own process as JSON lines.

Put first on PYTHONPATH and loaded with `-p proctor_pytest`, so that it is there before any conftest. It
stays silent unless PROCTOR_PYTEST_REPORT and PROCTOR_PYTEST_NONCE are set; both are taken out of the
environment while this file is imported, so the suite's own children never report. Understands pytest 6 to
9 and Python 3.6 or newer; under xdist only the controller writes.

Each run in one command is a section of the same file: a `begin` line, one line for each test, an `end`
line. The `end` line carries how much was collected and run, pytest's own exit status, and a keyed digest
(HMAC-SHA256, key: the nonce) over every earlier line of the section. The reader believes nothing without
it, and compares it with the exit code of the process.

What this stops: a planted or edited report file, one left from another run, a run that ends early
(`os._exit`), an exit code changed after the summary, a test that is hidden behind another of its name.

What it cannot stop: the candidate's code runs in this very process. Code that is imported by a test can
walk the heap to this recorder, replace its methods, or patch pytest so that a failed test is reported as
passed; it can also read the nonce from the environment of a parent shell in /proc. Those attacks need the
judge to ask questions whose answer the candidate does not know, which is not this file's work.
"""

# Runs under the candidate's own Python, down to 3.6: no annotations, no pathlib.
# mypy: ignore-errors
# ruff: noqa: PTH103, PTH120

import hashlib
import hmac
import json
import os

import pytest

_path = os.environ.pop("PROCTOR_PYTEST_REPORT", "")
_nonce = os.environ.pop("PROCTOR_PYTEST_NONCE", "")
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)


def pytest_configure(config):
    """Watch the first session of this process, unless it is an xdist worker."""
    global _path, _nonce
    path, nonce, _path, _nonce = _path, _nonce, "", ""
    if path and nonce and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Recorder(path, nonce), "proctor_recorder")


class _Recorder:
    def __init__(self, path, nonce):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        self._file = os.open(path, _FLAGS, 0o600)
        self._mac = hmac.new(nonce.encode(), digestmod=hashlib.sha256)
        self._run = os.urandom(8).hex()
        self._pid = os.getpid()
        self._open = {}
        self._collected = {}
        self._finished = set()
        self._lines = 0
        self._session = None
        self._write("begin", pytest=pytest.__version__)

    def _write(self, kind, **facts):
        # A forked child that runs on into pytest's own code must not write into its parent's section.
        if os.getpid() != self._pid:
            return
        line = json.dumps(dict(facts, run=self._run, kind=kind), ensure_ascii=True).encode() + b"\n"
        self._mac.update(line)
        self._lines += 1
        while line:
            line = line[os.write(self._file, line) :]

    def pytest_sessionstart(self, session):
        self._session = session

    def pytest_collectreport(self, report):
        if report.failed:
            self._write("collect", id=report.nodeid, outcome="failed")
        elif report.skipped:
            self._write("collect", id=report.nodeid, outcome="skipped")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session):
        for item in session.items:
            self._collected[item.nodeid] = self._collected.get(item.nodeid, 0) + 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node, ids):
        if not self._collected:
            for nodeid in ids:
                self._collected[nodeid] = self._collected.get(nodeid, 0) + 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report):
        # xdist reports a crashed worker's test with when "???" and nothing after it.
        phases = self._open.setdefault(report.nodeid, [])
        known = report.when in ("setup", "call", "teardown")
        phases.append([report.when if known else "crash", report.outcome, getattr(report, "wasxfail", None)])
        if report.when == "teardown" or not known:
            self._test(report.nodeid)

    def _test(self, nodeid):
        self._finished.add(nodeid)
        self._write("test", id=nodeid, phases=self._open.pop(nodeid))

    def pytest_internalerror(self, excrepr):
        self._write("trouble", what="internal error")

    def pytest_keyboard_interrupt(self, excinfo):
        self._write("trouble", what="interrupted")

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config):
        for nodeid in list(self._open):
            self._test(nodeid)
        status = getattr(self._session, "exitstatus", None)
        self._write(
            "end",
            collected=sum(self._collected.values()),
            ran=len(self._finished),
            not_run=[nodeid for nodeid in self._collected if nodeid not in self._finished],
            lines=self._lines,
            exit_status=None if status is None else int(status),
            digest=self._mac.hexdigest(),
        )
        os.close(self._file)
