"""Where proctor keeps what it may lose: layers, images and open rooms, all below one folder."""

from __future__ import annotations

import errno
import json
import os
import pwd
import socket
from pathlib import Path

from sandboxes.spec import Owner


def home() -> Path:
    """The folder for caches and state: $PROCTOR_HOME, else ~/.cache/proctor. Made when missing (0700).

    Raises FileNotFoundError when there is neither, and what the disk says.
    """
    folder = chosen()
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def chosen() -> Path:
    """The same folder, whether it is there or not."""
    asked = os.environ.get("PROCTOR_HOME")
    if asked:
        return Path(asked).absolute()
    own = users()
    if own is None:
        said = f"no home folder is known for user {os.getuid()}"
        raise FileNotFoundError(errno.ENOENT, said, f"~/{CACHE}")
    return (own / CACHE).absolute()


def users() -> Path | None:
    """The user's own folder: $HOME, or, where it is unset or empty, what the machine's list of users says."""
    if named := os.environ.get("HOME"):
        return Path(named)
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return None


CACHE = Path(".cache", "proctor")


def rooms(owner: Owner) -> Path:
    """The folder that holds the open rooms of one owner, made when missing.

    Called `<home>/rooms/<pid>-<start>-<run>`; a file in it says whose it is, for `owner_of`.
    """
    folder = home() / "rooms" / f"{owner.pid}-{owner.started}-{owner.run_id}"
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / _OWNER).write_text(json.dumps(owner.labels()), encoding="utf-8")
    return folder


def owner_of(folder: Path) -> Owner | None:
    """Whose rooms a folder made by `rooms` holds; None when it is not ours."""
    try:
        labels = json.loads((folder / _OWNER).read_text(encoding="utf-8"))
        return Owner.from_labels(labels) if isinstance(labels, dict) else None
    except (OSError, ValueError):
        pass  # its maker died between two lines: the name tells as much
    pid, _, rest = folder.name.partition("-")
    started, _, run_id = rest.partition("-")
    if not (pid.isdigit() and started.isdigit()):
        return None
    return Owner(run_id, int(pid), int(started), socket.gethostname())


_OWNER = "owner.json"
