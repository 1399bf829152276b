"""Which of a release's files are its source, which its tests, and what of it belongs to the fix. Pure."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass

TEST_FOLDERS = frozenset({"test", "tests", "__tests__", "testing", "spec"})
TEST_NAMES = (
    "test_*.py",
    "*_test.py",
    "tests.py",
    "conftest.py",
    "*.test.*",
    "*.spec.*",
    "test.js",
    "test.mjs",
)
ASIDE = frozenset(
    {"doc", "docs", "example", "examples", "bench", "benchmark", "benchmarks", "scripts", "tools", ".github"}
)
"""Folders at the top whose files are neither."""
SOURCE = (".py", ".pyi", ".js", ".cjs", ".mjs", ".ts", ".json", ".txt", ".dat", ".csv", ".html")
NATIVE = (".c", ".h", ".cc", ".cpp", ".hpp", ".php")
"""What is source, too, where nothing has to be built first: in Debian's packages."""
PACKAGING = frozenset({"setup.py", "package.json", "package-lock.json", "noxfile.py", "tasks.py"})


@dataclass(frozen=True)
class Split:
    """What a draft is made of. Paths are relative, with slashes."""

    source: tuple[str, ...]
    """Changed files that are source."""
    changed_tests: tuple[str, ...]
    tests: tuple[str, ...]
    """Every test file of the mended state, changed or not."""
    swap: tuple[str, ...]
    """The smallest folders or modules at the top that hold all of `source`."""
    keep: tuple[str, ...]
    """Globs of tests below `swap`, which stay as they are."""


def split(files: Iterable[str], changed: Iterable[str], more: tuple[str, ...] = ()) -> Split:
    """Sort the mended state's `files` and the `changed` paths. Names ending in one of `more` are source, too.

    >>> found = split(["a/__init__.py", "a/tests/test_b.py"], ["a/__init__.py", "CHANGES.md"])
    >>> found.swap, found.keep
    (('a',), ('/a/tests/**',))
    """
    every, differing = tuple(files), tuple(changed)
    source = tuple(path for path in differing if is_source(path, more))
    packages = {p.rpartition("/")[0] for p in every if p.endswith("/__init__.py")} & set(map(prefix, source))
    if packages:  # a folder that is no package is no part of what others import
        source = tuple(p for p in source if prefix(p) in packages or "/" not in p.removeprefix("src/"))
    swap = tuple(sorted({prefix(path) for path in source}))
    tests = tuple(path for path in every if is_test(path))
    kept = {_keeping(path) for path in tests if any(_below(path, top) for top in swap)}
    changed_tests = tuple(path for path in differing if is_test(path) and path in set(tests))
    return Split(source, changed_tests, tests, swap, tuple(sorted(kept)))


def is_test(path: str) -> bool:
    *folders, name = path.split("/")
    in_folder = any(folder in TEST_FOLDERS for folder in folders)
    return in_folder or any(fnmatch.fnmatchcase(name, pattern) for pattern in TEST_NAMES)


def is_source(path: str, more: tuple[str, ...] = ()) -> bool:
    top, _, rest = path.partition("/")
    if is_test(path) or not path.endswith((*SOURCE, *more)):
        return False
    if not rest:
        return path.endswith((".py", ".js", ".cjs", ".mjs", *more)) and path not in PACKAGING
    return top not in ASIDE and not top.endswith((".egg-info", ".dist-info")) and not top.startswith(".")


def prefix(path: str) -> str:
    """What is swapped for a source file: its package below `src`, its folder at the top, or itself.

    >>> prefix("src/a/b/c.py"), prefix("a/b.py"), prefix("six.py"), prefix("src/six.py")
    ('src/a', 'a', 'six.py', 'src/six.py')
    """
    parts = path.split("/")
    return "/".join(parts[:2] if parts[0] in ("src", "Lib") and len(parts) > 1 else parts[:1])


def folders_of_tests(tests: Iterable[str]) -> tuple[str, ...]:
    """The outermost folders of tests; a test file outside of any stands for itself."""
    return tuple(dict.fromkeys(sorted(_outermost(path) for path in tests)))


def _outermost(path: str) -> str:
    parts = path.split("/")
    for depth, part in enumerate(parts[:-1]):
        if part in TEST_FOLDERS:
            return "/".join(parts[: depth + 1])
    return path


def _keeping(path: str) -> str:
    outer = _outermost(path)
    return f"/{outer}" if outer == path else f"/{outer}/**"


def _below(path: str, top: str) -> bool:
    return path == top or path.startswith(f"{top}/")
