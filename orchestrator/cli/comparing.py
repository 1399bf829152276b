"""What `proctor delta` compares: two saved reports, or two states measured in rooms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.cli.sides import State

if TYPE_CHECKING:
    from orchestrator.checks.delta_forms import Gate
    from orchestrator.contract import ChangedFile
    from orchestrator.plugins import Registry
    from orchestrator.worktree.trees import TreeStore
    from sandboxes.spec import Image, Layer, Limits

NAME = "delta"
PHP = ("php-cli", "php-codesniffer", "phpmd")
"""Debian's packages that hold the PHP tools; one image for all of them."""
PHP_TOOLS = ("phpcs", "phpmd", "php-lint")
WORKDIR = "/workspace"
MEMORY = 2048 << 20
TIME = 1800.0
"""Seconds one run of the analyser may take."""


# Saved reports ----------------------------------------------------------------------------------------------


def saved(
    tool: str,
    before: tuple[str, str],
    after: tuple[str, str],
    minimum: float,
    mode: str,
    renames: Mapping[str, str] | None = None,
) -> Gate:
    """Two reports as (file, root); `renames` is old path -> new path.

    Raises AuthoringError for what is no report: an unreadable one is no measurement, and so nobody's
    improvement.
    """
    from orchestrator.checks.comparison import compare
    from orchestrator.checks.contest import Ruling, settle
    from orchestrator.checks.delta_forms import BY_MESSAGE, Gate
    from orchestrator.contract import ChangedFile
    from orchestrator.errors import AuthoringError

    for file, _ in (before, after):
        if not Path(file).is_file():
            raise AuthoringError(f"{file} is no saved report: give two of them, or two states")
    old, new = (_report(tool, *side) for side in (before, after))
    changes = [ChangedFile(now, was, "renamed") for was, now in (renames or {}).items()]
    compared = compare(object(), old, new, changes)  # type: ignore[arg-type]
    cause, score = settle(compared, minimum, "no_new" if mode == "no_new" else "net")
    reason = "new findings" if cause == "new_findings" else ""
    return Gate(Ruling(cause, reason, score, compared), minimum, mode, BY_MESSAGE)


def _report(tool: str, file: str, root: str) -> Any:
    from orchestrator.analyzers import AnalyzerError, Measurement
    from orchestrator.analyzers.formats import FORMATS
    from orchestrator.analyzers.reports import Raw, count
    from orchestrator.errors import AuthoringError
    from orchestrator.loading.texts import read_bytes

    if tool not in FORMATS:
        raise AuthoringError(f"no saved report of {tool!r} can be read; known: {', '.join(sorted(FORMATS))}")
    try:
        report = FORMATS[tool](Raw(read_bytes(Path(file), 512 << 20), root=root))
    except AnalyzerError as error:
        raise AuthoringError(f"{file}: {error}") from None
    scored = tool == "audit"
    value = report.value if scored and report.value is not None else float(len(report.findings))
    return Measurement(
        tool=tool,
        value=value,
        higher_is_better=scored,
        unit="points" if scored else "findings",
        counts=count(report.findings),
        findings=None if scored else report.findings,
        files=report.files,
    )


# Two states -------------------------------------------------------------------------------------------------


def place_of(
    tool: str, image: str | None, debian: str | None, profile: str | None, config: Path | None
) -> tuple[Image, Limits]:
    """Where the tool is: what was asked for, else Debian's packages for the PHP tools, else this machine."""
    from orchestrator.errors import AuthoringError
    from orchestrator.loading import load_config
    from orchestrator.tools import image_of, limits_of
    from sandboxes.spec import Image, Limits

    limits = Limits(memory=MEMORY, time=TIME)
    if sum(given is not None for given in (image, debian, profile)) > 1:
        raise AuthoringError("give only one of --image, --debian and --profile")
    if image is not None:
        return Image("image", image), limits
    if debian is not None:
        return Image("debian", "bookworm", tuple(debian.split(","))), limits
    if profile is not None:
        folder = config or Path()
        known = load_config(folder).profiles
        if profile not in known:
            raise AuthoringError(f"{folder} has no profile {profile!r}; known: {', '.join(known) or 'none'}")
        root = folder if folder.is_dir() else folder.parent
        return image_of(known[profile].environment, root), limits_of(known[profile].limits)
    return (Image("debian", "bookworm", PHP) if tool in PHP_TOOLS else Image("host")), limits


