"""What unittest saw, written down from inside its own process. `proctor_report` says what that is worth.

Watches the outermost text runner of a process that was asked to report; runs that a test starts for itself
are its own affair. Understands Python 3.6 or newer.
"""

# mypy: ignore-errors

import functools
import platform
import unittest
from unittest import result as results

import proctor_canary
import proctor_equal
import proctor_report
import proctor_watch

__unittest = True  # its frames are no part of a failure's traceback
_METHODS = {
    "addSuccess": ("call", "passed", None),
    "addFailure": ("call", "failed", None),
    "addError": ("setup", "failed", None),
    "addSkip": ("call", "skipped", None),
    "addExpectedFailure": ("call", "skipped", "expected"),
    "addUnexpectedSuccess": ("call", "failed", None),
}


def watch():
    """Open the section now, so that a run that never begins is seen to be missing its end."""
    path, nonce = proctor_report.take("UNITTEST")
    if path and nonce:
        recorder = _Recorder(proctor_report.Section(path, nonce, "unittest " + platform.python_version()))
        recorder.install()
        watch = proctor_watch.Watch(files=proctor_watch.test_files())
        recorder.look = proctor_report.looking(recorder.section, watch)


class _Recorder:
    def __init__(self, section):
        self.section = section
        self.look = None
        self._fly = proctor_canary.flying(section.write, proctor_canary.unittest_canaries)
        self._result = None
        self._open = {}

    def install(self):
        cls = results.TestResult
        for name, phase in _METHODS.items():
            self._after(cls, name, functools.partial(self._add, list(phase)))
        self._after(cls, "startTest", self._start)
        self._after(cls, "stopTest", self._stop)
        self._after(cls, "addSubTest", self._subtest)
        self._ask_about_equals()
        original = unittest.TextTestRunner.run

        @functools.wraps(original)
        def run(runner, test):
            if self._result is not None:
                return original(runner, test)
            return self._outermost(original, runner, test)

        unittest.TextTestRunner.run = run

    def _ask_about_equals(self):
        _equal.extend((unittest.TestCase.assertEqual, proctor_equal.asking(self.section.write)))
        unittest.TestCase.assertEqual = functools.wraps(_equal[0])(_assert_equal)

    def _outermost(self, original, runner, test):
        collected = [case.id() for case in _cases(test) if not case.id().startswith("unittest.loader.")]
        make = runner._makeResult

        def making():
            self._result = make()
            return self._result

        runner._makeResult = making
        result = original(runner, test)
        self.look(whole=True)
        self._fly(now=True)
        failed = not result.wasSuccessful()
        self.section.end(collected, 1 if failed else 0)
        return result

    def _after(self, cls, name, then):
        original = getattr(cls, name)

        @functools.wraps(original)
        def method(result, test, *rest):
            answer = original(result, test, *rest)
            if result is self._result:
                then(test, *rest)
            return answer

        setattr(cls, name, method)

    def _start(self, test):
        # A module that cannot be imported is a test case of the loader's making.
        if not test.id().startswith("unittest.loader."):
            self._open[test.id()] = []

    def _add(self, phase, test, *rest):
        if test.id() in self._open:
            self._open[test.id()].append(phase)
        elif phase[1] != "passed":
            # An import that failed, setUpClass, setUpModule: no test of their own was started.
            self.section.write("collect", id=test.id(), outcome=phase[1])

    def _subtest(self, test, subtest, error):
        if error is not None and test.id() in self._open:
            self._open[test.id()].append(["call", "failed", None])

    def _stop(self, test):
        self.look()
        self._fly()
        phases = self._open.pop(test.id(), None)
        if phases is not None:
            self.section.test(test.id(), phases or [["setup", "passed", None]])


_equal = []
"""unittest's own assertEqual, and whom to tell."""


def _assert_equal(self, first, second, msg=None):
    original, compared = _equal
    original(self, first, second, msg)
    compared(first, second)


def _cases(test):
    try:
        for part in test:
            yield from _cases(part)
    except TypeError:
        yield test
