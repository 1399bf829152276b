"""PHP-CS-Fixer 3.x, JSON: which fixers would change which file. It names no lines.

Options beside those of every tool: `rules` (@PSR12). No configuration of the repository is read: it would be
code. A file that does not parse is left out by the tool and said by exit code 4 alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.analyzers.measurement import AnalyzerError, Finding
from orchestrator.analyzers.options import Options, Setting
from orchestrator.analyzers.reports import Raw, Report, agree, loads, relative, shaped
from orchestrator.analyzers.tool import Tool


class PhpCsFixer(Tool):
    """The `php-cs-fixer` analyzer."""

    name = "php-cs-fixer"
    settings = {"rules": Setting("@PSR12", re.compile(r"[\w@:,+-]+"), "rules as @PSR12,no_unused_imports")}
    config_names = (".php-cs-fixer.php", ".php-cs-fixer.dist.php")

    def argv(self, options: Options, workdir: str) -> tuple[str, ...]:
        return (
            *("php-cs-fixer", "check", f"--rules={options.settings['rules']}", "--config=-"),
            *(
                "--using-cache=no",
                "--format=json",
                "-v",
                "--no-ansi",
                "--no-interaction",
                "--path-mode=override",
            ),
            *options.paths(workdir),
        )

    def report(self, raw: Raw) -> Report:
        return read(raw)


def read(raw: Raw) -> Report:
    """A whole JSON report."""
    document = loads("php-cs-fixer", raw)
    findings = tuple(shaped("php-cs-fixer", lambda: list(_findings(document["files"], raw))))
    if raw.exit_code is not None and raw.exit_code & 4:
        raise AnalyzerError("php-cs-fixer could not parse a file and left it out", fixes=len(findings))
    agree("php-cs-fixer", raw, {8} if findings else {0}, f"{len(findings)} fixes")
    return Report(findings)


def _findings(files: Iterable[Mapping[str, Any]], raw: Raw) -> Iterable[Finding]:
    for entry in files:
        fixers = entry["appliedFixers"]
        if not fixers:
            raise ValueError(f"no fixers for {entry['name']}: the report was made without -v")
        for fixer in fixers:
            yield Finding(str(fixer), relative(str(entry["name"]), raw), 0, f"{fixer} would change the file")
