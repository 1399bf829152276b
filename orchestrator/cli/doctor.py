"""proctor doctor: what this machine has, what it can enforce, and what to do about what is missing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from orchestrator.cli import options

if TYPE_CHECKING:
    from sandboxes.protocol import Capabilities

NAME = "doctor"
SUMMARY = "Tell what this machine has and lacks."
GIT_WANTED = (2, 30)


@dataclass(frozen=True)
class Finding:
    """One thing looked at."""

    name: str
    ok: bool
    seen: str
    """What is there, or what is wrong."""
    todo: str = ""
    """What to do about it; empty when nothing is to be done."""


def command(as_json: options.Json = False) -> int:
    """Look at this machine: engines, versions, limits, disk; starts nothing.

    Exits 0 when tasks can be run here, 3 when something needed is missing.

    \b
    Example:
      proctor doctor
    """
    engines = look_at_engines()
    machine = look_at_machine()
    fit = any(engine.available for engine in engines.values()) and all(f.ok for f in machine)
    if as_json:
        from orchestrator.cli.printing import json_out

        json_out(document(engines, machine, fit))
    else:
        for line in told(engines, machine, fit):
            print(line)
    return 0 if fit else 3


def look_at_engines() -> dict[str, Capabilities]:
    from orchestrator.cli.engine import survey
    from orchestrator.plugins import Registry
    from sandboxes.spec import Owner

    return survey(Registry.load().sandboxes, Owner.current("doctor"))


def look_at_machine() -> list[Finding]:
    return [_python(), _git(), _home()]


def document(engines: dict[str, Capabilities], machine: Iterable[Finding], fit: bool) -> dict[str, Any]:
    """The same as plain values."""
    return {
        "fit": fit,
        "default_sandbox": _default(engines),
        "engines": {name: asdict(engine) for name, engine in engines.items()},
        "machine": [asdict(finding) for finding in machine],
    }


def told(engines: dict[str, Capabilities], machine: Iterable[Finding], fit: bool) -> Iterable[str]:
    """The same as lines for people."""
    from orchestrator.cli import words

    default = _default(engines)
    yield "Sandboxes"
    for name, engine in engines.items():
        mark = words.mark("passed" if engine.available else "failed")
        chosen = "  (used by default)" if name == default else ""
        yield f"  {mark} {name:<8} {engine.version or engine.problem}{chosen}"
        if engine.available and engine.unenforced:
            yield f"      limits it cannot enforce here: {', '.join(engine.unenforced)}"
        for note in engine.notes:
            yield f"      {note}"
    yield "Machine"
    for finding in machine:
        yield f"  {words.mark('passed' if finding.ok else 'failed')} {finding.name:<8} {finding.seen}"
        if finding.todo:
            yield f"      {finding.todo}"
    yield ""
    yield "Tasks can be run here." if fit else "Tasks cannot be run here yet: mend what is marked above."


def _default(engines: dict[str, Capabilities]) -> str | None:
    from orchestrator.cli.engine import PREFERRED

    return next((name for name in PREFERRED if name in engines and engines[name].available), None)


def _python() -> Finding:
    import platform
    from importlib.metadata import version

    seen = (
        f"{platform.python_version()}, proctor {version('proctor')}, {platform.system()} {platform.release()}"
    )
    return Finding("python", True, seen)


def _git() -> Finding:
    import re
    import subprocess

    try:
        said = subprocess.run(
            ["git", "--version"], capture_output=True, text=True, check=True, timeout=10
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return Finding("git", False, f"does not run: {error}", "install git (Debian: apt-get install git)")
    found = re.search(r"(\d+)\.(\d+)[\d.]*", said)
    if found is None or (int(found[1]), int(found[2])) < GIT_WANTED:
        wanted = ".".join(map(str, GIT_WANTED))
        return Finding("git", False, said.strip(), f"install git {wanted} or later")
    return Finding("git", True, found[0])


def _home() -> Finding:
    import os
    import shutil

    from orchestrator.cli import words

    try:
        from sandboxes.home import home
        from sandboxes.scratch import host_full

        folder = home()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Finding(
            "home", False, f"{error.filename}: {error.strerror}", "set PROCTOR_HOME to a folder you may write"
        )
    if not os.access(folder, os.W_OK):
        return Finding(
            "home", False, f"{folder} cannot be written", "set PROCTOR_HOME to a folder you may write"
        )
    if host_full(folder):
        seen = f"{folder} has only {words.size(free)} free, and no room can be opened"
        return Finding("home", False, seen, "free some space, or set PROCTOR_HOME to a larger disk")
    todo = "little space is left: set PROCTOR_HOME to a larger disk" if free < 2 << 30 else ""
    return Finding("home", True, f"{folder}, {words.size(free)} free", todo)
