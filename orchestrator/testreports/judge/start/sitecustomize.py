"""Runs when a Python of the room starts: takes up its post, then lets the next sitecustomize do its work.

Here the work tree is not on the import path yet, and PYTHONPATH's other folders are set aside, so that the
plug-ins and all they need come from the judge and the room's own library, whatever the candidate calls its
files. Only the process that is the test runner is watched: what runs before it, or is started by it, is not.
"""

# Runs under the candidate's own Python, down to 3.6.
# mypy: ignore-errors
# ruff: noqa: PTH100, PTH119, PTH120, PTH123

import os
import sys


def _words():
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return [os.fsdecode(word) for word in file.read().split(b"\0")[1:-1]]
    except OSError:
        return []


def _runner():
    """What this process runs, by `-m` or as a script; behind `coverage run`, what that runs."""
    words = iter(_words())
    for word in words:
        if word in ("-W", "-X"):
            next(words, "")
            continue
        if word.startswith("-") and not (word.endswith("m") and not word.startswith("--")):
            continue
        name = next(words, "") if word.startswith("-") else os.path.basename(word)
        if name == "coverage":
            next(words, "")
            continue
        return name
    return ""


def _take_post():
    runner = _runner()
    if runner in ("pytest", "py.test") and "PROCTOR_PYTEST_REPORT" in os.environ:
        import proctor_pytest

        _load_what_pytest_needs()
        proctor_pytest.arm()
    elif runner == "unittest" and "PROCTOR_UNITTEST_REPORT" in os.environ:
        import proctor_unittest

        proctor_unittest.watch()


def _load_what_pytest_needs():
    """Python's own modules, before a file of the work tree can stand in for one of them."""
    from importlib import import_module

    for name in _NEEDED.split():
        try:
            import_module(name)
        except ImportError:
            pass  # another Python's


_NEEDED = """
abc argparse ast atexit bdb bisect builtins code codecs collections.abc contextlib copy dataclasses datetime
difflib enum errno fnmatch functools gc getpass glob heapq importlib.metadata importlib.util inspect io
itertools json keyword linecache locale logging marshal math numbers operator pathlib platform pprint queue
random re reprlib select shlex shutil signal stat string struct subprocess sysconfig tempfile textwrap
threading time token tokenize tomllib traceback types typing unittest unittest.mock urllib.parse uuid warnings
weakref xml.etree.ElementTree zipfile zlib
"""


def _with_our_library_only(act):
    here = os.path.dirname(os.path.abspath(__file__))
    ours = (here, os.path.dirname(here))
    others = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    whole = sys.path[:]
    sys.path[:] = [path for path in whole if path in ours or os.path.abspath(path) not in others]
    try:
        act()
    finally:
        sys.path[:] = whole


def _next():
    from importlib.machinery import PathFinder

    here = os.path.dirname(__file__)
    spec = PathFinder.find_spec("sitecustomize", [path for path in sys.path if path != here])
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(sys.modules[__name__])


_with_our_library_only(_take_post)
_next()
