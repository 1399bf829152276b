"""proctor init: a commented benchmark to start from, or a task drafted from two releases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import options

if TYPE_CHECKING:
    from orchestrator.documents.validation import TaskValidation

NAME = "init"
SUMMARY = "Start a benchmark of your own."
STARTER = "starter"
ROUNDS = 2
"""How often a drafted task is run before, with gold and with no-op."""
LONG = 5.0
"""Seconds one run of the tests may take to be run that often; otherwise it is once."""


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to make; must be new or empty.")],
    drafted: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="STATES",
            help="pypi:NAME==FIXED..BROKEN, npm:NAME@FIXED..BROKEN, git:URL#GOOD..BAD or "
            "debian:NAME==VERSION[#PATCH,...].",
        ),
    ] = None,
    sandbox: options.Sandbox = None,
    quiet: options.Quiet = False,
) -> int:
    """Make a benchmark with one task that validates and runs.

    With --from the task is drafted from two releases or commits, or from a Debian source package with and
    without one of its patches: what changed is split into source and
    tests, the tests are run on both, those that turn and those that stay are listed, and limits proposed.
    Exits 2, leaving nothing behind, when no test tells the two apart.

    \b
    Examples:
      proctor init my-benchmark && proctor run my-benchmark --agent gold --agent noop
      proctor init bleach-task --from pypi:bleach==6.1.0..6.0.0
      proctor init fix-42 --from git:https://example.org/project.git#v1.1..v1.0
      proctor init twig-task --from debian:php-twig==3.5.1-1+deb12u3
    """
    if drafted is None:
        write(folder)
    else:
        draft(folder, drafted, sandbox, quiet=quiet)
    print(f"made {folder}: read {folder / 'benchmark.yaml'}, then")
    print(f"  proctor validate {folder}")
    print(f"  proctor run {folder} --agent gold --agent noop")
    return 0


def write(folder: Path) -> None:
    """Fill `folder` from the starter. Raises AuthoringError when something is there already."""
    import shutil

    from orchestrator.cli.given import shipped

    _refuse_full(folder)
    shutil.copytree(
        shipped() / STARTER, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
    )
    document = folder / "benchmark.yaml"
    text = document.read_text(encoding="utf-8")
    document.write_text(text.replace("id: my_benchmark", f"id: {identifier(folder)}", 1), encoding="utf-8")


def draft(folder: Path, drafted: str, sandbox: str | None = None, *, quiet: bool = False) -> None:
    """A benchmark in `folder` with the one task that the two states make; whole and proven, or not at all.

    Raises AuthoringError, and sandboxes.errors.SandboxError kin when the network or the rooms fail.
    """
    from orchestrator.cli.engine import opened
    from orchestrator.cli.failure import say
    from orchestrator.drafting.draft import Workshop, settled
    from orchestrator.drafting.draft import draft as made_of
    from orchestrator.drafting.wanted import parse
    from orchestrator.plugins import Registry
    from orchestrator.store import new_run_id
    from orchestrator.words import many
    from sandboxes.home import home
    from sandboxes.spec import Owner

    wanted = parse(drafted)
    _refuse_full(folder)
    tell = (lambda line: None) if quiet else say
    with _staged(folder) as stage:
        with opened(Registry.load().sandboxes, sandbox, Owner.current(new_run_id("draft"))) as provider:
            made = made_of(wanted, identifier(folder), Workshop(stage, home(), provider, tell))
        rounds = ROUNDS if made.seconds <= LONG else 1
        tell(f"running before, gold and no-op, {many(rounds, 'time')} each")
        seen = _examined(stage, sandbox, rounds)
        steady = settled(made, seen, stage)
        _refuse_unfit(seen if steady.lists == made.lists else _examined(stage, sandbox, rounds))


def _examined(stage: Path, sandbox: str | None, rounds: int) -> TaskValidation:
    """What validating the drafted task finds; its records are not kept.

    Raises KeyboardInterrupt when it was interrupted, SandboxError when the machine failed.
    """
    import tempfile

    from orchestrator.cli.examine import Wish, carry_out
    from sandboxes.errors import SandboxError

    with tempfile.TemporaryDirectory(prefix="proctor-draft-") as runs:
        slots = None if rounds > 1 else 1
        wish = Wish(stage, rounds, sandbox=sandbox, slots=slots, run=Path(runs) / "run", quiet=True)
        result, found = carry_out(wish)
    if result.summary.interrupted:
        raise KeyboardInterrupt
    (task,) = found.tasks
    if task.verdict == "unknown":
        raise SandboxError("; ".join(task.why))
    return task


def _refuse_unfit(seen: TaskValidation) -> None:
    from orchestrator.errors import AuthoringError

    if seen.verdict not in ("valid", "slow"):
        why = "; ".join(seen.why)
        raise AuthoringError(f"the drafted task is {seen.verdict}: {why}; nothing was written")


def _refuse_full(folder: Path) -> None:
    from orchestrator.errors import AuthoringError

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise AuthoringError(f"{folder}: is there already and not empty; name a new folder")


@contextmanager
def _staged(folder: Path) -> Iterator[Path]:
    """A folder beside `folder` that takes its place at the end, or is gone."""
    import shutil
    import tempfile

    whole = folder.absolute()
    whole.parent.mkdir(parents=True, exist_ok=True)
    stage = Path(tempfile.mkdtemp(prefix=f".{whole.name}.", dir=whole.parent))
    try:
        yield stage
        stage.chmod(0o755)
        stage.replace(whole)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def identifier(folder: Path) -> str:
    """A benchmark id made of the folder's name.

    >>> identifier(Path("/tmp/My Tests-2"))
    'my_tests_2'
    """
    word = re.sub(r"[^a-z0-9]+", "_", folder.resolve().name.lower()).strip("_")
    return word if word[:1].isalpha() else f"benchmark_{word}".rstrip("_")
