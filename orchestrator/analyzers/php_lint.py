"""`php -l`, one file at a time: a finding for each file that does not parse.

(PHP 8.2 given several files checks the first alone and says 0.)
"""

from __future__ import annotations

import re

from orchestrator.analyzers.errand import FILES
from orchestrator.analyzers.measurement import AnalyzerError, Finding
from orchestrator.analyzers.options import Options
from orchestrator.analyzers.reports import Raw, Report, agree, relative
from orchestrator.analyzers.tool import Tool

_EACH = (
    'xargs -0 -r -n1 sh -c \'out=$(php -n -d display_errors=1 -l "$1" 2>&1 </dev/null); code=$?; '
    'printf "%s %s\\0%s\\0" "$code" "$1" "$out"\' sh <' + FILES
)
_WHERE = re.compile(r"(.*) in .* on line (\d+)\s*$", re.MULTILINE)


class PhpLint(Tool):
    """The `php-lint` analyzer."""

    name = "php-lint"

    def version_argv(self) -> tuple[str, ...]:
        return ("php", "-n", "--version")

    def argv(self, options: Options, workdir: str) -> tuple[str, ...]:
        return ("/bin/sh", "-c", f"{_EACH} && printf end")

    def report(self, raw: Raw) -> Report:
        return read(raw)


def read(raw: Raw) -> Report:
    """Pairs of "exit code, path" and what php said, each ended by a NUL, and the word end."""
    fields = raw.data.decode("utf-8", "replace").split("\0")
    if fields.pop() != "end" or len(fields) % 2:
        raise AnalyzerError("the php -l run was cut off")
    findings = []
    files = set()
    for head, said in zip(fields[::2], fields[1::2], strict=True):
        code, _, path = head.partition(" ")
        where = relative(path, raw)
        files.add(where)
        if code not in ("0", "255"):
            raise AnalyzerError(f"php -l ended with exit code {code} on {where}: {said.strip()[:200]}")
        if code == "255":
            found = _WHERE.search(said)
            text, line = (found[1], int(found[2])) if found else (said.strip()[:300], 0)
            findings.append(Finding("syntax", where, line, text, key=text))
    if not files:
        raise AnalyzerError("php -l found no PHP file")
    agree("php -l", raw, {0}, "a finished run")
    return Report(tuple(findings), frozenset(files))
