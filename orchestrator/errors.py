"""Who can mend it: every error of ours has an owner, and the owner decides the exit code.

Infrastructure errors live in `sandboxes.errors`. An agent's failure is a value, never an exception.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_AUTHOR = 2
EXIT_INFRASTRUCTURE = 3
EXIT_HARNESS = 4
EXIT_INTERRUPTED = 130


@dataclass(frozen=True, order=True)
class Problem:
    """One thing an author can mend.

    Printed as `file:line: path: what was seen; what to do`.
    """

    file: str
    line: int
    """1-based; 0 when the place is not known."""
    path: str
    """Where in the document: "checks[1].patterns[0]". Empty for the document itself."""
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        where = f"{self.path}: " if self.path else ""
        return f"{place}: {where}{self.message}" + (f"; {self.hint}" if self.hint else "")


class AuthoringError(Exception):
    """Documents that must be mended by their author. Carries every problem, not only the first."""

    exit_code = EXIT_AUTHOR

    def __init__(self, problems: Iterable[Problem] | Problem | str) -> None:
        if isinstance(problems, str):
            problems = Problem("", 0, "", problems)
        self.problems: tuple[Problem, ...] = (
            (problems,) if isinstance(problems, Problem) else tuple(sorted(problems))
        )
        super().__init__("\n".join(str(p).removeprefix(": ") for p in self.problems))


class InfrastructureError(Exception):
    """Something of the machine's outside the rooms does not answer: a database, a lock, a mailbox.

    Nobody's score; who looks after the machine mends it. One sentence, naming what and where.
    """

    exit_code = EXIT_INFRASTRUCTURE


class TaskInvalid(Exception):
    """The task itself is wrong (its before state passes, its own patch does not apply).

    Not the agent's failure: the trial ends `invalid` and is left out of the scores (C-8, C-12).
    `end` is the record's word, `evidence` what was seen.
    """

    def __init__(self, reason: str, end: str = "task_invalid", evidence: str = "") -> None:
        super().__init__(reason)
        self.end = end
        self.evidence = evidence
