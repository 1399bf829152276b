"""What the Docker client can throw, in our words. The one seam: nothing of the SDK's passes it."""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

from docker.errors import APIError, DockerException
from requests.exceptions import RequestException
from urllib3.exceptions import HTTPError

from sandboxes.errors import EngineGone, ImageUnavailable, SandboxError, SandboxLost

_CANNOT_EXECUTE = re.compile(
    r"chdir to cwd|argument list too long|error during container init: exec|mkdir .*: not a directory"
)
"""What runtimes (runc 1.0 to 1.2, crun 1.x) say of a start that fails because of the command itself."""

_UNREADABLE = (json.JSONDecodeError, binascii.Error, UnicodeDecodeError)
"""Something else listens there, or the answer broke off."""
TOO_MANY = re.compile(r"toomanyrequests|too many requests|rate limit|\b429\b", re.IGNORECASE)
"""What registries and engines say when an image may be pulled later."""


class PullRefused(ImageUnavailable):
    """The registry gives this image to nobody just now, or not to us: later it may."""


class ImageLost(ImageUnavailable):
    """An image that was there a moment ago is gone: a fresh attempt makes it anew."""

    retryable = True


class CannotExecute(Exception):
    """The room is fine, but this very command cannot be started in it (its folder is gone, its arguments are
    too long). Told to the caller of `run` as a `Done`, never as infrastructure."""


@contextmanager
def translated(doing: str, otherwise: type[SandboxError] = SandboxLost) -> Iterator[None]:
    """Raise foreign failures inside the block as ours. `doing` names the step; `otherwise` is the type for an
    answer of the engine that says no (404 and 409 included)."""
    try:
        yield
    except APIError as error:
        raise _refusal(error, doing, otherwise) from error
    except (DockerException, RequestException, HTTPError, OSError) as error:
        raise EngineGone(
            f"the container engine does not answer while {doing}: {_first_line(error)}"
        ) from error
    except _UNREADABLE as error:
        raise EngineGone(f"the container engine gave no readable answer while {doing}: {error}") from error


def _refusal(error: APIError, doing: str, otherwise: type[SandboxError]) -> Exception:
    said = str(error.explanation or error)
    status = error.status_code
    if status == 404 and "no such image" in said.lower():
        return ImageLost(f"the engine has no such image any more ({said})")
    if otherwise is ImageUnavailable and (status == 429 or TOO_MANY.search(said)):
        return PullRefused(f"the engine refused while {doing}: HTTP {status}: {said}")
    if doing == STARTING and _CANNOT_EXECUTE.search(said):
        return CannotExecute(said)
    if status in (502, 503, 504):
        return EngineGone(f"the container engine is not ready while {doing}: HTTP {status}: {said}")
    return otherwise(f"the engine refused while {doing}: HTTP {status}: {said}")


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


STARTING = "starting a container"
CREATING = "making a container"
