"""Manifests: an honest edit is graded as it is, and what steers a run stays ours."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.worktree.manifests import merged, steered

OUR_TOML = b'[project]\nname = "a"\n\n[tool.pytest.ini_options]\naddopts = "-q"  # ours\n'


@pytest.mark.parametrize(
    ("path", "ours", "theirs"),
    [
        (b"package.json", b'{"scripts": {"test": "x"}}', b'{"main":"b.js","scripts":{"test":"x"}}'),
        (b"web/composer.json", b'{"require": {}}', b'{\n  "require": {"a/b": "^1"}\n}\n'),
        (b"pyproject.toml", OUR_TOML, OUR_TOML.replace(b'"a"', b'"a"\ndependencies = ["b"]')),
        (b"setup.cfg", b"[metadata]\nname = a\n", b"[metadata]\nname=b  \n[options]\nzip_safe =\n  b\n"),
        (b"go.mod", b"module a\n\ngo 1.22\n", b"module a\n\ngo 1.22\n\nrequire b.c/d v1.0.0\n"),
        (b"Cargo.toml", b'[package]\nname = "a"\n', b'[package]\nname = "a"\n[dependencies]\nb = "1"\n'),
    ],
)  # fmt: skip
def test_an_honest_edit_stays_byte_for_byte(path: bytes, ours: bytes, theirs: bytes) -> None:
    assert merged(path, ours, theirs) == theirs


def test_another_test_script_is_put_back_and_the_rest_is_kept() -> None:
    ours = b'{"scripts": {"test": "node --test"}, "name": "a"}'
    theirs = b'{"scripts": {"test": "true"}, "name": "a", "exports": "./b.js", "jest": {"bail": 1}}'

    made = merged(b"package.json", ours, theirs)

    assert made is not None
    assert json.loads(made) == {"name": "a", "exports": "./b.js", "scripts": {"test": "node --test"}}


def test_files_that_composer_loads_at_once_are_ours_and_classes_are_theirs() -> None:
    theirs = b'{"autoload": {"psr-4": {"A\\\\": "src"}, "files": ["cheat.php"]}, "scripts": {"x": "y"}}'

    made = merged(b"composer.json", b'{"autoload": {"psr-4": {"A\\\\": "lib"}}}', theirs)

    assert made is not None
    assert json.loads(made) == {"autoload": {"psr-4": {"A\\": "src"}}}


def test_tables_of_tools_are_ours_with_their_comments() -> None:
    theirs = (
        b'[project]\nname = "b"\n[tool.pytest.ini_options]\naddopts = "--co"\n[tool.x.run]\nomit = ["*"]\n'
    )

    made = merged(b"pyproject.toml", OUR_TOML, theirs)

    assert made is not None and b"# ours" in made
    assert tomllib.loads(made.decode()) == {
        "project": {"name": "b"},
        "tool": {"pytest": {"ini_options": {"addopts": "-q"}}},
    }


@pytest.mark.parametrize(
    "theirs",
    [
        b'[project]\nname = """\n[tool.pytest.ini_options]\n"""\n[tool.pytest.ini_options]\naddopts = "-x"\n',
        b'tool.pytest.ini_options.addopts = "--co"\n[project]\nname = "b"\n',
        b"[project\n",
        b"\xff\xfe",
    ],
)
def test_what_cannot_be_taken_apart_is_ours_as_a_whole(theirs: bytes) -> None:
    made = merged(b"pyproject.toml", OUR_TOML, theirs)

    assert made is not None
    assert tomllib.loads(made.decode())["tool"] == {"pytest": {"ini_options": {"addopts": "-q"}}}


@pytest.mark.parametrize(
    ("path", "theirs", "left"),
    [
        (b"go.mod", b"module a\nreplace x => ./fake\nreplace (\n y => ./fake\n)\nrequire z v1\n", b"replace"),
        (b"Cargo.toml", b'[package]\nname = "b"\n[patch.crates-io]\nserde = {path = "fake"}\n', b"patch"),
        (b"setup.cfg", b"[metadata]\nname = b\n[tool:pytest]\naddopts = --co\n", b"addopts"),
    ],
)
def test_a_manifest_that_is_new_brings_no_steering_part(path: bytes, theirs: bytes, left: bytes) -> None:
    made = merged(path, b"" if path == b"go.mod" else None, theirs)

    assert made is not None and left not in made and made != theirs


def test_what_cannot_be_read_and_is_new_goes() -> None:
    assert merged(b"package.json", None, b"{") is None


@pytest.mark.parametrize("path", [b"package.json.txt", b"src/setup.py", b"tox.ini"])
def test_other_files_are_no_manifests(path: bytes) -> None:
    assert steered(path) is None


KEYS = st.sampled_from(["scripts", "jest", "imports", "name", "exports", "type", "dependencies"])
VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=4)
STEERING = {"scripts", "jest", "imports"}


@given(ours=st.dictionaries(KEYS, VALUES), theirs=st.dictionaries(KEYS, VALUES))
def test_whatever_stands_in_it_a_manifest_steers_as_ours_and_says_what_theirs_says(
    ours: dict[str, object], theirs: dict[str, object]
) -> None:
    made = merged(b"package.json", json.dumps(ours).encode(), json.dumps(theirs).encode())

    assert made is not None
    expected = {k: v for k, v in theirs.items() if k not in STEERING}
    assert json.loads(made) == expected | {k: v for k, v in ours.items() if k in STEERING}


@given(theirs=st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_no_bytes_of_a_manifest_are_a_fault_of_ours(theirs: bytes) -> None:
    for path in (
        b"package.json",
        b"composer.json",
        b"pyproject.toml",
        b"setup.cfg",
        b"go.mod",
        b"Cargo.toml",
    ):
        merged(path, None, theirs)
