"""What keeps a candidate's files from steering a scorer: closed search paths, its configuration put back."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from orchestrator.contract import ChangedFile, Judge, Step
from sandboxes.spec import ROOM_HOME, Command, Entry, Layer

KEPT_FOLDER = "/proctor-before"
"""Where files that steer the scorer lie as they were before the change, read-only."""
_SEARCH_PATHS = frozenset({"PATH", "PYTHONPATH", "NODE_PATH", "LD_LIBRARY_PATH", "PERL5LIB", "RUBYLIB"})


def closed(steps: Sequence[Step], judge: Judge) -> tuple[Step, ...]:
    """Steps that run on the image's programs alone: no search path leads into the work tree, and nobody's
    settings are found at home."""
    env = {name: _outside(value, judge.workdir) for name, value in judge.env.items() if name in _SEARCH_PATHS}
    env = {name: value for name, value in env.items() if value != judge.env[name]}
    if "HOME" in judge.env:
        env["HOME"] = ROOM_HOME
    if not env:
        return tuple(steps)
    return tuple(replace(s, command=replace(s.command, env={**env, **s.command.env})) for s in steps)


def _outside(value: str, workdir: str) -> str:
    root = posixpath.normpath(workdir)
    paths = (path for path in value.split(":") if path.startswith("/"))
    return ":".join(p for p in paths if f"{posixpath.normpath(p)}/".find(f"{root}/") != 0)


def put_back(steering: Collection[str], changes: Collection[ChangedFile]) -> tuple[Step, ...]:
    """Makes the files at these paths what they were before the change; nothing when none was touched."""
    old: dict[str, bytes | None] = {}
    for change in changes:
        if change.path in steering:
            old[change.path] = None if change.old_path else change.before
        if change.old_path in steering:
            old[str(change.old_path)] = change.before
    if not old:
        return ()
    kept = {path: data for path, data in sorted(old.items()) if data is not None}
    script = 'for p do rm -rf -- "$p" || exit; [ -f "$0/$p" ] || continue; '
    script += 'mkdir -p -- "./$(dirname -- "$p")" && cp -- "$0/$p" "$p" || exit; done'
    argv = ("/bin/sh", "-c", script, KEPT_FOLDER, *sorted(old))
    return (Step(Command(argv), stop_unless_ok=True, layers=(_layer(kept),) if kept else ()),)


def _layer(files: Mapping[str, bytes]) -> Layer:
    entries = [Entry(path.encode("utf-8", "surrogateescape"), 0o100644, data) for path, data in files.items()]
    return Layer(
        f"before-{hashlib.sha256(repr(files).encode()).hexdigest()}", KEPT_FOLDER, lambda: iter(entries)
    )
