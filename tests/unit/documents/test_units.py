"""Sizes and times."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from orchestrator import units
from orchestrator.loading import benchmark, located, words
from orchestrator.units import format_size, format_time, parse_size, parse_time


@pytest.mark.parametrize("module", [units, located, words, benchmark], ids=lambda m: m.__name__)
def test_the_examples_in_the_docstrings_are_true(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("written", "size"),
    [("1", 1), ("1b", 1), ("1k", 1024), ("1KB", 1024), ("2 MiB", 2 << 20), ("0.5G", 1 << 29), (7, 7)],
)
def test_sizes_are_bytes_in_units_of_1024(written: str | int, size: int) -> None:
    assert parse_size(written) == size


@pytest.mark.parametrize(
    "written", ["", "M", "-1M", "0", 0, -5, True, "1e3", "1X", "1M2", "inf", "9" * 400, None, 1.5]
)
def test_anything_else_is_no_size(written: object) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        parse_size(written)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("1s", 1), ("1.5m", 90), ("1h 30m", 5400), ("1d", 86400), ("250ms", 0.25), (3, 3), (0.5, 0.5)],
)
def test_times_are_seconds(written: str | float, seconds: float) -> None:
    assert parse_time(written) == seconds


@pytest.mark.parametrize(
    "written", ["", "5", "5 min", "0s", 0, -1, "s", "1:30", True, float("nan"), float("inf"), None]
)
def test_anything_else_is_no_time(written: object) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse_time(written)  # type: ignore[arg-type]


def test_written_sizes_and_times_read_back_as_the_same() -> None:
    for size in (1, 999, 1024, 1536 << 10, 512 << 20, 3 << 40):
        assert parse_size(format_size(size)) == size
    for seconds in (0.25, 1, 59, 60, 61, 3600, 5400):
        assert parse_time(format_time(seconds)) == seconds
