"""Git, run over one bare repository of ours and never with anybody's settings."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO

from sandboxes import drafts

TIMEOUT = 300.0
"""Seconds any one git process may take."""

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


class TreeError(Exception):
    """Git failed at something that has no reason to fail: our bug, or a machine in trouble."""


class Repository:
    """A bare repository, made on first use. Safe for many threads and processes at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()

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
            raise self._failure(args, done.returncode, done.stderr)
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
                raise self._failure(args, git.returncode, words())
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

    def _failure(self, args: list[str], code: int, words: bytes) -> Exception:
        said = f"git {args[0]} ended {code}: {words.decode('utf-8', 'replace').strip()}"
        return self.lacking(words) or TreeError(said)

    def lacking(self, words: bytes) -> OSError | None:
        """What git says as the error of a machine that is full or broken; None when it speaks of others.
        A name that a candidate chose may stand among the words."""
        number = next((number for sign, number in _LACKS.items() if sign in words), None)
        return OSError(number, os.strerror(number), str(self.folder)) if number is not None else None

    def made(self) -> Path:
        """The folder, made when it is not there: beside its place first, so that nobody sees half of it."""
        if not (self.folder / "config").exists():
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            fresh = Path(tempfile.mkdtemp(dir=self.folder.parent, prefix=drafts.prefix()))
            for name in ("objects/info", "objects/pack", "refs/heads", "indexes"):
                (fresh / name).mkdir(parents=True)
            (fresh / "HEAD").write_text("ref: refs/heads/none\n")
            (fresh / "config").write_text(_CONFIG)
            try:
                fresh.rename(self.folder)
            except OSError:
                shutil.rmtree(fresh)
                if not (self.folder / "config").exists():
                    raise
        return self.folder


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
