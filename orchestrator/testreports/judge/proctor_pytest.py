"""What pytest saw, written down from inside its own process. `proctor_report` says what that is worth.

Imported and armed by `start/sitecustomize.py`, then found by pytest's `-p proctor_pytest` before any
conftest. Understands pytest 6 to 9 and Python 3.6 or newer; under xdist only the controller writes.

PYTEST_DONT_REWRITE: it is imported before pytest is, and pytest would warn that it cannot rewrite it.
"""

# mypy: ignore-errors

import proctor_canary
import proctor_equal
import proctor_report
import proctor_watch

_asked = ("", "")
_DECISIVE = (
    *("pytest_collection_modifyitems", "pytest_itemcollected", "pytest_pycollect_makeitem"),
    *("pytest_pyfunc_call", "pytest_runtest_call", "pytest_runtest_logreport", "pytest_runtest_makereport"),
    *("pytest_runtest_protocol", "pytest_runtestloop"),
)
"""Hooks that can turn a failed test into a passed or a missing one."""


def arm():
    """Take path and nonce out of the environment; the first session of this process reports."""
    global _asked
    _asked = proctor_report.take("PYTEST")
    _first["files"] = proctor_watch.test_files()


_first = {}
"""What was there before the project's own code: its test files, then the runner."""


def pytest_load_initial_conftests(early_config):
    """Before the project's first conftest, which may load the code under test: all of pytest is there."""
    if _asked[0] and "watch" not in _first:
        proctor_equal.watch_asserts(_compared)
        _first["watch"] = proctor_watch.Watch(files=_first.get("files"))


_told_of_equals = []


def _compared(first, second):
    for tell in _told_of_equals:
        tell(first, second)


def pytest_configure(config):
    """Watch the first session of this process."""
    global _asked
    (path, nonce), _asked = _asked, ("", "")
    # Not before: pytest may lie in a folder that was not on the import path yet.
    import pytest

    if hasattr(config, "workerinput"):
        config.pluginmanager.register(_worker(pytest)(), "proctor_worker")
    elif path and nonce:
        section = proctor_report.Section(path, nonce, "pytest " + pytest.__version__)
        config.pluginmanager.register(_recorder(pytest)(section), "proctor_recorder")


def _hooks(manager):
    """The decisive hooks that neither pytest nor we bring: "pytest_pyfunc_call of tests/conftest.py"."""
    for name in _DECISIVE:
        for impl in getattr(manager.hook, name).get_hookimpls():
            kind = impl.plugin if hasattr(impl.plugin, "__name__") else type(impl.plugin)
            home = kind.__name__ if kind is impl.plugin else kind.__module__ + "." + kind.__qualname__
            if not home.startswith(("_pytest.", "proctor_pytest", "xdist.")):
                file = getattr(kind, "__file__", None)
                yield name + " of " + (str(file) if file else home)


def _worker(pytest):
    """Watches a worker of xdist, and tells the controller what was changed there."""

    class _Worker:
        def __init__(self):
            self._changes = proctor_watch.Watch().changes
            self._found = []

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_logreport(self, report):
            if report.when == "call":
                self._found.extend(self._changes())

        @pytest.hookimpl(trylast=True)
        def pytest_sessionfinish(self, session):
            output = session.config.workeroutput
            output["proctor_changes"] = self._found + self._changes()
            output["proctor_hooks"] = list(_hooks(session.config.pluginmanager))

    return _Worker


def _recorder(pytest):
    """The recorder's class, its hooks marked by this pytest."""

    class _Recorder:
        def __init__(self, section):
            self._section = section
            self._open = {}
            self._collected = []
            self._session = None
            self._look = proctor_report.looking(section, _first.pop("watch", None) or proctor_watch.Watch())
            self._fly = proctor_canary.flying(section.write, proctor_canary.pytest_canaries)
            _told_of_equals.append(proctor_equal.asking(section.write))

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
            if report.when == "call":
                self._look()
                self._fly()
            phases = self._open.setdefault(report.nodeid, [])
            phase = report.when if report.when in ("setup", "call", "teardown") else "crash"
            phases.append([phase, report.outcome, getattr(report, "wasxfail", None)])
            if phase in ("teardown", "crash"):
                self._section.test(report.nodeid, self._open.pop(report.nodeid))

        @pytest.hookimpl(optionalhook=True)
        def pytest_testnodedown(self, node, error):
            output = getattr(node, "workeroutput", {})
            for name in output.get("proctor_changes", ()):
                self._section.write("changed", what=name)
            for name in output.get("proctor_hooks", ()):
                self._section.write("hook", what=name)

        def pytest_internalerror(self, excrepr):
            self._section.write("trouble", what="internal error")

        def pytest_keyboard_interrupt(self, excinfo):
            self._section.write("trouble", what="interrupted")

        @pytest.hookimpl(trylast=True)
        def pytest_unconfigure(self, config):
            for nodeid in list(self._open):
                self._section.test(nodeid, self._open.pop(nodeid))
            self._look(whole=True)
            self._fly(now=True)
            for name in dict.fromkeys(_hooks(config.pluginmanager)):
                self._section.write("hook", what=name)
            status = getattr(self._session, "exitstatus", None)
            self._section.end(self._collected, None if status is None else int(status))

    return _Recorder
