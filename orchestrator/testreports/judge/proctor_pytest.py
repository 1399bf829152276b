"""What pytest saw, written down from inside its own process. `proctor_report` says what that is worth.

Imported and armed by `start/sitecustomize.py`, then found by pytest's `-p proctor_pytest` before any
conftest. Understands pytest 6 to 9 and Python 3.6 or newer; under xdist only the controller writes.

PYTEST_DONT_REWRITE: it is imported before pytest is, and pytest would warn that it cannot rewrite it.
"""

# mypy: ignore-errors

import proctor_report

_asked = ("", "")


def arm():
    """Take path and nonce out of the environment; the first session of this process reports."""
    global _asked
    _asked = proctor_report.take("PYTEST")


def pytest_configure(config):
    """Watch the first session of this process."""
    global _asked
    (path, nonce), _asked = _asked, ("", "")
    if path and nonce and not hasattr(config, "workerinput"):
        # Not before: pytest may lie in a folder that was not on the import path yet.
        import pytest

        section = proctor_report.Section(path, nonce, "pytest " + pytest.__version__)
        config.pluginmanager.register(_recorder(pytest)(section), "proctor_recorder")


def _recorder(pytest):
    """The recorder's class, its hooks marked by this pytest."""

    class _Recorder:
        def __init__(self, section):
            self._section = section
            self._open = {}
            self._collected = []
            self._session = None

        def pytest_sessionstart(self, session):
            self._session = session

        def pytest_collectreport(self, report):
            if report.failed:
                self._section.write("collect", id=report.nodeid, outcome="failed")
            elif report.skipped:
                self._section.write("collect", id=report.nodeid, outcome="skipped")

        @pytest.hookimpl(trylast=True)
        def pytest_collection_finish(self, session):
            self._collected = [item.nodeid for item in session.items]

        @pytest.hookimpl(optionalhook=True)
        def pytest_xdist_node_collection_finished(self, node, ids):
            self._collected = self._collected or list(ids)

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_logreport(self, report):
            # xdist reports a crashed worker's test with when "???" and nothing after it.
            phases = self._open.setdefault(report.nodeid, [])
            phase = report.when if report.when in ("setup", "call", "teardown") else "crash"
            phases.append([phase, report.outcome, getattr(report, "wasxfail", None)])
            if phase in ("teardown", "crash"):
                self._section.test(report.nodeid, self._open.pop(report.nodeid))

        def pytest_internalerror(self, excrepr):
            self._section.write("trouble", what="internal error")

        def pytest_keyboard_interrupt(self, excinfo):
            self._section.write("trouble", what="interrupted")

        @pytest.hookimpl(trylast=True)
        def pytest_unconfigure(self, config):
            for nodeid in list(self._open):
                self._section.test(nodeid, self._open.pop(nodeid))
            status = getattr(self._session, "exitstatus", None)
            self._section.end(self._collected, None if status is None else int(status))

    return _Recorder
