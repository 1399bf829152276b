"""Comments that hide findings, found in comments only."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from orchestrator.analyzers.php import comments
from orchestrator.analyzers.source import code_lines
from orchestrator.analyzers.suppressions import added, find
from orchestrator.contract import ChangedFile


def texts(source: bytes, syntax: str = "phpcs") -> list[tuple[int, str]]:
    return [(s.line, s.text) for s in find("a.php", source, syntax)]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (b"<?php\n// phpcs:ignoreFile\n", [(2, "phpcs:ignoreFile")]),
        (b"<?php\n$a = 1; # phpcs:disable X.Y\n", [(2, "phpcs:disable")]),
        (b"<?php\n/**\n * @codingStandardsIgnoreLine\n */\n", [(3, "@codingStandardsIgnoreLine")]),
        (b"<?php echo '// phpcs:ignore'; // phpcs:ignore\n", [(1, "phpcs:ignore")]),
        (b'<?php echo "/* phpcs:disable */";\n', []),
        (b"<?php echo <<<X\n// phpcs:disable\nX;\n// phpcs:set a b\n", [(4, "phpcs:set")]),
        (b"<?php echo <<<'X'\n' // phpcs:disable\n  X;\n", []),
        (b"// phpcs:disable\n<?php $a; ?>\n// phpcs:ignore\n", []),
        (b"<?php // a ?> phpcs:ignore <?php // phpcs:ignore\n", [(1, "phpcs:ignore")]),
        (b"<?php #[Attr('phpcs:ignore')]\n", []),
        (b"<?php /* phpcs:disable", [(1, "phpcs:disable")]),
        (b"<?php echo 'it\\'s // phpcs:ignore';", []),
        (b'<?php $x = "{$a["\'"]}"; // phpcs:ignore\n$y = \'it\';', [(1, "phpcs:ignore")]),
        (b'<?php $x = "{$a["//"]} // phpcs:ignore";', []),
        (b"<?php $x = `{$a['`']}`; # phpcs:ignore", [(1, "phpcs:ignore")]),
        (b'<?php if (1) { $x = "${a}"; } // phpcs:ignore', [(1, "phpcs:ignore")]),
        (b"<?php ?> <? ' <?php // phpcs:ignore", [(1, "phpcs:ignore")]),
        (b"<?php __halt_compiler(); // phpcs:ignore", []),
    ],
)
def test_suppressions_count_in_comments_only(source: bytes, found: list[tuple[int, str]]) -> None:
    assert texts(source) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (b"import os  # noqa: F401\n", [("noqa", False)]),
        (b"x = '# noqa'\n", []),
        (b"x = f()  # type: ignore[arg-type]  # nosec\n", [("type: ignore", False), ("nosec", False)]),
        (b"# type: ignore\nx = f()\n", [("type: ignore", True)]),
        (b"# pylint: skip-file\n", [("pylint: skip-file", True)]),
        (b"x = 1  # pylint: disable=invalid-name\n", [("pylint: disable", True)]),
        (b"# pylint: disable-next=invalid-name\nx = 1\n", [("pylint: disable-next", False)]),
        (b"# ruff: noqa\n", [("ruff: noqa", True)]),
        (b"# mypy: ignore-errors\n", [("mypy: ignore-errors", True)]),
        (b"def f(:\n    pass  # noqa\n", [("noqa", False)]),
        (b'"""\n# noqa\n"""\n', []),
    ],
)
def test_python_suppressions_and_how_far_they_reach(source: bytes, found: list[tuple[str, bool]]) -> None:
    assert [(s.text, s.wide) for s in find("a.py", source, "python")] == found


@pytest.mark.parametrize(
    ("path", "source", "lines"),
    [
        ("a.php", b"<?php\n// a\n\n$a = 'x\n\ny'; /* b\n*/\n", 4),
        ("a.php", b"<?php $a = <<<X\n\n a\nX;\n", 4),
        ("a.php", b"<p>\n\n</p>\n<?php\n", 4),
        ("a.py", b"# a\n\nx = 1  # b\n", 1),
        ("a.js", b"// a\n/* b\n */ x();\n", 1),
        ("a.txt", b"a\n\nb", 2),
    ],
)
def test_lines_of_code_are_those_with_more_than_comments(path: str, source: bytes, lines: int) -> None:
    assert code_lines(path, source) == lines


def test_only_what_the_change_adds_is_named() -> None:
    old = b"<?php\n// phpcs:ignore\n$a;\n"
    new = b"<?php\n\n\n// phpcs:ignore\n$a;\n$b; // phpcs:ignore\n// phpcs:disable\n"

    found = added([ChangedFile("a.php", None, "modified", old, new)], "phpcs")

    assert len(found) == 2
    assert {s.text for s in found} == {"phpcs:ignore", "phpcs:disable"}


def test_a_deleted_file_adds_nothing() -> None:
    assert added([ChangedFile("a.php", None, "deleted", b"<?php // phpcs:ignore", None)], "phpcs") == ()


def test_the_two_ignores_of_a_real_gaming_patch_are_counted(data: Path) -> None:
    patch = (data / "phpstan_suppressions" / "model.patch").read_text().split("diff --git")[1]
    body = patch.split("@@")[2].split("\n")[1:]
    old = "<?php\n\n" + "\n".join(line[1:] for line in body if line[:1] in " -")
    new = "<?php\n\n" + "\n".join(line[1:] for line in body if line[:1] in " +")

    found = added([ChangedFile("src/A.php", None, "modified", old.encode(), new.encode())], "phpstan")

    assert [s.text for s in found] == ["@phpstan-ignore-line", "@phpstan-ignore"]


@pytest.mark.parametrize("piece", [b"'", b"/*", b"<<<A\n", b"?><?php ", b"# \n"], ids=repr)
def test_hostile_files_end_quickly(piece: bytes) -> None:
    began = time.monotonic()

    list(comments(b"<?php " + piece * 100_001))

    assert time.monotonic() - began < 5
