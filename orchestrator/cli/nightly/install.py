"""proctor nightly install: what starts the nights."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.nightly import given

NAME = "install"
SUMMARY = "Write a systemd timer, or print what cron, GitHub or GitLab need."


class Where(StrEnum):
    """Who starts the nights."""

    systemd = "systemd"
    cron = "cron"
    github = "github"
    gitlab = "gitlab"


def command(
    file: given.File = given.DEFAULT,
    where: Annotated[Where, typer.Option("--for", help="Who starts the nights.")] = Where.systemd,
    system: Annotated[
        bool, typer.Option("--system", help="systemd: for the machine, not for you alone (needs root).")
    ] = False,
    folder: Annotated[
        Path | None, typer.Option("--into", metavar="DIR", help="systemd: where the units go instead.")
    ] = None,
    show: Annotated[bool, typer.Option("--print", help="systemd: print the units, write nothing.")] = False,
) -> int:
    """Write a service and a timer for systemd, or print lines for cron, GitHub Actions or GitLab CI.

    Whatever starts it: a night that was missed is made up for, and no two nights run at once.

    \b
    Examples:
      proctor nightly install
      proctor nightly install ci/nightly.yaml --for cron
      proctor nightly install --for github > .github/workflows/nightly.yml
      sudo proctor nightly install --system
    """
    from orchestrator.history.nightly import timers
    from orchestrator.loading import load_nightly

    config = load_nightly(file)
    if where is not Where.systemd:
        print(timers.SNIPPETS[where.value](config, _command(), Path.cwd()), end="")
        return 0
    units = timers.units(config, _command(), Path.cwd())
    if show:
        print("\n".join(f"# {name}\n{text}" for name, text in units.items()), end="")
        return 0
    place = folder or (Path("/etc/systemd/system") if system else _own())
    place.mkdir(parents=True, exist_ok=True)
    for name, text in units.items():
        (place / name).write_text(text, encoding="utf-8")
        print(place / name)
    mine = "" if system else " --user"
    timer = next(name for name in units if name.endswith(".timer"))
    print(f"Start it: systemctl{mine} daemon-reload && systemctl{mine} enable --now {timer}")
    if not system:
        print("So that it runs while you are logged out: loginctl enable-linger")
    return 0


def _command() -> str:
    """How this proctor is called."""
    beside = Path(sys.executable).with_name("proctor")
    return str(beside) if beside.exists() else "proctor"


def _own() -> Path:
    import os

    from sandboxes.home import users

    return Path(os.environ.get("XDG_CONFIG_HOME") or (users() or Path("/")) / ".config") / "systemd" / "user"
