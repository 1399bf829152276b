"""Where the links of a page lead: within one file, or to the viewer's addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote, urlencode


@dataclass(frozen=True)
class Filter:
    """What the list of trials is narrowed to; empty takes every one."""

    status: str = ""
    agent: str = ""
    q: str = ""
    """Occurs in the task's id or in the reason."""
    page: int = 1


class Links(Protocol):
    """What templates ask for."""

    @property
    def run(self) -> str: ...
    @property
    def action(self) -> str: ...
    def trial(self, trial: str) -> str: ...
    def filter(self, *, status: str = "", agent: str = "", q: str = "", page: int = 1) -> str: ...


def query(**fields: str | int) -> str:
    """ "?a=b" of the fields that say something; empty when none does."""
    told = {name: value for name, value in fields.items() if value and (name, value) != ("page", 1)}
    return f"?{urlencode(told)}" if told else ""


@dataclass(frozen=True)
class InFile:
    """Within the report: a script of ours reads them."""

    run: str = "#"
    action: str = ""

    def trial(self, trial: str) -> str:
        return f"#trial/{quote(trial, safe='')}"

    def filter(self, *, status: str = "", agent: str = "", q: str = "", page: int = 1) -> str:
        return "#trials" + query(status=status, agent=agent, q=q, page=page)


@dataclass(frozen=True)
class InViewer:
    """Addresses of one run in the viewer."""

    run_id: str

    @property
    def run(self) -> str:
        return f"/runs/{quote(self.run_id, safe='')}"

    @property
    def action(self) -> str:
        return f"{self.run}#trials"

    def trial(self, trial: str, attempt: int | None = None) -> str:
        return f"{self.run}/trials/{quote(trial, safe='')}" + query(attempt=attempt or 0)

    def file(self, trial: str, name: str, attempt: int) -> str:
        place = f"{self.run}/trials/{quote(trial, safe='')}/files/{quote(name, safe='')}"
        return place + query(attempt=attempt)

    def filter(self, *, status: str = "", agent: str = "", q: str = "", page: int = 1) -> str:
        return self.run + query(status=status, agent=agent, q=q, page=page) + "#trials"
