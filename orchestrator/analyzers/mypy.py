"""mypy 1.11 and later, JSON lines. Errors count; notes do not. Options: those of every tool, and
`ignore_missing_imports` (yes or no; yes).

No configuration of the repository is read and nothing is cached. `# type: ignore` cannot be switched off: new
ones are counted. Since mypy writes nothing when all is well, silence counts only with exit code 0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from orchestrator.analyzers.measurement import AnalyzerError, Finding
from orchestrator.analyzers.options import Options, Setting
from orchestrator.analyzers.reports import Raw, Report, agree, ended, relative, shaped, unparsable
from orchestrator.analyzers.tool import Tool


class Mypy(Tool):
    """The `mypy` analyzer."""

    name = "mypy"
    extensions = ("py", "pyi")
    settings = {"ignore_missing_imports": Setting("yes", re.compile("yes|no"), "yes or no")}
    config_name = "mypy.ini"
    config_names = ("mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg")
    suppresses = "python"

    def argv(self, options: Options, workdir: str) -> tuple[str, ...]:
        missing = ("--ignore-missing-imports",) if options.settings["ignore_missing_imports"] == "yes" else ()
        return (
            *("mypy", f"--config-file={self.config_place(options, workdir)}", *missing, "--no-incremental"),
            *("--cache-dir=/dev/null", "--output", "json", *options.paths(workdir)),
        )

    def report(self, raw: Raw) -> Report:
        return read(raw)


def read(raw: Raw) -> Report:
    """Whole JSON lines."""
    if raw.exit_code not in (None, 0, 1):
        words = raw.data.strip()[:300].decode("utf-8", "replace") or raw.stderr.strip()[-300:]
        raise AnalyzerError(f"mypy could not check everything (exit code {raw.exit_code}): {words}")
    if raw.exit_code is None and not raw.data.strip():
        raise AnalyzerError(f"mypy wrote no report{ended(raw)}")
    if raw.data.strip() and not raw.data.endswith(b"\n"):
        raise AnalyzerError("the mypy report ends in the middle of a line")
    everything = [_finding(line, raw) for line in raw.data.splitlines() if line.strip()]
    errors = tuple(f for f in everything if f.severity == "error")
    # mypy 1.11 to 2.4 ends with 1 for notes alone, but only with --output json.
    fitting = {1} if errors else {0, 1} if everything else {0}
    agree("mypy", raw, fitting, f"{len(errors)} errors")
    return Report(errors, counts={"notes": len(everything) - len(errors)})


def _finding(line: bytes, raw: Raw) -> Finding:
    try:
        entry: Any = json.loads(line)
    except (ValueError, RecursionError):
        words = line[:160].decode("utf-8", "replace")
        raise AnalyzerError(f"the mypy report holds a line that is no JSON: {words!r}") from None
    return next(iter(shaped("mypy", lambda: list(_read(entry, raw)))))


def _read(entry: Any, raw: Raw) -> Iterable[Finding]:
    where, text, rule = relative(str(entry["file"]), raw), str(entry["message"]), str(entry["code"] or "mypy")
    if rule == "syntax":
        raise unparsable("mypy", where, text)
    severity = {"error": "error", "note": "note"}[entry["severity"]]
    yield Finding(rule, where, int(entry["line"]), text, severity, key=text if rule == "mypy" else "")
