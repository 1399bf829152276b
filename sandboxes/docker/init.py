"""The program that is PID 1 of a room where the engine shares this machine's disk.

An engine's own init runs as the room's user, who could then trace it and make it exit with any code. Ours
is a copy that this user may execute and not read: the kernel lets nobody unprivileged trace such a process.
"""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

from sandboxes import drafts
from sandboxes.docker.config import Base
from sandboxes.docker.localfiles import Bind
from sandboxes.home import home

PLACE = "/.proctor-init"
"""Where a room finds it."""
STATIC = ("docker-init", "tini-static", "catatonit")
"""Programs of this machine that can be PID 1 in any image, for they need no library of it."""


def with_our_init(base: Base) -> Base:
    """`base` with our init bound into it; `base` itself where this machine has none to copy."""
    for name in STATIC:
        found = shutil.which(name)
        if found is not None:
            return replace(
                base, init=PLACE, binds=(*base.binds, Bind(_copy(Path(found)), PLACE, read_only=True))
            )
    return base


def _copy(program: Path) -> Path:
    data = program.read_bytes()
    place = home() / "docker" / f"init-{hashlib.sha256(data).hexdigest()[:16]}"
    if not place.exists():
        place.parent.mkdir(exist_ok=True)
        with drafts.whole(place) as draft:
            draft.write_bytes(data)
            draft.chmod(0o711)
    return place
