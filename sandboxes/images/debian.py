"""Debian recipes: a suite and some packages, unpacked once and kept.

Packages come from where this machine gets its own (its apt sources for that suite, with their keys).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from sandboxes.drafts import draft
from sandboxes.errors import ImageUnavailable
from sandboxes.home import home
from sandboxes.images import RootFs, building, keep, kept
from sandboxes.images.identity import identity

_VERSION = "1"
_NEEDED = ("ca-certificates",)


def debian_image(suite: str, packages: tuple[str, ...] = ()) -> RootFs:
    """The recipe's file system, built when it is not held yet (half a minute or so, once). A package may be
    pinned: "name=version".

    Two processes that ask for the same recipe build it once. Raises ImageUnavailable with the builder's
    last words when it cannot be built here.
    """
    for word in (suite, *packages):
        if not re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9.+:=~-]*", word):
            raise ImageUnavailable(f"{word!r} is no Debian suite or package name")
    with building(_name(suite, packages)) as place:
        if not kept(place):
            _build(suite, packages, place)
    rootfs = place / "rootfs"
    digest = (place / "digest").read_text(encoding="ascii").strip()
    return RootFs(digest, (identity(rootfs), rootfs))


def installed(suite: str, packages: tuple[str, ...] = ()) -> dict[str, str]:
    """The packages of a recipe that was built on this machine, with their versions; empty when it was not."""
    status = home() / "images" / _name(suite, packages) / "rootfs/var/lib/dpkg/status"
    found = {}
    for stanza in _text_of(status).split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version|Status): (.*)$", stanza, re.MULTILINE))
        if fields.get("Status", "").endswith(" installed"):
            found[fields["Package"]] = fields["Version"]
    return found


def _name(suite: str, packages: tuple[str, ...]) -> str:
    recipe = json.dumps([_VERSION, suite, sorted({*packages, *_NEEDED})])
    return f"debian-{hashlib.sha256(recipe.encode()).hexdigest()[:16]}"


def _build(suite: str, packages: tuple[str, ...], place: Path) -> None:
    if shutil.which("mmdebstrap") is None:
        raise ImageUnavailable("a debian recipe needs mmdebstrap: install the package mmdebstrap")
    if os.geteuid() != 0:
        raise ImageUnavailable("a debian recipe is built by root only; use the host image, or sudo")
    shutil.rmtree(place, ignore_errors=True)
    names = ",".join(sorted({*packages, *_NEEDED}))
    with draft(home() / "images") as folder:
        sources = folder / "machine.sources"
        sources.write_text(sources_for(suite, Path("/etc/apt")), encoding="utf-8")
        options = ["--quiet", "--mode=root", "--variant=minbase", f"--include={names}"]
        lean = ["--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*"]
        argv = ["mmdebstrap", *options, *lean, suite, str(folder / "rootfs"), str(sources)]
        done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise ImageUnavailable(f"the debian recipe {suite} could not be built: {_reason(done.stderr)}")
        _finish(folder, recipe=f"{suite} {names}")
        keep(folder, place)


def _reason(words: str) -> str:
    """What apt says of packages that are not there, else the builder's last words."""
    lines = words.strip().splitlines()
    absent = [
        line.removeprefix("E: ") for line in lines if re.search(r"was not found|Unable to locate", line)
    ]
    return "; ".join(dict.fromkeys(absent) if absent else lines[-3:])


def _finish(folder: Path, recipe: str) -> None:
    rootfs = folder / "rootfs"
    rootfs.chmod(0o755)
    for device in (rootfs / "dev").iterdir():
        if not device.is_dir():
            device.unlink()
    installed = (rootfs / "var/lib/dpkg/status").read_bytes()
    content = hashlib.sha256(recipe.encode() + b"\n" + installed).hexdigest()
    (folder / "digest").write_text(f"debian:{content}\n", encoding="ascii")


def sources_for(suite: str, apt: Path, release: Path = Path("/etc/os-release")) -> str:
    """The machine's apt sources that serve `suite` (its updates and security too), in deb822 form.

    For a suite that the machine does not use itself: the archive it has its own release from. Raises
    ImageUnavailable when it has none.
    """
    found = _sources(suite, apt)
    if not found:
        own = re.search(r"^VERSION_CODENAME=(\S+)", _text_of(release), re.MULTILINE)
        archive = [s for s in _sources(own[1], apt) if own[1] in _suites(s)] if own else []
        found = [re.sub(r"^Suites:.*$", f"Suites: {suite}", stanza, flags=re.MULTILINE) for stanza in archive]
    if not found:
        raise ImageUnavailable(
            f"no apt source of this machine serves {suite}: add one to {apt}/sources.list.d"
        )
    return "\n".join(found)


def _sources(suite: str, apt: Path) -> list[str]:
    stanzas = []
    for path in sorted([apt / "sources.list", *apt.glob("sources.list.d/*")]):
        if path.suffix == ".sources" and path.is_file():
            stanzas += _from_deb822(path.read_text(encoding="utf-8"), suite)
        elif path.suffix == ".list" and path.is_file():
            stanzas += _from_lines(path.read_text(encoding="utf-8"), suite)
    return stanzas


def _suites(stanza: str) -> list[str]:
    found = re.search(r"^Suites:(.*)$", stanza, re.MULTILINE)
    return found[1].split() if found else []


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def _from_deb822(text: str, suite: str) -> list[str]:
    kept = []
    for block in re.split(r"\n\s*\n", text):
        lines = [line for line in block.splitlines() if line.strip() and not line.startswith("#")]
        fields = dict(
            line.split(":", 1) for line in lines if ":" in line and not line.startswith((" ", "\t"))
        )
        if "deb" not in fields.get("Types", "").split() or fields.get("Enabled", "yes").strip() == "no":
            continue
        wanted = [word for word in fields.get("Suites", "").split() if _serves(word, suite)]
        if wanted:
            lines = [f"Suites: {' '.join(wanted)}" if line.startswith("Suites:") else line for line in lines]
            kept.append("\n".join(lines) + "\n")
    return kept


def _from_lines(text: str, suite: str) -> list[str]:
    kept = []
    for line in text.splitlines():
        found = re.match(r"deb\s+(?:\[([^]]*)\]\s+)?(\S+)\s+(\S+)\s+(.+?)\s*(?:#.*)?$", line.strip())
        if found and _serves(found[3], suite):
            options = dict(word.split("=", 1) for word in (found[1] or "").split() if "=" in word)
            signed = f"Signed-By: {options['signed-by']}\n" if "signed-by" in options else ""
            kept.append(f"Types: deb\nURIs: {found[2]}\nSuites: {found[3]}\nComponents: {found[4]}\n{signed}")
    return kept


def _serves(word: str, suite: str) -> bool:
    return word in (suite, f"{suite}-updates", f"{suite}-security")
