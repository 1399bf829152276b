"""How this machine's registry clients are set up: what a room needs so that they work alike in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.worktree.trees import FILE
from sandboxes.protocol import Sandbox
from sandboxes.spec import ROOM_HOME, Entry

_VARIABLES = re.compile(
    r"pip_\w+|npm_config_\w+|(?:https?|ftp|no|all)_proxy|ssl_cert_(?:file|dir)|requests_ca_bundle"
    r"|curl_ca_bundle|node_extra_ca_certs|git_ssl_\w+|netrc",
    re.IGNORECASE,
)
_OF_MACHINE = ("/etc/pip.conf", "/etc/xdg/pip/pip.conf", "/etc/npmrc", "/etc/gitconfig")
_OF_USER = (".config/pip/pip.conf", ".pip/pip.conf", ".npmrc", ".netrc")
_APT = Path("/etc/apt")
_PATH = re.compile(r"(?P<url>file:(?://)?)?(?P<path>/(?!/)[^\s'\",;:=\]]+)")
_THERE_ANYWAY = ("/usr", "/etc/ssl", "/bin", "/lib", "/dev", "/proc", "/sys", "/var/lib/apt")
_TOO_WIDE = frozenset({"/", "/etc", "/home", "/opt", "/root", "/srv", "/var", "/run", "/mnt", "/tmp"})


@dataclass(frozen=True)
class Settings:
    """Copied into a room file by file, so that they are gone with it; they may hold credentials."""

    env: Mapping[str, str]
    files: Mapping[str, bytes]
    """Absolute path in the room -> content."""
    folders: tuple[str, ...]
    """Folders of this machine that the settings name (mirrors, wheels)."""

    def place(self, room: Sandbox) -> None:
        """Write the files into a room, where the clients can read but not change them."""
        for path, data in self.files.items():
            parent, _, name = path.rpartition("/")
            room.write([Entry(name.encode(), FILE, data)], parent, owner="root")


def of_machine(environ: Mapping[str, str], home: Path) -> Settings:
    """The settings of the user with this environment and home folder."""
    env = {name: value for name, value in environ.items() if _VARIABLES.fullmatch(name)}
    files = {path: data for path in _OF_MACHINE if (data := _read(Path(path))) is not None}
    files |= {f"{ROOM_HOME}/{path}": data for path in _OF_USER if (data := _read(home / path)) is not None}
    named = set(_named([*env.values(), *map(_text, files.values())]))
    if _APT.is_dir():
        apts = {str(path): data for path in sorted(_APT.rglob("*")) if (data := _read(path)) is not None}
        named |= set(_named(map(_text, apts.values()), urls_only=True))
        files |= apts
    files |= {str(p): data for p in named if p.is_file() and (data := _read(p)) is not None}
    folders = sorted(str(p) for p in named if p.is_dir() and str(p) not in _TOO_WIDE and p != home)
    return Settings(env, files, tuple(folders))


def _named(texts: Iterable[str], *, urls_only: bool = False) -> Iterator[Path]:
    """Paths that texts speak of and that are there; of an index on disk, the folder its files lie beside."""
    for text in texts:
        for match in _PATH.finditer(text):
            path = Path(os.path.normpath(match["path"]))
            if (urls_only and not match["url"]) or not path.exists():
                continue
            if any(path.is_relative_to(top) for top in _THERE_ANYWAY):
                continue
            yield path.parent if match["url"] and path.name == "simple" else path


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if path.is_file() else None
    except OSError:
        return None
