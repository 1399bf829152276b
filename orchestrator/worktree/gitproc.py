"""Git, run over one bare repository of ours and never with anybody's settings."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO

from orchestrator.worktree import wholeness
from orchestrator.worktree.wholeness import StoreDamaged
from sandboxes import drafts
from sandboxes.errors import MACHINE, SandboxError

TIMEOUT = 300.0
"""Seconds any one git process may take."""

# Nothing is synced: a store that a power cut emptied is noticed and made anew (`wholeness`); waiting for the
# disk at every write would cost each run more than that.
_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tbare = true
\tautocrlf = false
\tfsync = none
\thooksPath = /dev/null
\tprotectHFS = true
\tprotectNTFS = true
\tlogAllRefUpdates = false
[gc]
\tauto = 0
[fastimport]
\tunpackLimit = 100
[diff]
\trenameLimit = 2000
"""


_LACKS = {
    b"No space left on device": errno.ENOSPC,
    b"Out of diskspace": errno.ENOSPC,
    b"Disk quota exceeded": errno.EDQUOT,
    b"Input/output error": errno.EIO,
    b"Too many open files": errno.EMFILE,
    b"Cannot allocate memory": errno.ENOMEM,
    b"Out of memory": errno.ENOMEM,
}
_ID = re.compile(r"[0-9a-f]{40}")
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""Known to git, whether a store holds it or not."""


class TreeError(Exception):
    """Git failed at something that has no reason to fail: our bug, or a machine in trouble."""


class Repository:
    """A bare repository, made on first use. Safe for many threads and processes at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self._seen = wholeness.identity(self.folder)

    @property
    def same(self) -> bool:
        """Whether it is still the folder that this was opened on: what it was told before holds."""
        return self._seen is not None and wholeness.identity(self.folder) == self._seen

    @contextlib.contextmanager
    def index(self, tree: str) -> Iterator[dict[str, str]]:
        """A private index that holds `tree`; the filled one is kept and copied, reading a tree costs more."""
        kept = self.made() / "indexes" / tree
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=drafts.prefix()) as folder:
            mine = Path(folder) / "index"
            env = {"GIT_INDEX_FILE": str(mine)}
            try:
                shutil.copyfile(kept, mine)
            except FileNotFoundError:
                self.run(["read-tree", tree], env=env)
                if mine.exists():
                    shutil.copyfile(mine, Path(folder) / "kept")
                    (Path(folder) / "kept").replace(kept)
            yield env

    def run(
        self,
        args: list[str],
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        *,
        check: bool = True,
        cwd: str | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        self.made()
        done = subprocess.run(
            ["git", *args],
            input=stdin,
            env=git_env(self.folder) | dict(env or {}),
            capture_output=True,
            timeout=TIMEOUT,
            cwd=cwd,
        )
        if check and done.returncode:
            raise self.failure(args, done.returncode, done.stderr, env=env)
        return done

    def feed(self, args: list[str], chunks: Iterable[bytes]) -> bytes:
        """What git answers to a stream of input that need not fit into memory."""
        with self._started(args, subprocess.PIPE) as (git, words):
            assert git.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                for chunk in chunks:
                    git.stdin.write(chunk)
            out, _ = git.communicate(timeout=TIMEOUT)
            if git.returncode:
                raise self.failure(args, git.returncode, words())
            return out

    @contextlib.contextmanager
    def stream(self, args: list[str], stdin: IO[bytes]) -> Iterator[IO[bytes]]:
        """Git's output as it comes; reading less than all of it is fine."""
        with self._started(args, stdin) as (git, _):
            assert git.stdout is not None
            yield git.stdout

    @contextlib.contextmanager
    def _started(
        self, args: list[str], stdin: IO[bytes] | int
    ) -> Iterator[tuple[subprocess.Popen[bytes], Callable[[], bytes]]]:
        self.made()
        with tempfile.TemporaryFile() as errors:
            git = subprocess.Popen(
                ["git", *args],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=git_env(self.folder),
            )

            def words() -> bytes:
                errors.seek(0)
                return errors.read()

            try:
                yield git, words
            finally:
                git.kill()
                for pipe in (git.stdin, git.stdout):
                    if pipe is not None:
                        with contextlib.suppress(BrokenPipeError):
                            pipe.close()
                git.wait()

    def failure(
        self,
        args: list[str],
        code: int,
        words: bytes,
        *,
        wanted: Iterable[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> Exception:
        """Why git failed at `args`: the machine is out of something, the store is damaged (it is put aside
        then), or neither is so. `wanted` are ids that the store ought to hold, besides those in `args`."""
        said = f"git {args[0]} ended {code}: {words.decode('utf-8', 'replace').strip()}"
        if trouble := self.lacking(words):
            return trouble
        if code < 0:
            return SandboxError(f"git {args[0]} was ended by signal {-code} of this machine")
        ids = {*wanted, *(word for word in args if _ID.fullmatch(word))} - {EMPTY_TREE}
        around = git_env(self.folder) | dict(env or {})
        if self.same and wholeness.has_frame(self.folder) and wholeness.holds(sorted(ids), around, TIMEOUT):
            return TreeError(said)
        return self.damaged(said)

    def damaged(self, said: str) -> StoreDamaged:
        """The store lost something: it is put aside, if nobody did so before."""
        if wholeness.put_aside(self.folder, self._seen):
            aside = self.folder.name + drafts.ASIDE
            what = f"is damaged; it was put aside as {aside}, and the next attempt makes it anew"
        else:
            what = "was made anew while it was in use; try again"
        return StoreDamaged(f"the store {self.folder} {what} ({said})")

    def lacking(self, words: bytes) -> OSError | None:
        """What git says as the error of a machine that is full or broken; None when it speaks of others.
        A name that a candidate chose may stand among the words."""
        number = next((number for sign, number in _LACKS.items() if sign in words), None)
        return OSError(number, os.strerror(number), str(self.folder)) if number is not None else None

    def made(self) -> Path:
        """The folder, made when it is not there. What is no repository at its place is put aside first."""
        if not wholeness.has_frame(self.folder):
            try:
                self._make()
            except OSError as error:
                if error.errno in MACHINE:
                    raise
                said = f"the store {self.folder} cannot be made: {error}; mend or remove {self.folder.parent}"
                raise StoreDamaged(said) from error
        return self.folder

    def _make(self) -> None:
        """Beside its place first, so that nobody sees half of it."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        stump = wholeness.identity(self.folder)
        fresh = Path(tempfile.mkdtemp(dir=self.folder.parent, prefix=drafts.prefix()))
        try:
            for name in ("objects/info", "objects/pack", "refs/heads", "indexes"):
                (fresh / name).mkdir(parents=True)
            (fresh / "HEAD").write_text("ref: refs/heads/none\n")
            (fresh / "config").write_text(_CONFIG)
            if not wholeness.has_frame(self.folder):
                wholeness.put_aside(self.folder, stump)
            fresh.rename(self.folder)
        except OSError:
            if not wholeness.has_frame(self.folder):
                raise  # else another process was quicker
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        self._seen = self._seen or wholeness.identity(self.folder)


def git_env(folder: Path) -> dict[str, str]:
    """The whole environment of a git process: nothing of the machine's or the user's settings in it."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "GIT_DIR": str(folder),
        "HOME": str(folder),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }
