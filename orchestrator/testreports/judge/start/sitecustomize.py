"""Runs when a Python of the room starts: takes up its post, then lets the next sitecustomize do its work.

Here, before the work tree is on the import path, `unittest` and all we need come from the room's own library
whatever the candidate calls its files.
"""

# mypy: ignore-errors
# ruff: noqa: PTH120, PTH123

import os
import sys


def _runs_unittest():
    try:
        with open("/proc/self/cmdline", "rb") as words:
            return b"unittest" in words.read().split(b"\0")
    except OSError:
        return False


if "PROCTOR_UNITTEST_REPORT" in os.environ and _runs_unittest():
    import proctor_unittest

    proctor_unittest.watch()


def _next():
    from importlib.machinery import PathFinder

    here = os.path.dirname(__file__)
    spec = PathFinder.find_spec("sitecustomize", [path for path in sys.path if path != here])
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(sys.modules[__name__])


_next()
