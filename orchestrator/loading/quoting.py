"""Any text as a YAML scalar that reads back as exactly that text."""

from __future__ import annotations

import json
import re

_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


def quoted(text: str) -> str:
    """In double quotes; what YAML does not take as it is stands as an escape.

    >>> quoted('a "b"'), quoted("line\\x85")
    ('"a \\\\"b\\\\""', '"line\\\\u0085"')
    """
    return _UNPRINTABLE.sub(lambda m: f"\\u{ord(m[0]):04x}", json.dumps(text, ensure_ascii=False))
