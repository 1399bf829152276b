"""The `host` image: this machine's /usr, read-only, under an /etc of our own making.

Nothing is downloaded or built, so a first room opens at once. What a room sees of the machine: /usr, and
copies of the few public parts of /etc that programs in /usr point into. No home, no keys, no user names.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from pathlib import Path

from sandboxes.drafts import draft
from sandboxes.errors import ImageUnavailable
from sandboxes.images import RootFs, building, keep, kept
from sandboxes.images.identity import contents, lay_out

_VERSION = "1"
_USR_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = (
    "alternatives", "ld.so.cache", "ssl/certs", "ssl/openssl.cnf", "debian_version", "os-release",
    "protocols", "services", "mime.types", "magic", "perl", "php", "python3*", "java-*", "fonts",
)  # fmt: skip
_NSSWITCH = "passwd: files\ngroup: files\nhosts: files\nprotocols: files\nservices: files\n"


def host_image(machine: Path = Path("/")) -> RootFs:
    """The image, made from the machine's present state. Its digest follows what is installed there.

    Raises ImageUnavailable on a machine whose /bin is not part of /usr.
    """
    if not (machine / "bin").is_symlink():
        raise ImageUnavailable(
            "the host image needs a machine where /bin is a link into /usr (Debian 11 or later)"
        )
    digest = _fingerprint(machine)
    with building(f"host-{digest[:16]}") as place:
        if not kept(place):
            with draft(place.parent) as folder:
                _fill(folder, machine)
                keep(folder, place)
    return RootFs(f"host:{digest}", (place,), ("/usr",))


def _fingerprint(machine: Path) -> str:
    seen = hashlib.sha256(_VERSION.encode())
    local = machine / "usr/local"
    watched = [machine / "var/lib/dpkg/status", machine / "usr/lib/os-release"]
    watched += sorted(_sources(machine)) + sorted(
        [*local.glob("*"), *local.glob("lib/*"), *local.glob("lib/*/*")]
    )
    for path in watched:
        try:
            found = path.lstat()
        except OSError:
            continue
        seen.update(f"{path} {found.st_size} {found.st_mtime_ns}\n".encode(errors="surrogateescape"))
    return seen.hexdigest()


def _sources(machine: Path) -> list[Path]:
    return [path for name in _ETC for path in (machine / "etc").glob(name)]


def _fill(root: Path, machine: Path) -> None:
    lay_out(root, contents(None) | {"etc/nsswitch.conf": _NSSWITCH})
    for name in _USR_LINKS:
        if (machine / name).is_symlink():
            (root / name).symlink_to((machine / name).readlink())
    for source in _sources(machine):
        _copy_public(source, root / source.relative_to(machine))


def _copy_public(source: Path, target: Path) -> None:
    """Copy what anyone on the machine may read; links stay links."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.parent.chmod(0o755)
    found = source.lstat()
    if stat.S_ISLNK(found.st_mode):
        target.symlink_to(source.readlink())
    elif not found.st_mode & stat.S_IROTH:
        return
    elif stat.S_ISDIR(found.st_mode):
        target.mkdir(exist_ok=True)
        target.chmod(0o755)
        for item in os.scandir(source):
            _copy_public(source / item.name, target / item.name)
    elif stat.S_ISREG(found.st_mode):
        shutil.copyfile(source, target)
        target.chmod(0o644)
