"""Objects that equal everything are told from those with an honest equality of their own."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest

PLACE = Path(__file__).parents[3] / "orchestrator" / "testreports" / "judge" / "proctor_equal.py"


class Always:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Cents:
    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return self.value == getattr(other, "value", other)

    __hash__ = None  # type: ignore[assignment]


class Raises:
    def __eq__(self, other: object) -> bool:
        if other == 1:
            return True
        raise ValueError("the truth of this is not clear")

    __hash__ = None  # type: ignore[assignment]


Always.__module__ = Cents.__module__ = Raises.__module__ = "app.money"


@pytest.fixture
def told() -> Callable[[Any, Any], list[str]]:
    """told(first, second) -> the names that are told of a comparison that held."""
    spec = importlib.util.spec_from_file_location("proctor_equal", PLACE)
    assert spec and spec.loader
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: list[str] = []
    compared = module.asking(lambda kind, what: found.append(what))

    def ask(first: Any, second: Any) -> list[str]:
        compared(first, second)
        return found

    return ask


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Always(), 1),
        ("x", Always()),
        ([1, Always()], [1, 2]),
        ({"a": (Always(),)}, {"a": (None,)}),
        (Always(), []),
    ],
)
def test_what_equals_everything_is_told_wherever_it_hides(told: Any, first: Any, second: Any) -> None:
    assert told(first, second) == ["equal to everything: app.money.Always"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1, 1.0),
        ([1, [2]], [1, [2]]),
        (Cents(3), 3),
        (Cents(3), Cents(3)),
        ([Cents(3)], [3]),
        (Raises(), 1),
        (mock.ANY, 1),
        ({"a": mock.ANY}, {"a": 2}),
        (pytest.approx(0.3), 0.1 + 0.2),
    ],
)
def test_honest_equality_is_left_alone(told: Any, first: Any, second: Any) -> None:
    assert told(first, second) == []


def test_helpers_of_the_tests_themselves_are_left_alone(told: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("tests.helpers")
    module.__file__ = "/w/tests/helpers.py"
    helper = type("Anything", (Always,), {"__module__": "tests.helpers"})
    module.Anything = helper  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tests.helpers", module)

    assert told(helper(), 1) == []
