"""proctor shell: a prompt inside a task's prepared room."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orchestrator.cli import options

if TYPE_CHECKING:
    from orchestrator.cli.given import Given
    from orchestrator.documents.benchmark import Task
    from sandboxes.protocol import Done, Provider, Sandbox

NAME = "shell"
SUMMARY = "Open a prompt in a task's room."
HERE = Path()
WHERE = "/tmp/.proctor-shell-cwd"
"""Each line leaves the folder it ended in here, for the next."""


def command(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task's id.")],
    benchmark: Annotated[
        Path, typer.Option("--benchmark", "-b", metavar="DIR", help="Its benchmark; by default this folder.")
    ] = HERE,
    sandbox: options.Sandbox = None,
    judge: Annotated[
        bool, typer.Option("--judge", help="The judge's room before any change, with hidden tests.")
    ] = False,
    gold: Annotated[
        bool, typer.Option("--gold", help="With --judge: the room after the task's own fix.")
    ] = False,
    allow_unlimited: options.AllowUnlimited = False,
    config: options.Config = None,
) -> int:
    """Open a prompt inside a task's prepared room, as the agent finds it.

    It is a simple prompt: each line is one command in a container of its own, as everything in a room is.
    Files and the current folder stay from line to line; variables and background processes do not, and
    full-screen programs do not work. Ctrl-D ends it and the room is gone.

    \b
    Examples:
      proctor shell csv_quotes --benchmark benchmarks/quickstart
      echo "python3 -m unittest" | proctor shell csv_quotes -b benchmarks/quickstart --judge
    """
    from orchestrator.cli import given
    from orchestrator.cli.engine import opened
    from orchestrator.errors import AuthoringError
    from orchestrator.plan import select
    from sandboxes.spec import Owner

    loaded = given.load(benchmark, (), config)
    (chosen, *_) = select(loaded.benchmark, task)
    if not chosen.has_environment:
        raise AuthoringError(f"task {chosen.id} has no environment, so there is no room to look into")
    kinds = loaded.registry.sandboxes
    with (
        opened(kinds, sandbox, Owner.current("shell"), allow_unlimited=allow_unlimited) as provider,
        _room(loaded, chosen, provider, judge=judge or gold, gold=gold) as room,
    ):
        prompt(room, chosen.workdir)
    return 0


@contextmanager
def _room(given: Given, task: Task, provider: Provider, *, judge: bool, gold: bool) -> Iterator[Sandbox]:
    """The agent's room; or the judge's, before any change or after the gold one."""
    from dataclasses import replace

    from orchestrator.errors import AuthoringError
    from orchestrator.tasks.states import graded
    from orchestrator.tools import Tools
    from orchestrator.worktree.change import Change
    from sandboxes.home import home

    tools = Tools(given.benchmark, provider, {}, (), given.rubrics.resolve, home(), given.config)
    state = tools.state(task)
    spec = tools.agents_room(state)
    if judge:
        spec = replace(spec, layers=(*state.layers, state.judge_layer))
    if gold and state.gold is None:
        raise AuthoringError(f"task {task.id} has no fix, so there is no room after it")
    with provider.provision(spec) as room:
        if gold:
            assert state.gold is not None
            after = graded(state, Change.read(state.gold))
            entries, removed = state.store.delta(after.before, after.tree)
            room.remove(removed, task.workdir)
            room.write(entries, task.workdir, owner="candidate")
        yield room


def prompt(room: Sandbox, workdir: str) -> None:
    """Read lines until the end of input, "exit" or Ctrl-D; each is one command in the room."""
    import readline  # noqa: F401  # line editing and history for input()

    cwd = workdir
    while True:
        try:
            line = input(f"{cwd} $ " if sys.stdin.isatty() else "")
        except EOFError:
            print()
            return
        if line.strip() in ("exit", "logout"):
            return
        if line.strip():
            cwd = enter(room, line, cwd)


def enter(room: Sandbox, line: str, cwd: str) -> str:
    """Run one line in `cwd` and show what it prints. Returns the folder it ended in."""
    from sandboxes.spec import Command

    script = f'cd -- {shlex.quote(cwd)} || exit; eval "$1"; code=$?; pwd > {WHERE}; exit $code'
    try:
        done = room.run(Command(("/bin/sh", "-c", script, "sh", line)), show)
    except KeyboardInterrupt:
        print()
        raise
    told = ending(done)
    if told:
        print(told, file=sys.stderr)
    left = room.read(WHERE, 1 << 16)
    return left.decode("utf-8", "surrogateescape").rstrip("\n") if left else cwd


def show(stream: Literal["stdout", "stderr"], data: bytes) -> None:
    """Pass output on as it comes."""
    out = sys.stdout if stream == "stdout" else sys.stderr
    out.flush()
    out.buffer.write(data)
    out.flush()


def ending(done: Done) -> str:
    """What a shell would not have told: an exit code that is not 0, a signal, a limit."""
    if done.ok:
        return ""
    if done.end == "exited":
        return f"[exit {done.exit_code}]"
    return f"[{done.end}]"
