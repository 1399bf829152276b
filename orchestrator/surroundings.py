"""Where a run takes place: the machine it is on, and the git revision its benchmark is at."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 5.0
"""Seconds git may take; a run does not wait longer to learn its revision."""


def machine() -> dict[str, str]:
    """name, system, cores, and memory in bytes; what the machine does not tell is left out."""
    facts = {
        "name": platform.node(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": str(os.cpu_count() or 0),
    }
    try:
        facts["memory"] = str(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (ValueError, OSError):
        pass
    return facts


Told = Callable[[], dict[str, str]]


@contextmanager
def revision(folder: Path) -> Iterator[Told]:
    """Asks git, which works beside us; call what comes back for its answer: revision, branch and state
    (clean, changed) of the repository around `folder`, as far as `folder` goes; empty where there is none,
    where it has no commit, or where git is missing or does not answer.

    One git process, without locks, hooks or a file watcher of the repository's choosing.
    """
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(folder)]
    command += ["status", "--porcelain=v2", "--branch", "--", "."]
    env = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    quiet = subprocess.DEVNULL
    try:
        asked = subprocess.Popen(command, stdin=quiet, stdout=subprocess.PIPE, stderr=quiet, env=env)
    except OSError:
        yield dict
        return

    def told() -> dict[str, str]:
        try:
            said, _ = asked.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            return {}
        return {} if asked.returncode else parsed(said.decode("utf-8", "replace"))

    with asked:
        try:
            yield told
        finally:
            asked.kill()


def parsed(status: str) -> dict[str, str]:
    """From git's own words.

    >>> parsed("# branch.oid 1f2e\\n# branch.head main\\n1 .M N... 100644 a.py\\n")
    {'revision': '1f2e', 'branch': 'main', 'state': 'changed'}
    >>> parsed("# branch.oid (initial)\\n# branch.head main\\n")
    {}
    """
    lines = status.splitlines()
    told = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# branch."))
    oid = told.get("branch.oid", "(initial)")
    if oid == "(initial)":
        return {}
    changed = any(line and not line.startswith("#") for line in lines)
    return {
        "revision": oid,
        "branch": told.get("branch.head", ""),
        "state": "changed" if changed else "clean",
    }
