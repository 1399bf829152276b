"""Tests of our own, in the midst of the candidate's: one that must fail and one that must pass.

Nobody can know their names or values beforehand. A runner that was bent in a place `proctor_watch` does not
look at, so that failures come out as passes, bends these as well. They run beside the run's own result and
are in no count. What this cannot notice: what is bent for a single test alone.
"""

# Runs under the candidate's own Python, down to 3.6.
# mypy: ignore-errors

import random
import unittest

_random = random.SystemRandom()
_word = _random.getrandbits
_make = type
_ONE_IN = 8
"""How often, after the first time, a test has canaries behind it."""
_MOST = 25


def flying(write, fly):
    """A function to call after each test, and with `now` at the end; `write` is told of canaries that came
    out wrong."""
    flown = [0]

    def after(now=False):
        if not now and flown[0] and (flown[0] >= _MOST or _word(8) % _ONE_IN):
            return
        flown[0] += 1
        for what in fly():
            write("changed", what="canary: " + what)

    return after


def unittest_canaries():
    """What is wrong with two tests that unittest itself has run just now."""
    one, other = str(_word(128)), str(_word(128))
    name = "test_" + str(_word(64))

    def outcome(first, second):
        body = {name: lambda self: self.assertEqual(first, second)}
        case = _make("T" + str(_word(64)), (unittest.TestCase,), body)(name)
        result = unittest.TestResult()
        case.run(result)
        return result.testsRun, len(result.failures), result.wasSuccessful()

    if outcome(one, other) != (1, 1, False):
        yield "a test that must fail did not"
    if outcome(one, one) != (1, 0, True):
        yield "a test that must pass did not"


def pytest_canaries():
    """The same for the place where pytest learns that a test has failed."""
    try:
        from _pytest.runner import CallInfo

        from_call = CallInfo.from_call
    except (ImportError, AttributeError):
        return  # another pytest than 6 to 9
    one, other = str(_word(128)), str(_word(128))

    def outcome(first, second):
        def body():
            if first != second:
                raise AssertionError(first)

        return from_call(body, when="call").excinfo is None

    if outcome(one, other):
        yield "a test that must fail did not"
    if not outcome(one, one):
        yield "a test that must pass did not"
