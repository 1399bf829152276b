"""Where proctor keeps what it may lose: layers, images and open rooms, all below one folder."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from sandboxes.spec import Owner


def home() -> Path:
    """The folder for caches and state: $PROCTOR_HOME, else ~/.cache/proctor. Made when missing (0700)."""
    chosen = os.environ.get("PROCTOR_HOME")
    folder = Path(chosen) if chosen else Path.home() / ".cache" / "proctor"
    folder = folder.absolute()
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def rooms(owner: Owner) -> Path:
    """The folder that holds the open rooms of one owner: `<home>/rooms/<pid>-<start>-<run>`."""
    return home() / "rooms" / f"{owner.pid}-{owner.started}-{owner.run_id}"


def owner_of(folder: Path) -> Owner | None:
    """Whose rooms a folder made by `rooms` holds; None when the name is not ours."""
    pid, _, rest = folder.name.partition("-")
    started, _, run_id = rest.partition("-")
    if not (pid.isdigit() and started.isdigit()):
        return None
    return Owner(run_id, int(pid), int(started), socket.gethostname())