def check_of(tool: str, minimum: float, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The check that the command line asks for; what the tool does not know in `metadata` is refused."""
    own = {"kind": "score_delta", "id": NAME, "tool": tool, "only_options": True}
    return {**own, "min_delta": minimum, "metadata": metadata}


def measured(
    check: Mapping[str, Any],
    sides: tuple[State, State],
    place: tuple[Image, Limits],
    sandbox: str | None,
    packages: Mapping[str, Sequence[str]],
    config: Path | None,
    *,
    renames: bool,
) -> Gate:
    """Both runs in rooms. Raises AuthoringError (BEFORE cannot be measured, too) and SandboxError."""
    from datetime import UTC, datetime

    from orchestrator.analyzers import OptionError
    from orchestrator.checks.contest import Contest
    from orchestrator.checks.delta_forms import Gate
    from orchestrator.checks.score_delta import ScoreDeltaExecutor
    from orchestrator.errors import AuthoringError, TaskInvalid
    from orchestrator.evidence import RoomJudge
    from orchestrator.plugins import Instances
    from orchestrator.worktree.trees import TreeStore
    from sandboxes.home import home
    from sandboxes.spec import RoomSpec

    registry = _registry(config)
    try:
        ask = ScoreDeltaExecutor(Instances(registry.analyzers)).ask(check)
        # Its options are read before the states are, which may take long.
        ask.analyzer.steps(check, WORKDIR)
    except OptionError as mistake:
        raise AuthoringError(str(mistake)) from None
    store = TreeStore(home() / "trees")
    before, after = (side(store) for side in sides)
    layers, env = _installed(packages, store)

    def changes() -> tuple[ChangedFile, ...]:
        found = store.changes(before, after)
        return found if renames else without_renames(found)

    try:
        with _rooms(registry, sandbox) as provider:
            judge = RoomJudge(
                provider=provider,
                room=RoomSpec(place[0], layers, WORKDIR, env, place[1], label=NAME),
                trees=store,
                judge_tree=before,
                graded_tree=after,
                changes=changes,
            )
            ruling = Contest(check, judge, ask, lambda: datetime.now(UTC)).ruling()
    except OptionError as mistake:
        raise AuthoringError(str(mistake)) from None
    except TaskInvalid as invalid:
        raise AuthoringError(f"BEFORE cannot be measured: {_plainly(str(invalid))}") from None
    return Gate(ruling, ask.minimum, ask.mode)


def _plainly(reason: str) -> str:
    """The first line of it, and how to come by the tool where it is missing."""
    first = reason.strip().splitlines()[0]
    if "does not say its version" not in first:
        return first
    return f"{first}. Say where it is to be had: --pip, --npm, --debian, --image or --profile"


def _registry(config: Path | None) -> Registry:
    from orchestrator.loading import load_config
    from orchestrator.plugins import Registry

    return Registry.load().with_analyzers(load_config(config or Path()).analyzers)


@contextmanager
def _rooms(registry: Registry, sandbox: str | None) -> Iterator[Any]:
    from orchestrator.cli.engine import opened
    from sandboxes.spec import Owner

    with opened(registry.sandboxes, sandbox, Owner.current(NAME)) as provider:
        yield provider


def _installed(
    packages: Mapping[str, Sequence[str]], store: TreeStore
) -> tuple[tuple[Layer, ...], Mapping[str, str]]:
    """Packages of registries as read-only layers, and the search paths they need."""
    if not any(packages.values()):
        return (), {}
    from dataclasses import replace

    from orchestrator.documents.benchmark import Benchmark, Dependencies, Task
    from orchestrator.errors import AuthoringError
    from orchestrator.tasks import dependencies
    from orchestrator.tasks.place import Place

    nowhere = Benchmark(id=NAME, version="0", tasks=(), root=Path.cwd())
    wanted = Dependencies(**{name: tuple(items) for name, items in packages.items()})
    try:
        found = dependencies.install(wanted, store, Place(nowhere, Task(id=NAME)))
    except AuthoringError as error:
        told = [replace(problem, file="", line=0, path="the tool's packages") for problem in error.problems]
        raise AuthoringError(told) from None
    return found.layers, dependencies.merged({}, found.env)


def without_renames(changes: Sequence[ChangedFile]) -> tuple[ChangedFile, ...]:
    """Each rename as a file that went and one that came."""
    from dataclasses import replace

    from orchestrator.contract import ChangedFile

    found: list[ChangedFile] = []
    for change in changes:
        if change.old_path is None:
            found.append(change)
            continue
        found.append(ChangedFile(change.old_path, None, "deleted", change.before, None))
        found.append(replace(change, old_path=None, status="added", before=None))
    return tuple(found)
