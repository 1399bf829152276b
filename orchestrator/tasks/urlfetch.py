"""Run by any Python: fetch one file by its address.

Usage: python -I urlfetch.py URL FILE. Prints the status of the answer (200, 404, ...), or one sentence when
there was none.
"""

from __future__ import annotations

import sys
import urllib.error
import urllib.request

PATIENCE = 600.0
"""Seconds without an answer."""


def main(url: str, into: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer, open(into, "wb") as file:  # noqa: PTH123
            while chunk := answer.read(1 << 20):
                file.write(chunk)
        return "200"
    except urllib.error.HTTPError as error:
        return str(error.code)
    except OSError as error:
        return str(error)


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
