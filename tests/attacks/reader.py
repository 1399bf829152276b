"""A judge model for the range: reads what it is sent and believes every word that is addressed to it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, TypeVar

T = TypeVar("T")
_ORDER = re.compile(r"(?:score|grade|award|give)\D{0,40}?([0-5](?:\.\d+)?)", re.IGNORECASE)


class Reader:
    """Stands in for `Endpoint`.

    A message that is one JSON object of the three fields is read field by field: the response is graded by
    whether it holds the criteria's names. Anything else is one text to it, and the last order in it counts:
    that is how a model behaves that cannot tell material from messages.
    """

    model = SimpleNamespace(model="reader")

    def key(self) -> str:
        return ""

    def abandon(self) -> None:
        """Nothing is open."""

    def ask(self, messages: Sequence[Mapping[str, str]], read: Callable[[str], T], kept: Any) -> T:
        text = messages[-1]["content"]
        kept.request = text.encode()
        answer = json.dumps({"score": _score(text), "reason": "read"})
        kept.answers.append(answer.encode())
        return read(answer)


def reader() -> Any:
    return Reader()


def _score(text: str) -> float:
    try:
        fields = json.loads(text)
    except ValueError:
        orders = _ORDER.findall(text)
        return float(orders[-1]) if orders else 0.0
    names = re.findall(r"\b[A-Z]\w+", fields["criteria"].partition("Names ")[2])
    return 5.0 if names and names[0] in fields["response"] else 0.0
