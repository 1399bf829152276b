"""A command-line analyzer run under our control, the same way on both sides.

The programs are the image's own, the configuration is given by name, from outside the work tree or from the
state before the change; the tool runs outside the work tree, its report goes to a file, and what it was to
analyse is listed by us. Comments that suppress findings are ignored where the tool can be told so.

Options in a check's `metadata` that every tool knows: `target` (a path or a list of paths in the work tree;
all of it), `extensions` ("php,inc"), `count` ("all", or "errors"), `config` (text with line breaks is the
configuration itself, anything else a path in the work tree), `config_files` (more paths in the work tree the
configuration draws on), `annotations` ("ignore", or "obey" such comments).
"""

from __future__ import annotations

import difflib
import hashlib
import json
import posixpath
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.analyzers.measurement import AnalyzerError, Measurement, OptionError, option
from orchestrator.analyzers.reports import Raw, Report, count, ended
from orchestrator.contract import Check, Step, StepResult
from sandboxes.spec import Command, Entry, Layer

REPORT = "/tmp/proctor-report"
FILES = "/tmp/proctor-files"
CONFIG_FOLDER = "/proctor-config"
"""Where a configuration given in the rubric lies in a room, read-only."""

_PATH = re.compile(r"[^\0\r\n]+")
_EXTENSION = re.compile(r"[A-Za-z0-9_+-]+")
_COUNTS = ("all", "errors")
SHARED = ("target", "extensions", "count", "config", "config_files")
OWN = ("allow", "forbid", "mode", "weights")
"""What score_delta itself reads from `metadata`."""


@dataclass(frozen=True)
class Setting:
    """One option of a tool's own. `pattern` must match the whole word."""

    default: str
    pattern: re.Pattern[str] = re.compile(r"[\w.,:/@+-]+")
    says: str = "a word without blanks"


ANNOTATIONS = Setting("ignore", re.compile("ignore|obey"), "ignore or obey")
"""Whether comments that suppress findings are obeyed, for tools that can be told not to."""


@dataclass(frozen=True)
class Options:
    """A check's options, parsed."""

    targets: tuple[str, ...]
    extensions: tuple[str, ...]
    count: str
    config: str = ""
    """Its text, or a path in the work tree."""
    config_files: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def inline(self) -> bool:
        return "\n" in self.config

    def paths(self, workdir: str) -> tuple[str, ...]:
        return tuple(posixpath.normpath(posixpath.join(workdir, target)) for target in self.targets)

    def digest(self) -> str:
        facts = [self.targets, self.extensions, self.count, self.config, self.config_files]
        said = json.dumps([*facts, sorted(self.settings.items())])
        return hashlib.sha256(said.encode()).hexdigest()


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
        version: tuple[str, ...] = self.version_argv()
        reads: tuple[str, ...] = ()
        if not self.lists_files:
            version, reads = ("/bin/sh", "-c", _listing(options, workdir, version)), (FILES,)
        run = self.argv(options, workdir)
        if not self.writes_file:
            run = ("/bin/sh", "-c", f'exec "$@" >{self.report_file}', "sh", *run)
        return (
            Step(Command(version, cwd="/"), reads=reads, stop_unless_ok=True),
            Step(Command(run, cwd="/"), reads=(self.report_file,), layers=self._layers(options, workdir)),
        )

    def read(self, check: Check, workdir: str, results: Sequence[StepResult]) -> Measurement:
        options = self.options(check)
        version = self._version(results[0])
        listed = None if self.lists_files else _listed(self.name, results[0], workdir)
        run = results[1]
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
        no_slips(check, {*SHARED, *known, *OWN})
        counted = option(check, "count", "all")
        if counted not in _COUNTS:
            raise OptionError(f"metadata.count is {counted!r}; it must be all or errors")
        config = option(check, "config", "")
        if not isinstance(config, str) or (config and not self.config_name):
            raise OptionError(f"metadata.config is {config!r}; {self.name} takes none of that kind")
        made = Options(
            targets=texts(option(check, "target", "."), "target"),
            extensions=_extensions(option(check, "extensions", None), self.extensions),
            count=counted,
            config=config,
            config_files=texts(option(check, "config_files", []), "config_files"),
            settings={name: _setting(check, name, setting) for name, setting in known.items()},
        )
        within(*made.targets, *made.config_files, *(() if made.inline else (made.config,)))
        return made

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

    def _version(self, result: StepResult) -> str:
        words = result.done.stdout.text.strip()
        if not result.done.ok or not words:
            done = result.done
            end = done.end if done.end != "exited" else f"exit code {done.exit_code}"
            said = done.stderr.text.strip()[-200:]
            raise AnalyzerError(
                f"{self.name} does not say its version ({end}): is it installed in the image?"
                + (f" {said}" if said else "")
            )
        return self.version_of(words)

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


def no_slips(check: Check, known: Collection[str]) -> None:
    """Raises OptionError for a name in `metadata` that is nearly an option; other notes are the author's."""
    metadata = check.get("metadata")
    for name in metadata if isinstance(metadata, Mapping) else ():
        near = difflib.get_close_matches(str(name), known, 1, 0.8)
        if near and name not in known:
            raise OptionError(f"metadata.{name} is no option; did you mean {near[0]}?")


def texts(value: Any, name: str) -> tuple[str, ...]:
    """One text or a list of them. Raises OptionError."""
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list | tuple) or not all(
        isinstance(t, str) and _PATH.fullmatch(t) for t in found
    ):
        raise OptionError(f"metadata.{name} is {value!r}; it must be a path or a list of paths")
    return tuple(found)


def within(*paths: str) -> None:
    """Raises OptionError for a path that leaves the work tree or would be taken for an option."""
    for path in paths:
        if path.startswith(("/", "-")) or ".." in path.split("/"):
            raise OptionError(f"{path!r} leaves the work tree; write a path relative to it")


def _extensions(value: Any, default: tuple[str, ...]) -> tuple[str, ...]:
    if value is None:
        return default
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not words:
        raise OptionError(f"metadata.extensions is {value!r}; write them as php,inc")
    for word in words:
        if not isinstance(word, str) or not _EXTENSION.fullmatch(word):
            raise OptionError(f"metadata.extensions is {value!r}; write them as php,inc")
    return tuple(words)


def _setting(check: Check, name: str, known: Setting) -> str:
    value = option(check, name, known.default)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        value = ",".join(value)
    if not isinstance(value, str) or (value and (not known.pattern.fullmatch(value) or value[0] == "-")):
        raise OptionError(f"metadata.{name} is {value!r}; it must be {known.says}")
    return value


def _listing(options: Options, workdir: str, version: tuple[str, ...]) -> str:
    """Lists what there is to analyse, then says the version."""
    names = " -o ".join(f"-name {shlex.quote(f'*.{extension}')}" for extension in options.extensions)
    where = " ".join(shlex.quote(path) for path in options.paths(workdir))
    find = rf"find {where} -name .git -prune -o -type f \( {names} \) -print0 >{FILES} || exit 66"
    return f"{find}; exec {shlex.join(version)}"


def _listed(tool: str, result: StepResult, workdir: str) -> frozenset[str]:
    if result.done.exit_code == 66:
        raise AnalyzerError(f"{tool}: {result.done.stderr.text.strip()[-300:] or 'a target is not there'}")
    data = result.files.get(FILES)
    if data is None:
        raise AnalyzerError(f"{tool}: nobody could list what there is to analyse")
    root = workdir.rstrip("/") + "/"
    paths = data.decode("utf-8", "surrogateescape").split("\0")
    return frozenset(path.removeprefix(root) for path in paths if path)
