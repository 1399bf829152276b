"""Findings matched by what they are."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.analyzers.delta import LineMap, compare, kept_lines, squeezed
from orchestrator.analyzers.measurement import Finding
from orchestrator.analyzers.phpcs import read
from orchestrator.analyzers.reports import Raw


def case_17(data: Path) -> tuple[Any, Any, dict[str, str]]:
    folder = data / "phpcs_drift"
    context = json.loads((folder / "context.json").read_text())
    before = read(Raw((folder / "before.json").read_bytes(), 2, "3.7.1", root=context["before_root"]))
    after = read(Raw((folder / "after.json").read_bytes(), 2, "3.7.1", root=context["after_root"]))
    return before.findings, after.findings, context["renames"]


def test_drifted_lines_a_renamed_file_and_a_swap_come_out_right(data: Path) -> None:
    before, after, renames = case_17(data)

    delta = compare(before, after, renames=renames)

    assert [f.rule for f in delta.fixed] == ["S.Doc"]
    assert [(f.rule, f.path) for f in delta.new] == [("S.Indent", "src/New.php")]
    assert len(delta.unchanged) == 3
    assert len(delta.moved) == 3
    assert [(b.severity, a.severity) for b, a in delta.unchanged if b.rule == "S.Len"] == [
        ("warning", "error")
    ]


def test_without_the_rename_everything_of_the_old_file_is_gone(data: Path) -> None:
    before, after, _ = case_17(data)

    delta = compare(before, after, left={"src/Old.php"})

    assert (len(delta.gone), len(delta.fixed), len(delta.new)) == (3, 0, 3)


def test_ten_blank_lines_on_top_change_nothing() -> None:
    old = [Finding("R", "a.php", n, content="x;") for n in (1, 2, 3)]
    new = [Finding("R", "a.php", n + 10, content="x;") for n in (1, 2, 3)]

    delta = compare(old, new)

    assert (delta.fixed, delta.new, len(delta.moved)) == ((), (), 3)


def test_among_equal_findings_the_new_one_is_named_by_the_files_diff() -> None:
    old_text = b"".join(b"x;\n" if n in (10, 20, 30) else b"line %d\n" % n for n in range(1, 31))
    lines = old_text.splitlines(keepends=True)
    new_text = b"".join([*lines[:14], b"x;\n", *lines[14:]])
    old = [Finding("R", "a.php", n, content="x;") for n in (10, 20, 30)]
    new = [Finding("R", "a.php", n, content="x;") for n in (10, 15, 21, 31)]

    delta = compare(old, new, line_map=LineMap({"a.php": (old_text, new_text)}))

    assert [f.line for f in delta.new] == [15]
    assert delta.fixed == ()


def test_equal_messages_never_match_across_files() -> None:
    delta = compare([Finding("R", "a.php", 1, "m")], [Finding("R", "b.php", 1, "m")])

    assert (len(delta.fixed), len(delta.new)) == (1, 1)


def test_white_space_is_no_part_of_a_line() -> None:
    assert squeezed(b"\tif ( $a )  {\r\n") == squeezed(b"if ($a) {")


FINDINGS = st.lists(
    st.builds(
        Finding,
        rule=st.sampled_from("RS"),
        path=st.sampled_from(["a.php", "b.php", "c.php"]),
        line=st.integers(0, 9),
        message=st.sampled_from("mn"),
        content=st.none() | st.sampled_from("xy"),
        key=st.sampled_from(["", "k"]),
    ),
    max_size=30,
)


@given(
    FINDINGS,
    FINDINGS,
    st.dictionaries(st.sampled_from(["a.php", "b.php"]), st.sampled_from(["c.php", "d.php"])),
    st.sets(st.sampled_from(["a.php", "c.php"])),
    st.none() | st.binary(max_size=20),
    st.sets(st.integers(0, 9)),
)
def test_the_books_always_balance(
    before: list[Finding],
    after: list[Finding],
    renames: dict[str, str],
    left: set[str],
    text: bytes | None,
    veiled: set[int],
) -> None:
    lines = None if text is None else LineMap({"a.php": (text, text[::-1])})

    delta = compare(
        before, after, renames=renames, left=left, line_map=lines, hidden=lambda f: f.line in veiled
    )

    lost = [*delta.fixed, *delta.gone, *delta.suppressed]
    assert len(before) - len(lost) + len(delta.new) == len(after)
    assert sorted([*lost, *(b for b, _ in delta.unchanged)], key=repr) == sorted(before, key=repr)
    assert sorted([*delta.new, *(a for _, a in delta.unchanged)], key=repr) == sorted(after, key=repr)


@given(FINDINGS)
def test_a_run_against_itself_is_all_unchanged(findings: list[Finding]) -> None:
    delta = compare(findings, findings)

    assert (delta.fixed, delta.new, delta.gone) == ((), (), ())
    assert delta.moved == ()


def test_old_fixed_and_new_make_the_new_total_where_nothing_leaves(data: Path) -> None:
    before, after, _ = case_17(data)

    delta = compare(before, after)

    assert len(before) - len(delta.fixed) + len(delta.new) == len(after)


def test_a_hundred_thousand_findings_are_matched_in_seconds() -> None:
    chance = random.Random(7)

    def run() -> list[Finding]:
        numbers = ((n % 700, chance.randrange(60), chance.randrange(400)) for n in range(100_000))
        return [Finding(f"R{r}", f"src/{f}.php", c, "m", content=f"line {c}") for f, r, c in numbers]

    before, after = run(), run()
    began = time.process_time()

    delta = compare(before, after, line_map=LineMap({}))

    assert time.process_time() - began < 4  # 2 s on an idle machine
    assert len(before) - len(delta.fixed) + len(delta.new) == len(after)


def test_a_rewritten_line_of_which_the_tool_says_the_same_is_neither_fixed_nor_new() -> None:
    lines = LineMap({"a.php": (b"a\nput($x, $y)\nb\n", b"new\na\nput($x)\nb\n")})
    old = [Finding("R", "a.php", 2, content="put($x,$y)", key="put has a flag")]

    same = compare(old, [Finding("R", "a.php", 3, content="put($x)", key="put has a flag")], line_map=lines)
    elsewhere = compare(old, [Finding("R", "a.php", 1, content="new", key="put has a flag")], line_map=lines)
    nameless = compare(
        [Finding("R", "a.php", 2, content="put($x,$y)")],
        [Finding("R", "a.php", 3, content="put($x)")],
        line_map=lines,
    )

    assert (len(same.unchanged), same.new) == (1, ())
    assert (len(elsewhere.new), len(elsewhere.fixed)) == (1, 1)
    assert (len(nameless.new), len(nameless.fixed)) == (1, 1)


def test_lines_that_stayed_are_found_in_files_of_one_repeated_line() -> None:
    old = b"}\n" * 3000
    began = time.process_time()

    kept = kept_lines(old, b"x;\n" + old)

    assert kept[1] == 2
    assert time.process_time() - began < 2
