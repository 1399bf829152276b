"""The few shell words the fake room understands, so that tests read like real commands.

Lists with `;`, `&&`, `||` and a last `> FILE` / `>> FILE`; words: true false : exit echo printf cat test [
grep rm sleep pwd printenv kill sh. `sleep` really waits, and wakes when the room is evicted. Anything else is
not found: 127 from the shell, `missing_binary` when given as a tuple.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

from sandboxes.protocol import Done, Output
from sandboxes.spec import ROOM_HOME, Command

if TYPE_CHECKING:
    from sandboxes.fake import FakeRoom


class _Exit(Exception):
    """`exit N`, or an end that stops the whole line."""


@dataclass
class _Shell:
    room: FakeRoom
    command: Command
    deadline: float
    out: bytearray = field(default_factory=bytearray)
    err: bytearray = field(default_factory=bytearray)
    status: int = 0
    signal: int | None = None
    timed_out: bool = False

    def path(self, name: str) -> str:
        return name if name.startswith("/") else f"{self.command.cwd or self.room.spec.workdir}/{name}"

    def complain(self, text: str, status: int = 1) -> int:
        self.err += f"{text}\n".encode("utf-8", "surrogateescape")
        return status


def run(room: FakeRoom, command: Command) -> Done:
    """Answer `command` in `room` as a very small shell would."""
    began = monotonic()
    shell = _Shell(room, command, began + room.seconds_for(command))
    argv = command.argv
    if not isinstance(argv, str) and argv[0] not in _WORDS:
        return Done("missing_binary", None, None, Output(), Output(), 0.0)
    try:
        if isinstance(argv, str):
            _line(shell, argv)
        else:
            shell.status = _WORDS[argv[0]](shell, list(argv[1:]))
    except _Exit:
        pass
    return _done(shell, monotonic() - began)


def _done(shell: _Shell, seconds: float) -> Done:
    limit = shell.room.spec.limits.output
    out, err = _bounded(bytes(shell.out), limit), _bounded(bytes(shell.err), limit)
    if shell.timed_out:
        return Done("limit_hit:time", None, None, out, err, seconds)
    if shell.signal is not None:
        return Done("signalled", 128 + shell.signal, shell.signal, out, err, seconds)
    return Done("exited", shell.status & 255, None, out, err, seconds)


def _bounded(data: bytes, limit: int) -> Output:
    if len(data) <= limit:
        return Output(head=data, total=len(data))
    half = limit // 2
    return Output(data[:half], data[len(data) - half :], len(data))


def _line(shell: _Shell, text: str) -> None:
    lexer = shlex.shlex(text.replace("\n", " ; "), posix=True, punctuation_chars=";&|>")
    lexer.whitespace_split = True
    words: list[str] = []
    skip = False
    for word in [*lexer, ";"]:
        if word not in (";", "&&", "||"):
            words.append(word)
            continue
        if words and not skip:
            shell.status = _simple(shell, words)
        words = []
        skip = (word == "&&" and shell.status != 0) or (word == "||" and shell.status == 0)


def _simple(shell: _Shell, words: list[str]) -> int:
    if len(words) < 3 or words[-2] not in (">", ">>"):
        return _word(shell, words)
    before = len(shell.out)
    status = _word(shell, words[:-2])
    data = bytes(shell.out[before:])
    del shell.out[before:]
    path = shell.path(words[-1])
    if words[-2] == ">>":
        data = (shell.room.files.read(path, 1 << 40) or b"") + data
    if not shell.room.files.put(path, data):
        return shell.complain(f"sh: {words[-1]}: Permission denied", 2)
    return status


def _word(shell: _Shell, words: list[str]) -> int:
    handler = _WORDS.get(words[0])
    if handler is None:
        return shell.complain(f"sh: 1: {words[0]}: not found", 127)
    return handler(shell, words[1:])


def _exit(shell: _Shell, args: list[str]) -> int:
    shell.status = int(args[0]) if args else shell.status
    raise _Exit


def _echo(shell: _Shell, args: list[str]) -> int:
    end = "" if args[:1] == ["-n"] else "\n"
    text = " ".join(args[1:] if not end else args) + end
    shell.out += text.encode("utf-8", "surrogateescape")
    return 0


def _printf(shell: _Shell, args: list[str]) -> int:
    shell.out += args[0].replace("\\n", "\n").replace("\\t", "\t").encode("utf-8", "surrogateescape")
    return 0


def _cat(shell: _Shell, args: list[str]) -> int:
    status = 0
    for name in args or ["-"]:
        data = shell.command.stdin if name == "-" else shell.room.files.read(shell.path(name), 1 << 40)
        if data is None:
            status = shell.complain(f"cat: {name}: No such file or directory")
        else:
            shell.out += data
    return status


def _test(shell: _Shell, args: list[str]) -> int:
    args = [arg for arg in args if arg != "]"]
    if args[:1] == ["!"]:
        return 0 if _test(shell, args[1:]) else 1
    if args[0] in ("-e", "-d"):
        return 0 if shell.room.files.exists(shell.path(args[1])) else 1
    if args[0] == "-f":
        return 0 if shell.room.files.read(shell.path(args[1]), 1 << 40) is not None else 1
    return 0 if len(args) == 3 and args[0] == args[2] and args[1] == "=" else 1


def _grep(shell: _Shell, args: list[str]) -> int:
    pattern, *names = [arg for arg in args if not arg.startswith("-")]
    found = 1
    for name in names:
        data = shell.room.files.read(shell.path(name), 1 << 40)
        if data is None:
            return shell.complain(f"grep: {name}: No such file or directory", 2)
        hits = [line for line in data.split(b"\n") if pattern.encode("utf-8", "surrogateescape") in line]
        if hits:
            found = 0
        if "-q" not in args:
            shell.out += b"".join(line + b"\n" for line in hits)
    return found


def _rm(shell: _Shell, args: list[str]) -> int:
    for name in (arg for arg in args if not arg.startswith("-")):
        path = shell.path(name)
        if not shell.room.files.writable(path):
            return shell.complain(f"rm: cannot remove '{name}': Permission denied")
        if not shell.room.files.exists(path) and "-f" not in args and "-rf" not in args:
            return shell.complain(f"rm: cannot remove '{name}': No such file or directory")
        shell.room.files.remove([path.strip("/").encode("utf-8", "surrogateescape")], "/")
    return 0


def _sleep(shell: _Shell, args: list[str]) -> int:
    wanted = float("inf") if args[0] == "infinity" else float(args[0])
    left = max(0.0, shell.deadline - monotonic())
    shell.room.evicted.wait(min(wanted, left))
    if wanted > left:
        shell.timed_out = True
        raise _Exit
    return 0


def _printenv(shell: _Shell, args: list[str]) -> int:
    env = {"HOME": ROOM_HOME, **shell.room.spec.env, **shell.command.env}
    if not args:
        shell.out += "".join(f"{name}={value}\n" for name, value in sorted(env.items())).encode()
        return 0
    return _echo(shell, [env[args[0]]]) if args[0] in env else 1


def _kill(shell: _Shell, args: list[str]) -> int:
    shell.signal = next((int(arg[1:]) for arg in args if arg[1:].isdigit() and arg[0] == "-"), 15)
    raise _Exit


def _sh(shell: _Shell, args: list[str]) -> int:
    _line(shell, args[args.index("-c") + 1] if "-c" in args else shell.command.stdin.decode())
    return shell.status


def _pwd(shell: _Shell, args: list[str]) -> int:
    return _echo(shell, [shell.command.cwd or shell.room.spec.workdir])


_WORDS: dict[str, Callable[[_Shell, list[str]], int]] = {
    "true": lambda shell, args: 0,
    ":": lambda shell, args: 0,
    "false": lambda shell, args: 1,
    "exit": _exit,
    "echo": _echo,
    "printf": _printf,
    "cat": _cat,
    "test": _test,
    "[": _test,
    "grep": _grep,
    "rm": _rm,
    "sleep": _sleep,
    "printenv": _printenv,
    "kill": _kill,
    "sh": _sh,
    "/bin/sh": _sh,
    "pwd": _pwd,
}
