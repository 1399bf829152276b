"""What no change may decide: files that a grader reads to find, configure or run the tests.

Before grading they are put back as they are on our side, in the before room and in the after room alike. A
task adds to the list with `protected` and takes from it with `unprotected`. Manifests, which say honest
things as well, keep what the change says but for the parts that steer a run: see `manifests`.
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
    "noxfile.py",
    ".coveragerc",
    "*.pth",
    "sitecustomize.py",
    "usercustomize.py",
    "__pycache__",
    "*.pyc",
    "*.dist-info",
    "*.egg-info",
)
"""Runner configuration, start-up hooks, stale bytecode and plug-in metadata."""

NODE = (
    ".npmrc",
    ".yarnrc*",
    ".mocharc*",
    "jest.config.*",
    "jest.setup.*",
    "vitest.config.*",
    "vitest.workspace.*",
    "vite.config.*",
    "babel.config.*",
    ".babelrc*",
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
    "phpmd*.xml*",
    ".php-cs-fixer*",
    "rector.php",
    "composer.lock",
    "/vendor/autoload.php",
    "/vendor/composer/**",
    "/vendor/bin/**",
    "/vendor/phpunit/**",
    "php.ini",
    ".user.ini",
)

COMPILED = (
    "go.work",
    "go.work.sum",
    ".cargo",
    "rust-toolchain*",
    "/.config/nextest.toml",
)
"""Go and Rust: what replaces modules, runners or the compiler."""

ANALYZERS = (
    "ruff.toml",
    ".ruff.toml",
    "mypy.ini",
    ".mypy.ini",
    ".pylintrc",
    "pylintrc",
    ".flake8",
    ".bandit",
    ".eslintrc*",
    ".eslintignore",
    "eslint.config.*",
)

SHADOWS = (
    "pytest", "_pytest", "pluggy", "unittest", "iniconfig", "packaging", "pygments", "exceptiongroup",
    "tomli", "colorama", "xdist", "pytest_cov", "coverage", "hypothesis",
)  # fmt: skip
"""Modules a Python test runner is made of. A new one at the top of the work tree would stand in for it where
the work tree comes first on the import path; one that the task's own state has is the project itself."""

BUILT_IN = (*TESTS, *PYTHON, *NODE, *PHP, *COMPILED, *ANALYZERS)
"""Makefiles are not in it: they are ordinary source in many projects. A task whose oracle runs one adds
it."""


def protection(
    protected: Iterable[str],
    unprotected: Iterable[str],
    ours: Iterable[bytes],
    there: Iterable[bytes] = (),
) -> Callable[[bytes], bool]:
    """Which paths are put back: the built-in list and `protected`, less `unprotected`; and always `ours`,
    the files that the task itself brings into the judge's rooms.

    `there` are the names at the top of the task's own state: a project that is a test runner's part may
    change it, where nobody else may bring one.
    """
    known = {name.removesuffix(b".py") for name in there}
    planted = (f"/{n}" for name in SHADOWS if name.encode() not in known for n in (name, f"{name}.py"))
    listed, free = matcher((*BUILT_IN, *planted, *protected)), matcher(unprotected)
    own = frozenset(ours)
    return lambda path: path in own or (listed(path) and not free(path))
