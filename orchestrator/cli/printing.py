"""Where output goes: results on stdout, everything about getting there on stderr."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SHORT = 12
"""Letters of a cell that is never cut."""
PLAIN_WIDTH = 10_000
"""Lines are not folded when nobody looks at them on a screen."""


def console(*, stderr: bool = False) -> Console:
    """Rich where there is a terminal; without one plain text, no colour, no folding."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    if stream.isatty():
        return Console(stderr=stderr, highlight=False, emoji=False)
    return Console(
        stderr=stderr, highlight=False, emoji=False, no_color=True, width=PLAIN_WIDTH, soft_wrap=False
    )


def table(*columns: str, terminal: bool, folding: str = "", right: frozenset[str] = frozenset()) -> Table:
    """An empty table: drawn on a terminal, columns of text elsewhere. Only `folding` may break lines."""
    from rich import box
    from rich.table import Table

    made = Table(
        box=box.SIMPLE_HEAD if terminal else None,
        header_style="bold" if terminal else "",
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )
    for column in columns:
        made.add_column(
            column,
            no_wrap=column != folding or not terminal,
            overflow="fold" if column == folding else "ellipsis",
            justify="right" if column in right else "left",
        )
    return made


def draw(out: Console, drawn: Table) -> None:
    """Print a table; where there is no terminal, without the blanks at the ends of its lines."""
    if out.is_terminal:
        fit(out, drawn)
        out.print(drawn)
        return
    with out.capture() as captured:
        out.print(drawn)
    for line in captured.get().splitlines():
        print(line.rstrip(), file=out.file)


def fit(out: Console, drawn: Table) -> None:
    """Where a table of single lines is wider than the terminal, long names give way, not numbers."""
    from rich.measure import Measurement

    if not all(column.no_wrap for column in drawn.columns):
        return
    widths = [max(len(str(cell)) for cell in (c.header, *c.cells)) for c in drawn.columns]
    wanted = Measurement.get(out, out.options.update(max_width=PLAIN_WIDTH), drawn).maximum
    for _ in range(wanted - out.width):
        longest = widths.index(max(widths))
        if widths[longest] > SHORT:
            widths[longest] -= 1
            drawn.columns[longest].max_width = widths[longest]


def json_out(document: Any, *, indent: int | None = 2) -> None:
    """One JSON document on stdout, as UTF-8 whatever the locale says."""
    text = json.dumps(document, indent=indent, ensure_ascii=False, default=str)
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.flush()
