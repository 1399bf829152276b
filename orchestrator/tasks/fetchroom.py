"""Registry clients in a throwaway room: it has the machine's network and one folder to write to.

Its base is the machine's own /usr. It gets copies of the clients' settings, which go with it, and what a
client leaves in its folder comes back as plain files, to be checked by hash before anything is made of them.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.tasks.clients import HERE, HOST, TIMEOUT, Answer, Clients, Notes, Program, last_line
from orchestrator.tasks.downloads import SourceUnavailable
from orchestrator.tasks.hostfiles import folder_entries
from sandboxes import roomfs
from sandboxes.errors import ImageUnavailable, LimitUnenforceable
from sandboxes.home import users
from sandboxes.protocol import Done, Provider
from sandboxes.spec import MIB, Command, Entry, Limits, Outside, RoomSpec

if TYPE_CHECKING:
    from orchestrator.tasks.settings import Settings

FOLDER = "/fetch"
"""Where clients work inside the room."""
LIMITS = Limits(cpus=2.0, memory=2048 * MIB, disk=8192 * MIB, time=TIMEOUT)
_WITH_PIP = "import sys, runpy; sys.path.insert(0, sys.argv.pop(1)); sys.argv = sys.argv[1:]; "
_PIP = _WITH_PIP + 'sys.argv.insert(0, "pip"); runpy.run_module("pip", run_name="__main__", alter_sys=True)'
_SCRIPT = _WITH_PIP + 'runpy.run_path(sys.argv[0], run_name="__main__")'


class RoomClients:
    """See `Clients`. What cannot be done in a room here is done by `otherwise`, and `told` says why."""

    def __init__(self, provider: Provider, otherwise: Clients = HOST) -> None:
        self._provider = provider
        self._otherwise = otherwise
        self._notes = Notes()

    def told(self) -> str:
        return self._notes.taken()

    def call(self, program: Program, words: Sequence[str], folder: Path, *, inside: str = "") -> Answer:
        reason = self._unfit(program)
        if not reason:
            try:
                done = self._in_a_room(program, words, folder, inside)
            except (ImageUnavailable, LimitUnenforceable, roomfs.UnfitFile) as error:
                reason = str(error)
            else:
                if done.returncode == 0:
                    self._notes.add(f"in a room of {self._provider.name}")
                    return done
                reason = f"in a room {program} failed: {last_line(done)}"
        answer = self._otherwise.call(program, words, folder, inside=inside)
        self._notes.add(f"{self._otherwise.told()} ({reason})")
        return answer

    def _unfit(self, program: Program) -> str:
        """Why this client cannot work in a room here; empty when it can."""
        if not self._possible:
            return f"rooms of {self._provider.name} cannot have this machine's network"
        name = "python3" if program in ("pip", "python") else program
        found = shutil.which(name, path="/usr/local/bin:/usr/bin")
        if found is None or not Path(found).resolve().is_relative_to("/usr"):
            return f"{name} is not in this machine's /usr"
        return "" if name != "python3" or self._pip else "pip lies where a room cannot see it"

    def _in_a_room(self, program: Program, words: Sequence[str], folder: Path, inside: str) -> Answer:
        argv = (*self._start_of(program), *(word.replace(HERE, FOLDER) for word in words))
        settings = self._settings
        outside = Outside((*settings.folders, *filter(None, [self._pip])))
        spec = RoomSpec(workdir=FOLDER, env=settings.env, limits=LIMITS, outside=outside, label="fetching")
        with self._provider.provision(spec) as room:
            settings.place(room)
            start = [Entry(inside.encode(), roomfs.FOLDER)] if inside else []
            room.write(chain(folder_entries(folder), start), FOLDER, owner="candidate")
            done = room.run(Command(argv, cwd=f"{FOLDER}/{inside}".rstrip("/")))
            if done.limit == "time":
                raise SourceUnavailable(f"{program} did not answer within {TIMEOUT:g} s")
            if done.ok:
                below = f"/{inside}".rstrip("/")
                brought = (e for e in room.export(FOLDER + below) if not _leads_out(e))
                roomfs.write(folder, brought, below or "/", None)
        return subprocess.CompletedProcess(argv, _code(done), done.stdout.data, done.stderr.data)

    def _start_of(self, program: Program) -> tuple[str, ...]:
        beside = str(Path(self._pip).parent)
        if program == "pip":
            return ("python3", "-I", "-c", _PIP, beside)
        if program == "python":
            return ("python3", "-I", "-c", _SCRIPT, beside)
        return (program,)

    @cached_property
    def _possible(self) -> bool:
        return self._provider.capabilities().outside

    @cached_property
    def _settings(self) -> Settings:
        from orchestrator.tasks.settings import of_machine  # most runs fetch nothing

        return of_machine(os.environ, users() or Path("/nonexistent"))

    @cached_property
    def _pip(self) -> str:
        """The folder of the pip that runs; its parent folder holds nothing else in the room."""
        found = importlib.util.find_spec("pip")
        return str(Path(found.origin).parent) if found is not None and found.origin else ""


def _leads_out(entry: Entry) -> bool:
    """Whether it is a link to something that did not come with it."""
    if entry.mode != roomfs.LINK:
        return False
    target = os.path.normpath(os.path.join(os.path.dirname(entry.path), entry.data))  # noqa: PTH118, PTH120
    return target.startswith((b"/", b"../")) or target == b".."


def _code(done: Done) -> int:
    return done.exit_code if done.exit_code is not None else 1
