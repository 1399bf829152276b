"""Sizes and times as people write them: "512M", "90s", "1h30m"."""

from __future__ import annotations

import math
import re

_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(?:([kmgt])(?:i?b)?|b)?\s*\Z", re.IGNORECASE)
_TIME = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h|d)\s*")
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

SIZE_WANTED = 'a size such as "512M" or "2G" (units of 1024), or a number of bytes'
TIME_WANTED = 'a time such as "90s", "10m" or "1h30m", or a number of seconds'


def parse_size(written: str | int) -> int:
    """Bytes. K, M, G and T are powers of 1024, with or without a B or iB behind them.

    Raises ValueError, saying what is wanted, for anything else and for less than one byte.

    >>> parse_size("512M"), parse_size("1.5G"), parse_size(4096)
    (536870912, 1610612736, 4096)
    """
    if isinstance(written, int) and not isinstance(written, bool):
        size = written
    else:
        match = _SIZE.match(written) if isinstance(written, str) else None
        if match is None:
            raise ValueError(f"{written!r} is not {SIZE_WANTED}")
        exact = float(match[1]) * _FACTORS[(match[2] or "").lower()]
        size = int(exact) if math.isfinite(exact) else 1 << 63
    if not 1 <= size < 1 << 63:
        raise ValueError(f"{written!r} is not {SIZE_WANTED}")
    return size


def parse_time(written: str | float) -> float:
    """Seconds; a bare number is seconds. Raises ValueError, saying what is wanted, otherwise.

    >>> parse_time("90s"), parse_time("1h30m"), parse_time("250ms"), parse_time(2)
    (90.0, 5400.0, 0.25, 2.0)
    """
    if isinstance(written, int | float) and not isinstance(written, bool):
        seconds = float(written)
    else:
        seconds = _sum_of_parts(written) if isinstance(written, str) else math.nan
    if not (0 < seconds < 1e10):
        raise ValueError(f"{written!r} is not {TIME_WANTED}")
    return seconds


def _sum_of_parts(written: str) -> float:
    position, seconds = 0, 0.0
    while match := _TIME.match(written, position):
        seconds += float(match[1]) * _SECONDS[match[2]]
        position = match.end()
    return seconds if position == len(written) else math.nan


def format_size(size: int) -> str:
    """For people.

    >>> format_size(536870912), format_size(1000), format_size(1610612736)
    ('512M', '1000B', '1.5G')
    """
    for unit in ("T", "G", "M", "K"):
        factor = _FACTORS[unit.lower()]
        if size >= factor:
            return f"{size / factor:.4g}{unit}"
    return f"{size}B"


def format_time(seconds: float) -> str:
    """For people.

    >>> format_time(5400), format_time(90), format_time(0.25), format_time(12.345)
    ('1h30m', '1m30s', '250ms', '12.3s')
    """
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 60:
        return f"{seconds:.3g}s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m" if minutes else f"{hours}h"
    return f"{minutes}m{rest}s" if rest else f"{minutes}m"
