"""Text of others as HTML that can do nothing: logs, patches, names. All is escaped, here or by Jinja."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markupsafe import Markup, escape

from orchestrator import words

_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
_TAGS = {"+": "ins", "-": "del", "@": "i"}
LONGEST = 4000
"""Characters of one line that are shown; nobody reads more, and browsers choke on megabytes of it."""


@dataclass(frozen=True)
class Shown:
    """A text as far as it is shown."""

    html: Markup
    cut: str = ""
    """What was left out, for people; empty when it is whole."""


@dataclass(frozen=True)
class FileDiff:
    """One file of a patch."""

    path: str
    added: int
    removed: int
    html: Markup


def printed(data: bytes | str, most: int) -> Shown:
    """The end of a log, at most `most` characters: what went wrong stands there."""
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    cut = ""
    if len(text) > most:
        cut = f"The first {len(text) - most} characters are left out."
        text = text[len(text) - most :].partition("\n")[2] or text[-most:]
    return Shown(escape(plain(text)), cut)


def plain(text: str) -> str:
    """Without colours; what else steers a terminal, or the order of letters, is spelt out; long lines cut.

    >>> plain("\\x1b[31mred\\x1b[0m\\x07")
    'red\\\\x07'
    """
    text = words.safe(_COLOURS.sub("", text.replace("\r\n", "\n")))
    if len(text) <= LONGEST:
        return text
    return "\n".join(
        line if len(line) <= LONGEST else f"{line[:LONGEST]} […{len(line) - LONGEST} more]"
        for line in text.split("\n")
    )


def diff(patch: bytes, most: int) -> tuple[tuple[FileDiff, ...], str]:
    """A patch file by file, at most `most` characters of it; and what was left out."""
    text = patch.decode("utf-8", "replace")
    cut = f"The last {len(text) - most} characters are left out." if len(text) > most else ""
    parts = re.split(r"^(?=diff --git )", text[:most], flags=re.MULTILINE)
    return tuple(_file(part) for part in parts if part.strip()), cut


def _file(part: str) -> FileDiff:
    lines = plain(part.rstrip("\n")).split("\n")
    head = next((n for n, line in enumerate(lines) if line.startswith("@@")), len(lines))
    body = lines[head:]
    path = next((line[4:].partition("\t")[0] for line in lines[:head] if line.startswith("+++ ")), "")
    if path in ("", "/dev/null"):
        path = next((line[4:] for line in lines[:head] if line.startswith("--- ")), "") or lines[0][:200]
    html = "\n".join([*(f"<b>{escape(line)}</b>" for line in lines[:head]), *map(_coloured, body)])
    added, removed = (sum(line.startswith(sign) for line in body) for sign in "+-")
    return FileDiff(path.removeprefix("b/").removeprefix("a/"), added, removed, Markup(html))


def _coloured(line: str) -> str:
    tag = _TAGS.get(line[:1])
    return f"<{tag}>{escape(line)}</{tag}>" if tag else str(escape(line))
