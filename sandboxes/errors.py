"""What can go wrong with a room that is nobody's score.

Everything here belongs to the infrastructure: it is retried where that can help and never graded
(requirements C-9, C-10). A command that failed, or ran into a limit, is not an error: it is a `Done`.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

MACHINE = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.EAGAIN)
)
"""errno of a machine that is full or broken: never the doing of who works in a room, and no bug."""


class SandboxError(Exception):
    """A room could not be made, kept or read. `end` is the word the record stores.

    `retryable` says whether a fresh attempt may help (a slow engine: yes; a missing image: no).
    """

    end = "sandbox_error"
    retryable = True


class EngineGone(SandboxError):
    """The container engine or runtime does not answer at all."""

    end = "engine_gone"


class ProvisionFailed(SandboxError):
    """The engine answered, but the room could not be started."""

    end = "provision_failed"


class RoomFull(ProvisionFailed):
    """What was to be written does not fit into the room's disk limit. Who brought it decides whose fault that
    is; a fresh room is no larger."""

    retryable = False


class SandboxLost(SandboxError):
    """The room vanished, was stopped from outside, or ended without an exit code."""

    end = "sandbox_lost"


class StreamBroken(SandboxError):
    """The output stream ended inside a frame: what came is kept, but it is not a result."""

    end = "stream_broken"


class ImageUnavailable(SandboxError):
    """The image is not there and cannot be built or pulled here."""

    end = "image_unavailable"
    retryable = False


class LimitUnenforceable(SandboxError):
    """A limit that was asked for cannot be enforced on this machine (stop before the start)."""

    end = "limit_unenforceable"
    retryable = False


class Evicted(SandboxError):
    """The room was closed by us on purpose (Ctrl-C, a trial deadline). Never retried."""

    end = "evicted"
    retryable = False


@contextmanager
def machine_trouble(what: str) -> Iterator[None]:
    """Raise this machine's own trouble inside the block (out of files, memory, disk) as ProvisionFailed.

    `what` begins the sentence: "a command could not be run". Other errors of the system pass.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in MACHINE:
            raise
        raise ProvisionFailed(f"{what}: this machine is out of something: {error}") from error
