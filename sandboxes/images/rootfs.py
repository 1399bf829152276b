"""A root file system somebody unpacked already."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from sandboxes.errors import ImageUnavailable
from sandboxes.images import RootFs
from sandboxes.images.identity import identity


def rootfs_image(ref: str) -> RootFs:
    """The folder `ref` as an image; its digest follows names, sizes and times of everything in it.

    Raises ImageUnavailable when it is not there or has no /bin/sh.
    """
    folder = Path(ref).expanduser().absolute()
    if not folder.is_dir():
        raise ImageUnavailable(f"{ref}: there is no such folder")
    if not os.path.lexists(folder / "bin/sh") and not (folder / "bin").is_symlink():
        raise ImageUnavailable(f"{ref}: no root file system, for it has no /bin/sh")
    return RootFs(f"rootfs:{_fingerprint(folder)}", (identity(folder), folder))


def _fingerprint(folder: Path) -> str:
    seen = hashlib.sha256()
    for top, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            found = os.lstat(os.path.join(top, name))  # noqa: PTH118 (a Path for each file doubles the time)
            line = f"{top}/{name} {found.st_mode} {found.st_size} {found.st_mtime_ns}\n"
            seen.update(line.encode(errors="surrogateescape"))
    return seen.hexdigest()
