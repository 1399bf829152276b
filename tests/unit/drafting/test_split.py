"""What of two releases is source and what is tests."""

from __future__ import annotations

import pytest

from orchestrator.drafting.split import folders_of_tests, is_source, is_test, split


def test_source_is_swapped_by_package_and_tests_stay() -> None:
    files = ["src/a/__init__.py", "src/a/core.py", "tests/test_core.py", "setup.py", "README.md"]

    parts = split(files, ["src/a/core.py", "tests/test_core.py", "setup.py", "PKG-INFO", "docs/conf.py"])

    assert (parts.source, parts.swap, parts.keep) == (("src/a/core.py",), ("src/a",), ())
    assert parts.changed_tests == ("tests/test_core.py",)


def test_tests_inside_a_package_are_kept_when_it_is_swapped() -> None:
    parts = split(["a/__init__.py", "a/b.py", "a/tests/test_b.py", "a/test_c.py"], ["a/b.py"])

    assert parts.swap == ("a",)
    assert parts.keep == ("/a/test_c.py", "/a/tests/**")


def test_a_folder_that_is_no_package_is_not_swapped_beside_one_that_is() -> None:
    parts = split(["a/__init__.py", "site/server.py"], ["a/__init__.py", "site/server.py"])

    assert parts.swap == ("a",)


def test_a_module_at_the_top_is_swapped_alone() -> None:
    assert split(["six.py", "test_six.py"], ["six.py", "CHANGES"]).swap == ("six.py",)


@pytest.mark.parametrize(
    ("path", "source", "test"),
    [
        ("lib/index.js", True, False),
        ("package.json", False, False),
        ("test/a.test.js", False, True),
        ("a.egg-info/top_level.txt", False, False),
        ("a/conftest.py", False, True),
        ("docs/conf.py", False, False),
        ("a/data.json", True, False),
        (".github/x.py", False, False),
    ],
)
def test_each_kind_of_path(path: str, source: bool, test: bool) -> None:
    assert (is_source(path), is_test(path)) == (source, test)


def test_outermost_test_folders_are_run() -> None:
    assert folders_of_tests(["tests/a/test_x.py", "tests/test_y.py", "test_z.py"]) == ("test_z.py", "tests")
