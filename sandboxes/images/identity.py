"""Who and where a room says it is: its user table and its names, the same in every room."""

from __future__ import annotations

import hashlib
from pathlib import Path

from sandboxes.drafts import draft
from sandboxes.images import building, keep, kept
from sandboxes.spec import ROOM_HOME, ROOM_UID

HOSTNAME = "room"
FOLDERS = ("dev", "etc", "home", "proc", "root", "run", "sys", "tmp", "usr", "var", "var/tmp")
_VERSION = "1"
_PASSWD = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
_GROUP = "root:x:0:\nnogroup:x:65534:\n"


def identity(rootfs: Path | None) -> Path:
    """A folder to be stacked over `rootfs` (None: over nothing) with its users, names and empty folders.

    The user `candidate` (1000) is added to the users that `rootfs` has, or replaces its owner of 1000.
    """
    files = contents(rootfs)
    key = hashlib.sha256(repr((_VERSION, sorted(files.items()))).encode()).hexdigest()[:16]
    with building(f"identity-{key}") as place:
        if not kept(place):
            with draft(place.parent) as folder:
                lay_out(folder, files)
                keep(folder, place)
    return place


def contents(rootfs: Path | None) -> dict[str, str]:
    """Paths and texts of the files that say who and where a room is."""
    candidate = f"candidate:x:{ROOM_UID}:{ROOM_UID}:candidate:{ROOM_HOME}:/bin/sh\n"
    return {
        "etc/passwd": _without(_text(rootfs, "etc/passwd") or _PASSWD, 2) + candidate,
        "etc/group": _without(_text(rootfs, "etc/group") or _GROUP, 2) + f"candidate:x:{ROOM_UID}:\n",
        "etc/hosts": f"127.0.0.1 localhost {HOSTNAME}\n::1 localhost {HOSTNAME}\n",
        "etc/hostname": HOSTNAME + "\n",
        "etc/resolv.conf": "",
    }


def lay_out(folder: Path, files: dict[str, str]) -> None:
    """Write `files` and the folders every room needs into `folder`, readable by all."""
    folder.chmod(0o755)
    for name in FOLDERS:
        (folder / name).mkdir(exist_ok=True)
        (folder / name).chmod(0o755)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o644)


def _text(rootfs: Path | None, name: str) -> str:
    if rootfs is None or (rootfs / name).is_symlink() or not (rootfs / name).is_file():
        return ""
    return (rootfs / name).read_text(encoding="utf-8", errors="surrogateescape")


def _without(table: str, column: int) -> str:
    """The table's lines, less those of our user's number or name."""
    kept = []
    for line in table.splitlines():
        fields = line.split(":")
        if len(fields) > column and fields[column] != str(ROOM_UID) and fields[0] != "candidate":
            kept.append(line + "\n")
    return "".join(kept)
