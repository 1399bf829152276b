"""Any kind of image as a root file system on disk."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from pathlib import Path

from sandboxes.drafts import draft
from sandboxes.errors import ImageUnavailable
from sandboxes.images import RootFs, building, keep, kept
from sandboxes.images.debian import debian_image
from sandboxes.images.host import host_image
from sandboxes.images.identity import identity
from sandboxes.images.rootfs import rootfs_image
from sandboxes.spec import Image

_BUILT = "proctor-built"


def resolve(image: Image) -> RootFs:
    """The image's file system, made or fetched when it is not here yet. Raises ImageUnavailable."""
    if image.kind == "host":
        return host_image()
    if image.kind == "debian":
        return debian_image(image.ref, image.packages)
    if image.kind == "rootfs":
        return rootfs_image(image.ref)
    if image.kind == "dockerfile":
        return _exported(_built(image.ref))
    return _exported(image.ref)


def _exported(ref: str) -> RootFs:
    """An image of a Docker engine, unpacked here once per digest."""
    number = _image_id(ref)
    with building(f"docker-{number.partition(':')[2][:16]}") as place:
        if not kept(place):
            _export(number, place)
    return RootFs(number, (identity(place), place))


def _image_id(ref: str) -> str:
    found = _docker("image", "inspect", "--format", "{{json .Id}}", ref)
    if found.returncode != 0 and re.search(r"no such (image|object)", found.stderr, re.IGNORECASE):
        found = _docker("pull", "--quiet", ref)
        if found.returncode != 0:
            last = (found.stderr.strip() or "no reason given").splitlines()[-1]
            raise ImageUnavailable(f"image {ref} is not here and could not be pulled: {last}")
        found = _docker("image", "inspect", "--format", "{{json .Id}}", ref)
    if found.returncode != 0:
        last = (found.stderr.strip() or "no reason given").splitlines()[-1]
        raise ImageUnavailable(f"image {ref} cannot be read, for no Docker engine answers: {last}")
    return str(json.loads(found.stdout))


def _built(folder: str) -> str:
    place = Path(folder).expanduser().absolute()
    place = place if place.is_dir() else place.parent
    tag = f"{_BUILT}:{hashlib.sha256(str(place).encode()).hexdigest()[:16]}"
    done = _docker("build", "--quiet", "--tag", tag, str(place))
    if done.returncode != 0:
        last = (done.stderr.strip() or "no reason given").splitlines()[-1]
        raise ImageUnavailable(f"the Dockerfile in {folder} could not be built: {last}")
    return tag


def _export(ref: str, place: Path) -> None:
    made = _docker("create", "--network=none", ref, "true")
    if made.returncode != 0:
        raise ImageUnavailable(f"image {ref} cannot be unpacked: {made.stderr.strip()}")
    container = made.stdout.strip()
    try:
        with draft(place.parent) as folder:
            archive, rootfs = folder / "image.tar", folder / "rootfs"
            saved = _docker("export", "--output", str(archive), container)
            if saved.returncode != 0:
                raise ImageUnavailable(f"image {ref} cannot be exported: {saved.stderr.strip()}")
            rootfs.mkdir()
            argv = ["tar", "-x", "-p", "--numeric-owner", "-f", str(archive), "-C", str(rootfs)]
            unpacked = subprocess.run(argv, capture_output=True, text=True)
            if unpacked.returncode != 0:
                raise ImageUnavailable(f"image {ref} cannot be unpacked: {unpacked.stderr.strip()[-300:]}")
            rootfs.chmod(0o755)
            keep(rootfs, place)
    finally:
        _docker("rm", "--force", container)


def _docker(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["docker", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise ImageUnavailable(
            "images of kind image and dockerfile come from a Docker engine, and there is no docker here: "
            "install docker.io, or use a debian recipe or the host image"
        ) from None
