"""Do source files parse? Asked of the room's own interpreters, file by file; nothing of them is executed."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.analyzers.source import language
from orchestrator.contract import Step, StepResult
from sandboxes.spec import Command

FILES_AT_ONCE = 2000
"""In one command."""
SCRIPT_LIMIT = 100_000
"""Characters of a check that goes ahead of a tool in its container: the kernel takes 128 KiB at once."""
REPORT = "/tmp/proctor-parsed-"
"""What each language's check says, by its name."""
FEW = 8
"""So many PHP files are compiled (`php -l`, a process each, 30 ms); more are parsed, by one process."""

# Each prints for every file "exit code, path", NUL, what was said, NUL; and the word end.
_LINT = (
    'for f do out=$(php -n -d display_errors=1 -l "$f" 2>&1 </dev/null); '
    'printf "%s %s\\0%s\\0" "$?" "$f" "$out"; done; printf end'
)
_TOKENS = """\
foreach (array_slice($argv, 1) as $f) {
    $code = 0; $said = "";
    try { token_get_all(file_get_contents($f), TOKEN_PARSE); }
    catch (Throwable $e) { $code = 255; $said = $e->getMessage() . " on line " . $e->getLine(); }
    echo "$code $f\\0$said\\0";
}
echo "end";
"""
_PHP = (
    f'[ "$#" -le {FEW} ] || php -n -d extension=tokenizer -r '
    "'exit(function_exists(\"token_get_all\") ? 3 : 0);' 2>/dev/null; "
    'if [ "$?" = 3 ]; then '
    f"exec php -n -d extension=tokenizer -d memory_limit=-1 -r '{_TOKENS}' -- \"$@\" 2>/dev/null; fi; {_LINT}"
)
_PYTHON = """\
import sys, warnings
warnings.simplefilter("ignore")
for path in sys.argv[1:]:
    code, said = 0, ""
    try:
        with open(path, "rb") as file:
            compile(file.read(), path, "exec", dont_inherit=True)
    except Exception as error:
        code, said = 1, f"{type(error).__name__}: {error}"
    except MemoryError:
        code, said = 1, "MemoryError"
    sys.stdout.buffer.write(f"{code} {path}\\0{said}\\0".encode("utf-8", "surrogateescape"))
sys.stdout.write("end")
"""
_CHECKS = {"php": ("php", _PHP), "python": ("python3", f"exec python3 -I -B -c '{_PYTHON}' \"$@\"")}


@dataclass(frozen=True)
class Parsing:
    """The check of some files of a work tree, as steps of a room."""

    workdir: str
    paths: tuple[str, ...]

    @classmethod
    def of(cls, workdir: str, paths: Iterable[str]) -> Parsing:
        """Files in other languages are left out."""
        return cls(workdir, tuple(sorted(p for p in set(paths) if language(p) in _CHECKS)))

    def ahead_of(self, steps: Sequence[Step]) -> tuple[Step, ...] | None:
        """`steps`, the first with this check ahead of it in the same container: for a tool that runs nothing
        of the candidate's. None when it is too much for that."""
        parts = list(self._parts())
        script = "; ".join(
            f"(set -- {shlex.join(paths)}; {part}) </dev/null >{report}" for report, part, paths in parts
        )
        reports = tuple(report for report, _, _ in parts)
        if len(set(reports)) < len(reports) or len(script) > SCRIPT_LIMIT:
            return None
        if not parts:
            return tuple(steps)
        first, *rest = steps
        argv = first.command.argv
        words = ("/bin/sh", "-c", argv) if isinstance(argv, str) else argv
        command = replace(first.command, argv=("/bin/sh", "-c", f'{script}; exec "$@"', "sh", *words))
        return replace(first, command=command, reads=(*first.reads, *reports)), *rest

    @property
    def steps(self) -> tuple[Step, ...]:
        """The check alone."""
        return tuple(
            Step(
                Command(("/bin/sh", "-c", f"exec >{report}; {part}", "sh", *paths), cwd="/"), reads=(report,)
            )
            for report, part, paths in self._parts()
        )

    def _parts(self) -> Iterator[tuple[str, str, Sequence[str]]]:
        """(report, shell that writes it, files) for each language and each `FILES_AT_ONCE` of its files."""
        for name, (program, script) in _CHECKS.items():
            mine = [f"{self.workdir}/{p}" for p in self.paths if language(p) == name]
            for first in range(0, len(mine), FILES_AT_ONCE):
                known = f"command -v {program} >/dev/null || {{ printf none; exit; }}; {script}"
                yield REPORT + name, known, mine[first : first + FILES_AT_ONCE]

    def broken(self, results: Sequence[StepResult]) -> dict[str, str] | None:
        """What does not parse, and why; None when no interpreter is there to tell. `results` may hold other
        steps' as well; a check that left nothing has not come to its end."""
        found: dict[str, str] = {}
        told = not self.paths
        for result in results:
            for data in _reports(result.files):
                text = (data or b"").decode("utf-8", "surrogateescape")
                if text == "none":
                    continue
                told = True
                *fields, last = text.split("\0")
                if last != "end":
                    found["(the parse check)"] = f"did not come to its end: {result.done.end}"
                found |= self._said(fields)
        return found if told else None

    def _said(self, fields: Sequence[str]) -> dict[str, str]:
        found = {}
        for head, said in zip(fields[::2], fields[1::2], strict=False):
            code, _, path = head.partition(" ")
            if code != "0":
                words = (line.strip() for line in said.splitlines())
                found[path.removeprefix(self.workdir + "/")] = next(filter(None, words), f"exit code {code}")
        return found


def _reports(files: Mapping[str, bytes | None]) -> Iterator[bytes | None]:
    yield from (data for path, data in files.items() if path.startswith(REPORT))
