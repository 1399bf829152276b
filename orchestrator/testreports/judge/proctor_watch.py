"""Notices when the code under test rewrites the test runner it runs in.

What the runner's modules and classes held when the recorder took up its post is compared, by identity, with
what they hold later: after each test and at the end. A function counts as changed, too, when its code or its
defaults were exchanged. The reader of the report asks whether the same was seen without the change.

The files of the tests are compared as well, by what the kernel knows of them: code under test may rewrite on
disk what the runner has not loaded yet.

What this cannot notice: what is put back before a test ends, attributes of single instances, and code that
goes for the recorder's own memory. Objects that equal everything are `proctor_equal`'s.
"""

# Runs under the candidate's own Python, down to 3.6.
# mypy: ignore-errors
# ruff: noqa: PTH100, PTH118, PTH120

import builtins
import os
import sys
from types import FunctionType

UNITTEST = ("", ".async_case", ".case", ".loader", ".main", ".result", ".runner", ".suite", ".util")
PYTEST = (
    *("assertion", "assertion.rewrite", "assertion.util", "main", "nodes", "outcomes", "python"),
    *("python_api", "raises", "recwarn", "reports", "runner", "skipping", "unittest"),
)
PLUGGY = ("", "._callers", "._hooks", "._manager", "._result")
NAMES = (
    *("builtins", "proctor_report", "pytest"),
    *("unittest" + part for part in UNITTEST),
    *("_pytest." + part for part in PYTEST),
    *("pluggy" + part for part in PLUGGY),
)
"""Of what is loaded already, these modules are watched, with the classes that were made in them."""

LATE = ("unittest.async_case", "unittest.mock")
"""Watched as soon as somebody imports them; what stands in them then must come from the library."""

_OFTEN_EXCHANGED = {"__import__", "breakpoint", "exit", "help", "input", "open", "print", "quit"}
"""Builtins that honest tests stand in for, and that decide no test."""
_MOST = 20
"""Changes told of one run."""


class Watch:
    """The runner as it was; `changes()` says what is different now, each thing once. `files` are what
    `test_files` found when nobody else's code had run."""

    def __init__(self, names=NAMES, files=None):
        self._told = set()
        self._files = files or {}
        self._tracing = (sys.gettrace(), sys.getprofile())
        self._modules = {name: sys.modules[name] for name in names if name in sys.modules}
        self._spaces = []
        for name, module in self._modules.items():
            self._spaces.extend(_spaces(name, module))

    def changes(self):
        found = [name for name, module in self._modules.items() if sys.modules.get(name) is not module]
        for name in LATE:
            if name in sys.modules and name not in self._modules:
                self._modules[name] = sys.modules[name]
                spaces = list(_spaces(name, sys.modules[name]))
                self._spaces.extend(spaces)
                found.extend(key for space in spaces for key in space.foreign())
        for space in self._spaces:
            found.extend(space.changes())
        if (sys.gettrace(), sys.getprofile()) != self._tracing:
            found.append("sys.settrace")
        new = [name for name in found if name not in self._told][: _MOST - len(self._told)]
        self._told.update(new)
        return new

    def file_changes(self):
        """Test files that are no longer those that were there when the run began. Nobody in a room can set
        the time of change that the kernel keeps."""
        gone = [path for path, mark in self._files.items() if _stamp(path) != mark]
        new = ["file " + os.path.relpath(path) for path in gone]
        new = [name for name in new if name not in self._told][: _MOST - len(self._told)]
        self._told.update(new)
        return new


def test_files(top="."):
    """What the kernel knows of each test file below `top`, by path."""
    found = {}
    for folder, folders, names in os.walk(os.path.abspath(top)):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _NO_TESTS]
        inside = not {"test", "tests"}.isdisjoint(folder.split("/"))
        for name in names:
            if name.endswith(".py") and (
                inside or name.startswith(("test_", "conftest")) or "_test." in name
            ):
                found[os.path.join(folder, name)] = _stamp(os.path.join(folder, name))
        if len(found) > _MOST_FILES:
            break
    return found


_NO_TESTS = {"node_modules", "__pycache__", "venv", "site-packages"}
_MOST_FILES = 20000
_stat = os.stat


def _stamp(path):
    try:
        seen = _stat(path)
    except OSError:
        return None
    return seen.st_ino, seen.st_ctime_ns, seen.st_size


def _spaces(name, module):
    """A module and the classes that were made in it."""
    yield _Space(name, module, ())
    for value in list(vars(module).values()):
        if name != "builtins" and isinstance(value, type) and value.__module__ == name:
            yield _Space(name + "." + value.__qualname__, value, value.__mro__[1:])


class _Space:
    """One module's or class's names, and what stood behind them."""

    def __init__(self, name, owner, bases):
        self._name = name
        self._owner = owner
        self._inherited = [vars(base) for base in bases] if bases else [vars(builtins)]
        self._names = frozenset(vars(owner))
        free = _OFTEN_EXCHANGED if name == "builtins" else ()
        acting = ((k, v) for k, v in vars(owner).items() if k not in free and _acts(v))
        self._marks = [(key, value, *_mark(value)) for key, value in acting]

    def changes(self):
        now = vars(self._owner)
        for key, value, function, code, defaults, named in self._marks:  # after every test: must be quick
            if now.get(key) is not value or (
                function is not None
                and (
                    function.__code__ is not code
                    or function.__defaults__ is not defaults
                    or function.__kwdefaults__ is not named
                )
            ):
                yield self._name + "." + key
        if len(now) != len(self._names) or any(key not in self._names for key in now):
            for key, value in list(now.items()):
                if key not in self._names and self._shadows(key, value):
                    yield self._name + "." + key

    def foreign(self):
        """Functions whose code lies outside of the library."""
        library = os.path.dirname(os.__file__)
        for key, _, function, code, _, _ in self._marks:
            if function is not None and not code.co_filename.startswith((library, "<")):
                yield self._name + "." + key

    def _shadows(self, key, value):
        """A new name matters where it stands before one found until now, and a property always may."""
        known = any(key in space for space in self._inherited)
        return isinstance(value, property) or (known and _acts(value))


def _acts(value):
    return callable(value) or isinstance(value, (classmethod, staticmethod, property))


def _mark(value):
    """(function, its code, its defaults, its named defaults): what can be exchanged within it."""
    function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
    if not isinstance(function, FunctionType):
        return None, None, None, None
    return function, function.__code__, function.__defaults__, function.__kwdefaults__
