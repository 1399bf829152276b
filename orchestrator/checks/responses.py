"""The response as text checks see it: valid UTF-8, or a reason why it is not (C-52)."""

from __future__ import annotations

from functools import lru_cache


class NotText(Exception):
    """What a text check should look at is not valid UTF-8, or is not there. Fails every text check, also
    those that look for absence."""


def text_of(response: str | bytes, name: str = "the response") -> str:
    """The response, or another text called `name`. Raises NotText.

    >>> text_of("naïve".encode())
    'naïve'
    """
    if isinstance(response, bytes | bytearray):
        try:
            return bytes(response).decode("utf-8")
        except UnicodeDecodeError as error:
            raise NotText(f"{name} is not valid UTF-8 (byte {error.start}: {error.reason})") from None
    if not isinstance(response, str):
        raise NotText(f"{name} is no text but {type(response).__name__}")
    if not valid(response):
        raise NotText(f"{name} is not valid UTF-8 (it holds a lone surrogate)")
    return response


@lru_cache(maxsize=4)
def valid(text: str) -> bool:
    """Could `text` be written as UTF-8? Remembered, since many checks look at one response."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


@lru_cache(maxsize=4)
def folded(text: str) -> str:
    """Full Unicode case folding (ß is ss), without any change of normalisation form (C-51)."""
    return text.casefold()


def quoted(text: str, most: int = 80) -> str:
    """An author's text for a reason: as it was written, on one line, cut when it is long.

    >>> print(quoted("a\\d+\\n"), quoted("x" * 9, most=5))
    "a\\d+\\n" "xx..."
    """
    line = text.replace("\n", "\\n").replace("\r", "\\r")
    return f'"{line}"' if len(line) <= most else f'"{line[: most - 3]}..."'
