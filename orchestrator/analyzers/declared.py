"""An analyzer that a benchmark defines in its proctor.yaml, without a line of Python.

    analyzers:
      phan:
        command: phan --allow-polyfill-parser --output-mode checkstyle -o {report} {targets}
        format: checkstyle
        version: phan --version
        exit_codes: [0, 1]
        extensions: [php]

`command` is shell; `{report}` is the file the report is taken from (without it, standard output is) and
`{targets}` what to analyse. It runs outside the work tree. `format` is one of `formats.FORMATS`, or `number`:
then the last line is the value and `direction` (lower_is_better or higher_is_better) must be said.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import replace

from orchestrator.analyzers.formats import FORMATS
from orchestrator.analyzers.measurement import AnalyzerError, Measurement
from orchestrator.analyzers.number import read_number
from orchestrator.analyzers.options import Options
from orchestrator.analyzers.reports import Raw, Report
from orchestrator.analyzers.tool import REPORT, Tool
from orchestrator.contract import Check, StepResult
from orchestrator.documents.benchmark import AnalyzerTool


class Declared(Tool):
    """A tool made from its declaration."""

    name = "declared"

    def __init__(self, name: str, declaration: AnalyzerTool) -> None:
        self.declaration = declaration
        self.name = name
        self.extensions = declaration.extensions
        self.suppresses = declaration.suppressions
        self.config_names = declaration.config
        self.lists_files = not declaration.extensions
        self.writes_file = "{report}" in declaration.command

    def version_argv(self) -> tuple[str, ...]:
        return ("/bin/sh", "-c", self.declaration.version or "echo unknown")

    def version_of(self, words: str) -> str:
        return "" if not self.declaration.version else super().version_of(words)

    def argv(self, options: Options, workdir: str) -> tuple[str, ...]:
        targets = " ".join(shlex.quote(path) for path in options.paths(workdir))
        command = self.declaration.command.replace("{report}", REPORT).replace("{targets}", targets)
        return ("/bin/sh", "-c", command)

    def read(self, check: Check, workdir: str, results: Sequence[StepResult]) -> Measurement:
        digest = hashlib.sha256(self.declaration.model_dump_json().encode()).hexdigest()
        measured = super().read(check, workdir, results)
        higher = self.declaration.direction == "higher_is_better"
        if measured.findings is None:
            measured = replace(measured, higher_is_better=higher)
        return replace(measured, config_digest=f"{measured.config_digest}-{digest[:16]}")

    def report(self, raw: Raw) -> Report:
        if raw.exit_code not in self.declaration.exit_codes:
            words = raw.stderr.strip()[-300:]
            raise AnalyzerError(f"{self.name} ended with exit code {raw.exit_code}: {words}")
        if self.declaration.format == "number":
            return Report(value=read_number(raw.data))
        return FORMATS[self.declaration.format](replace(raw, exit_code=None))
