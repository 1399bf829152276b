"""A command-line analyzer run under our control, the same way on both sides.

The programs are the image's own, the configuration is given by name, from outside the work tree or from the
state before the change; the tool runs outside the work tree, its report goes to a file, and what it was to
analyse is listed by us. Comments that suppress findings are ignored where the tool can be told so. What a
check may say about a tool: `options`.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence

from orchestrator.analyzers import errand
from orchestrator.analyzers.measurement import AnalyzerError, Measurement
from orchestrator.analyzers.options import ANNOTATIONS, Options, Setting, parse
from orchestrator.analyzers.reports import Raw, Report, count, ended
from orchestrator.contract import Check, Step, StepResult
from sandboxes.spec import Command, Entry, Layer

REPORT = "/tmp/proctor-report"
CONFIG_FOLDER = "/proctor-config"
"""Where a configuration given in the rubric lies in a room, read-only."""


class Tool:
    """What the built-in tools have in common; a subclass says how one is called and how its report reads."""

    name: str
    extensions: tuple[str, ...] = ("php",)
    settings: Mapping[str, Setting] = {}
    config_name: str = ""
    """File name for a configuration given in the rubric; empty: the tool takes none."""
    config_names: tuple[str, ...] = ()
    lists_files: bool = False
    """True when the report names every file that was analysed, clean ones too."""
    suppresses: str = ""
    unseeing: tuple[str, ...] = ()
    """Flags that make the tool ignore comments that suppress findings; empty: it has none."""
    outside: bool = True
    report_file: str = REPORT

    # What a subclass says ---------------------------------------------------------------------------------

    def version_argv(self) -> tuple[str, ...]:
        return (self.name, "--version")

    def argv(self, options: Options, workdir: str) -> tuple[str, ...]:
        """The command; its standard output is the report unless it writes `report_file` itself."""
        raise NotImplementedError

    def report(self, raw: Raw) -> Report:
        """Raises AnalyzerError."""
        raise NotImplementedError

    writes_file: bool = False

    # What they share --------------------------------------------------------------------------------------

    def steps(self, check: Check, workdir: str) -> Sequence[Step]:
        options = self.options(check)
        targets = None if self.lists_files else options.paths(workdir)
        report = "" if self.writes_file else self.report_file
        script = errand.script(targets, options.extensions, self.version_argv(), report)
        argv = ("/bin/sh", "-c", script, "sh", *self.argv(options, workdir))
        reads = (errand.VERSION, self.report_file, *(() if targets is None else (errand.FILES,)))
        return (Step(Command(argv, cwd="/"), reads=reads, layers=self._layers(options, workdir)),)

    def read(self, check: Check, workdir: str, results: Sequence[StepResult]) -> Measurement:
        options = self.options(check)
        run = results[-1]
        listed = None if self.lists_files else errand.listed(self.name, run, workdir)
        reported = run.files.get(self.report_file) is not None
        version = self.version_of(errand.version_words(self.name, run, reported))
        raw = self._raw(run, version, workdir)
        report = self.report(raw)
        files = report.files if listed is None else listed
        return self._measured(options, workdir, raw, report, files)

    def config_paths(self, check: Check) -> Sequence[str]:
        options = self.options(check)
        own = (options.config,) if options.config and not options.inline else ()
        return tuple(posixpath.normpath(path) for path in (*own, *options.config_files))

    def options(self, check: Check) -> Options:
        """Raises OptionError."""
        known = {**self.settings, **({"annotations": ANNOTATIONS} if self.unseeing else {})}
        return parse(check, self.name, self.extensions, known, bool(self.config_name))

    def obeys_suppressions(self, check: Check) -> bool:
        """Whether comments in the code make the tool look away in this check's runs."""
        return not self.unseeing or self.options(check).settings["annotations"] == "obey"

    def unseen(self, options: Options) -> tuple[str, ...]:
        """The flags against such comments, unless the check has them obeyed."""
        return () if options.settings.get("annotations") == "obey" else self.unseeing

    def config_place(self, options: Options, workdir: str) -> str:
        """Where the configuration lies in the room; empty when none was given."""
        if options.inline:
            return posixpath.join(CONFIG_FOLDER, self.config_name)
        return posixpath.join(workdir, options.config) if options.config else ""

    def _layers(self, options: Options, workdir: str) -> tuple[Layer, ...]:
        if not options.inline:
            return ()
        return (config_layer({self.config_name: options.config}),)

    def version_of(self, words: str) -> str:
        """The version in what `version_argv` prints."""
        found = re.search(r"\d+\.\d+[\w.+-]*", words)
        return found[0].rstrip(".") if found else words.splitlines()[0][:80]

    def _raw(self, run: StepResult, version: str, workdir: str) -> Raw:
        done = run.done
        if done.end != "exited" or done.exit_code is None:
            raise AnalyzerError(f"{self.name} did not come to its end: {done.end}")
        data = run.files.get(self.report_file)
        words = (done.stdout.text + done.stderr.text).strip()
        raw = Raw(data or b"", done.exit_code, version, words, workdir)
        if data is None:
            why = run.unread.get(self.report_file)
            raise AnalyzerError(f"{self.name} wrote no report" + (f": {why}" if why else ended(raw)))
        return raw

    def _measured(
        self, options: Options, workdir: str, raw: Raw, report: Report, files: frozenset[str] | None
    ) -> Measurement:
        if files is not None and not files:
            raise AnalyzerError(f"{self.name}: there was no file to analyse")
        findings = report.findings
        counts = count(findings) | dict(report.counts) | ({"files": len(files)} if files is not None else {})
        if options.count == "errors":
            findings = tuple(f for f in findings if f.severity == "error")
        scored = report.value is not None
        return Measurement(
            tool=self.name,
            value=float(len(findings)) if report.value is None else report.value,
            higher_is_better=scored,
            unit="points" if scored else "errors" if options.count == "errors" else "findings",
            tool_version=raw.version,
            counts=counts,
            command=shlex.join(self.argv(options, workdir)),
            exit_code=raw.exit_code or 0,
            target=" ".join(options.targets),
            config_digest=options.digest(),
            findings=None if scored else findings,
            files=files,
        )


def config_layer(files: Mapping[str, str | bytes]) -> Layer:
    """Files of our own at CONFIG_FOLDER, read-only in the room."""
    data = {name: text.encode() if isinstance(text, str) else text for name, text in sorted(files.items())}
    digest = hashlib.sha256(repr(data).encode()).hexdigest()
    entries = [Entry(name.encode(), 0o100644, content) for name, content in data.items()]
    return Layer(f"config-{digest}", CONFIG_FOLDER, lambda: iter(entries))
