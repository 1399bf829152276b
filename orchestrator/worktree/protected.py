"""What no change may decide: files that a grader reads to find, configure or run the tests.

Before grading they are put back as they are on our side, in the before room and in the after room alike. A
task adds to the list with `protected` and takes from it with `unprotected`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from orchestrator.worktree.globs import matcher

TESTS = (
    "/tests/**",
    "/test/**",
    "__tests__",
    "test_*.py",
    "*_test.py",
    "*.test.[jt]s",
    "*.test.[jt]sx",
    "*.test.[cm]js",
    "*.spec.[jt]s",
    "*.spec.[jt]sx",
    "*.spec.[cm]js",
    "*Test.php",
    "*_test.go",
    "*.phpt",
)
"""The tests themselves."""

PYTHON = (
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
    "setup.cfg",
    "pyproject.toml",
    ".coveragerc",
    "*.pth",
    "sitecustomize.py",
    "usercustomize.py",
    "__pycache__",
    "*.pyc",
    "*.dist-info",
    "*.egg-info",
    "/pytest.py",
    "/pytest/**",
    "/_pytest/**",
    "/pluggy/**",
    "/pluggy.py",
    "/unittest/**",
    "/unittest.py",
)
"""Runner configuration, start-up hooks, stale bytecode, plug-in metadata, and modules that would stand in for
the runner when the work tree is first on the import path."""

NODE = (
    "package.json",
    ".npmrc",
    ".mocharc*",
    "jest.config.*",
    "vitest.config.*",
    "ava.config.*",
    ".taprc",
    ".nycrc*",
    ".c8rc*",
    "node_modules",
)

PHP = (
    "phpunit*.xml*",
    "phpcs*.xml*",
    ".phpcs*.xml*",
    "phpstan*.neon*",
    "phpstan*.php",
    "psalm*.xml*",
    ".php-cs-fixer*",
    "composer.json",
    "composer.lock",
    "/vendor/**",
    "php.ini",
    ".user.ini",
)

BUILT_IN = (*TESTS, *PYTHON, *NODE, *PHP)
"""Makefiles are not in it: they are ordinary source in many projects. A task whose oracle runs one adds
it."""


def protection(
    protected: Iterable[str], unprotected: Iterable[str], ours: Iterable[bytes]
) -> Callable[[bytes], bool]:
    """Which paths are put back: the built-in list and `protected`, less `unprotected`; and always `ours`,
    the files that the task itself brings into the judge's rooms."""
    listed, free = matcher((*BUILT_IN, *protected)), matcher(unprotected)
    own = frozenset(ours)
    return lambda path: path in own or (listed(path) and not free(path))
