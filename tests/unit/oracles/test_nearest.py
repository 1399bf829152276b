"""A listed test that is missing: which of the reported ids is named as the nearest (B061)."""

from __future__ import annotations

import pytest

from orchestrator.checks.transitions import nearest

HERE = "src/a.test.js > parser > "


@pytest.mark.parametrize(
    ("wanted", "there", "near"),
    [
        (HERE + "x (length > 100)", [HERE + "x (length > 100) "], HERE + "x (length > 100) "),
        (HERE + "reads a line (5 ms)", [HERE + "reads a line", HERE + "reads"], HERE + "reads a line"),
        (
            HERE + "says hello",
            ["lib/a.test.js > parser > says 'hello'"],
            "lib/a.test.js > parser > says 'hello'",
        ),
        (HERE + "one", [HERE + "something else entirely"], None),
        ("t/test_m.py::test_a[x]", ["test_m.py::test_a[x]"], "test_m.py::test_a[x]"),
        ("t/test_m.py::test_a", ["t/test_n.py::test_a"], None),
        ("p::TestA/with spaces", ["p::TestA/with_spaces"], "p::TestA/with_spaces"),
        ("demo src/lib.rs > tests::adds", ["demo src/lib.rs > tests::add"], "demo src/lib.rs > tests::add"),
    ],
)
def test_the_nearest_id_is_named_where_one_is_near(wanted: str, there: list[str], near: str | None) -> None:
    assert nearest(wanted, there) == near
