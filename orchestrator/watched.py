"""A room whose commands are noted down: what an agent's own commands used belongs to its phase."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from sandboxes.protocol import Done, Sandbox, Sink
from sandboxes.spec import Command, Entry


class Watched:
    """See `sandboxes.protocol.Sandbox`. `saw` is told of each command that ended, whoever asked for it."""

    def __init__(self, room: Sandbox, saw: Callable[[Done], None]) -> None:
        self.id = room.id
        self.unenforced = room.unenforced
        self._room = room
        self._saw = saw

    def run(self, command: Command, sink: Sink | None = None) -> Done:
        done = self._room.run(command, sink)
        self._saw(done)
        return done

    def write(self, entries: Iterable[Entry], target: str, *, owner: Literal["candidate", "root"]) -> None:
        self._room.write(entries, target, owner=owner)

    def remove(self, paths: Iterable[bytes], target: str) -> None:
        self._room.remove(paths, target)

    def read(self, path: str, limit: int) -> bytes | None:
        return self._room.read(path, limit)

    def export(self, target: str) -> Iterator[Entry]:
        return self._room.export(target)

    def evict(self) -> None:
        self._room.evict()
