"""What a check executor is, and what it is given. Plug-ins implement `CheckExecutor`.

A text check looks at the response; an oracle asks the `Judge` for fresh rooms. The combiner cannot tell
them apart (rule 6).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from orchestrator.outcomes import CheckOutcome
from sandboxes.protocol import Done
from sandboxes.spec import Command, Layer

Check = Mapping[str, Any]
"""One item of a rubric's `checks`, as loaded: validated by the schema, but executors must not rely on
that (C-50)."""


@dataclass(frozen=True)
class Key:
    """A secret for one step's command."""

    path: str
    """Absolute, in the room."""
    word: str = field(repr=False)


@dataclass(frozen=True)
class Step:
    """One command in a judge's room, and the files to fetch when it is done."""

    command: Command
    reads: tuple[str, ...] = ()
    """Absolute paths. Only regular files are read; no link is followed; see `StepResult.files`."""
    stop_unless_ok: bool = False
    """When this step does not exit 0, the steps after it are not run (a guard, rule 121)."""
    layers: tuple[Layer, ...] = ()
    """Read-only files of the check's own (a report plug-in, a trusted ruleset) that the room must hold."""
    keys: Mapping[str, Key] = field(default_factory=dict)
    """Environment variable -> a secret. It lies in a file that its first reader takes away, and the variable
    holds "@" and the file's path: what a process was started with can be read by all that run beside it."""


@dataclass(frozen=True)
class StepResult:
    """What one step of a judge's room came to: how its command ended, and the files it was asked for."""

    done: Done
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    """What `Step.reads` named: the bytes, or None when there is no regular file of that name."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """Why a file that is there was not read ("larger than 67108864 bytes"), by path."""


@dataclass(frozen=True)
class ChangedFile:
    """One file that the change touches. `before`/`after` are git blobs; None when absent on that side."""

    path: str
    old_path: str | None
    """Set for a rename."""
    status: Literal["added", "deleted", "modified", "renamed", "mode"]
    before: bytes | None = field(repr=False, default=None)
    after: bytes | None = field(repr=False, default=None)


class Judge(Protocol):
    """Opens fresh rooms for one trial's oracles (C-7). Each call is a room of its own.

    `before` is source + setup; `after` is the same + the captured change. Both get the task's tests,
    hidden and protected files last, from our side.
    Raises sandboxes.errors.SandboxError (infrastructure) and orchestrator.errors.TaskInvalid.
    """

    setup: str
    """The task's setup mode: none, revert_fix or apply_patch (C-15)."""
    expected: Mapping[str, Any]
    """The task's `expected` block (fail_to_pass, pass_to_pass, skip_ok, ...)."""
    touched_protected: tuple[str, ...]
    """Protected paths the change touched; they were put back before grading."""

    @property
    def env(self) -> Mapping[str, str]: ...

    @property
    def workdir(self) -> str: ...

    def before(self, *steps: Step, profile: str | None = None) -> tuple[StepResult, ...]:
        """Run steps on the before state. Cached by content digest: equal questions are asked once.
        `profile` is the check's `sandbox` word; None or "ddev" mean the task's own environment (C-5)."""
        ...

    def after(self, *steps: Step, profile: str | None = None) -> tuple[StepResult, ...]:
        """Run steps on the after state, always anew."""
        ...

    def apart(self, *steps: Step, profile: str | None = None) -> tuple[StepResult, ...]:
        """Run steps in a room of the task's image and dependencies with an empty workdir, always anew: for
        what stands in the response itself. No state of the task is looked at."""
        ...

    def changed(self) -> tuple[ChangedFile, ...]:
        """What the graded change touches, protected paths already put back."""
        ...

    def patch(self) -> bytes:
        """The graded change as a patch for reading: every file as text (a NUL byte hides nothing), renames
        found. Empty when nothing was changed."""
        ...

    def file(self, path: str) -> bytes | None:
        """A regular file of the graded state, by its path below the workdir; None when there is none (a
        folder, a link). Read from the stored state: no room is opened."""
        ...


@dataclass(frozen=True)
class Context(Mapping[str, Any]):
    """The question row (rule 142), as a mapping, plus what a trial adds to it.

    `context["metadata"]`, `context["expected"]` work as in the source system.
    """

    row: Mapping[str, Any] = field(default_factory=dict)
    judge: Judge | None = None
    """None in a text-only evaluation: command and score_delta are non-executable then (C-3)."""
    trajectory: Any = None
    """The agent's recorded trajectory, where there is one."""
    root: Path | None = None
    """The folder of the author's documents: a check's `schema_ref` may name a file of its `schemas`."""

    def __getitem__(self, key: str) -> Any:
        return self.row[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.row)

    def __len__(self) -> int:
        return len(self.row)


@runtime_checkable
class CheckExecutor(Protocol):
    """Executes checks of some kinds (rules 49, 141, 151). Found by entry point, built once per run.

    Optional attributes:
    `needs`: frozenset of "judge" and "trajectory"; a check is non-executable when the context lacks one.
    `schemas`: {kind: JSON Schema definition}, spliced in as $defs.check_<kind> (rules 151 to 162).
    """

    def applies(self, check: Check) -> bool: ...

    def execute(self, check: Check, response: str | bytes, context: Context) -> CheckOutcome:
        """Never raises for an author's mistake: that is a failed outcome naming its cause (rule 147).
        bytes are a response that is not valid UTF-8 (C-52). Infrastructure errors travel up."""
        ...
