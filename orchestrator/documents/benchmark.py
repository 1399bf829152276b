"""A benchmark and its tasks, as authors write them. Mirrors schema/benchmark.schema.json.

Sizes and times are parsed by `loading` ("512M" -> bytes, "10m" -> seconds) before these are built.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.documents.scoring import Gate, JudgeModel, JudgePanel, QuestionScoring


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Environment(_Document):
    """The base file system of the task's rooms: exactly one of image, dockerfile, debian, host."""

    image: str | None = None
    dockerfile: str | None = None
    """Folder of a Dockerfile, relative to the benchmark."""
    debian: DebianRecipe | None = None
    host: bool = False


class DebianRecipe(_Document):
    """A base system built from Debian's packages; needs no registry of images."""

    suite: str = "bookworm"
    packages: tuple[str, ...] = ()
    """By name, or pinned as name=version. What was installed is kept with the records."""


class PathSource(_Document):
    """A folder beside the benchmark. Its .git, if any, is left out."""

    kind: Literal["path"]
    path: str


class GitSource(_Document):
    """One commit of a repository; its history never enters a room."""

    kind: Literal["git"]
    url: str
    """URL or local path (relative to the benchmark)."""
    ref: str


class ArchiveSource(_Document):
    """A tar or zip file, by path or URL; a single top folder is stripped."""

    kind: Literal["archive"]
    path: str | None = None
    url: str | None = None
    sha256: str


class ReleaseHashes(_Document):
    """SHA-256 of each release's file, in hexadecimal."""

    fixed: str
    broken: str


class ReleasePairSource(_Document):
    """Two releases of one package: the state is the fixed one with the files below `swap` taken from the
    broken one; the gold patch is computed from the pair (C-6)."""

    kind: Literal["release_pair"]
    ecosystem: Literal["pypi", "npm", "debian"]
    """debian: binary packages, from whichever suite has the version."""
    package: str
    fixed: str
    broken: str
    sha256: ReleaseHashes
    swap: tuple[str, ...]
    """Path prefixes (a folder or a file) replaced by the broken release's."""
    keep: tuple[str, ...] = ()
    """Globs below `swap` that stay as in the fixed release (tests that live beside the source)."""


class DebianSource(_Document):
    """A Debian source package with all its patches, without its folder `debian`.

    revert_fix takes the source part of some of them out again, and the gold patch puts it back."""

    kind: Literal["debian"]
    package: str
    version: str
    suite: str = "bookworm"
    sha256: Mapping[str, str]
    """By file name: at least the .orig.tar and the .debian.tar."""
    revert: tuple[str, ...] = ()
    """Names of patches in debian/patches/series."""
    keep: tuple[str, ...] = ("/debian", "/test", "/tests")
    """Globs of what a reverted patch leaves alone."""


Source = Annotated[
    PathSource | GitSource | ArchiveSource | ReleasePairSource | DebianSource, Field(discriminator="kind")
]


class Dependencies(_Document):
    """Pinned lists, installed once into a read-only layer (build scripts off)."""

    pip: tuple[str, ...] = ()
    """name==version; only wheels are taken. On PYTHONPATH in every room."""
    npm: tuple[str, ...] = ()
    """name@version; on NODE_PATH in every room."""
    apt: tuple[str, ...] = ()
    """name or name=version; unpacked, their scripts not run. On PATH and the library path."""


class TaskLimits(_Document):
    """Bytes and seconds. None means the default of `sandboxes.spec.Limits`; anything else counts as asked
    for, so a machine that cannot enforce it refuses to start."""

    cpus: float | None = None
    memory: int | None = None
    pids: int | None = None
    disk: int | None = None
    output: int | None = None
    agent_time: float | None = None
    """Seconds the agent may take."""
    oracle_time: float | None = None
    """Seconds one oracle command may take."""
    trial_time: float | None = None
    """Seconds for the agent's part of a trial, and again for the judge's, so that an agent that used it up is
    still graded (B133). The nearer limit wins."""


class NetworkPolicy(_Document):
    """What rooms may reach: nothing, unless hosts are named."""

    allow: tuple[str, ...] = ()


class Task(_Document):
    """One task (or question). Everything after `metadata` needs an environment (C-6)."""

    id: str
    input: str = ""
    """The instruction given to the agent."""
    criteria: str = ""
    rubric_ref: str | None = None
    expected: Mapping[str, Any] = Field(default_factory=dict)
    metadata: Mapping[str, Any] = Field(default_factory=dict)
    graders: tuple[str, ...] | None = None
    """By name; see `orchestrator.graders`. None: ("rubric_checks",) with an environment, nothing without
    (C-56)."""

    setup: Literal["none", "revert_fix", "apply_patch"] = "none"
    environment: Environment | None = None
    source: Source | None = None
    dependencies: Dependencies = Dependencies()
    workdir: str = "/workspace"
    fix_patch: str | None = None
    """Path of the fix, relative to the benchmark. revert_fix reverses it; gold applies it."""
    setup_patch: str | None = None
    test_patch: str | None = None
    hidden_files: Mapping[str, str] = Field(default_factory=dict)
    """Path in the work tree -> file relative to the benchmark; only in the judge's rooms."""
    protected: tuple[str, ...] = ()
    """More globs put back from the before state before grading (beside the built-in list)."""
    unprotected: tuple[str, ...] = ()
    """Globs of the built-in list that this task lets the agent change."""
    env: Mapping[str, str] = Field(default_factory=dict)
    limits: TaskLimits = TaskLimits()
    network: NetworkPolicy = NetworkPolicy()
    line: int = Field(default=0, exclude=True, repr=False)
    """Where the task begins in the benchmark's file, for messages; not part of what it is."""

    @property
    def has_environment(self) -> bool:
        return self.environment is not None

    @property
    def grades_rubric(self) -> bool:
        """Whether the rubric's checks are executed in a run (rule 40, C-56)."""
        return any(name.partition(":")[0] == "rubric_checks" for name in self.grader_names)

    @property
    def grader_names(self) -> tuple[str, ...]:
        """Who scores it: what `graders` says, or the default."""
        if self.graders is not None:
            return self.graders
        return ("rubric_checks",) if self.has_environment else ()

    @property
    def row(self) -> dict[str, Any]:
        """The question row that checks see as their context (rule 142)."""
        return {
            "id": self.id,
            "input": self.input,
            "criteria": self.criteria,
            "rubric_ref": self.rubric_ref,
            "expected": self.expected,
            "metadata": self.metadata,
        }


class Benchmark(_Document):
    """benchmarks/<name>/benchmark.yaml, `defaults` already merged into each task."""

    id: str
    version: str
    label: str = ""
    description: str = ""
    bundle: str | None = None
    scoring: QuestionScoring = QuestionScoring()
    gates: tuple[Gate, ...] = ()
    """Without any, a failed trial is exit 1; with them, only a hard gate that is missed (rule 193, C-44)."""
    tasks: tuple[Task, ...]
    root: Path
    """Folder of the file; every relative path is below it."""
    file: str = Field(default="", exclude=True, repr=False)
    """The file itself, as messages name it."""


class Profile(_Document):
    """A named sandbox in proctor.yaml: replaces only the image and its limits (C-5)."""

    environment: Environment
    limits: TaskLimits = TaskLimits()


class AnalyzerTool(_Document):
    """A command-line analyzer of the benchmark's own; see `orchestrator.analyzers.declared`."""

    command: str
    format: str
    version: str = ""
    exit_codes: tuple[int, ...] = (0, 1)
    extensions: tuple[str, ...] = ()
    direction: Literal["lower_is_better", "higher_is_better"] = "lower_is_better"
    suppressions: str = ""
    config: tuple[str, ...] = ()


class Config(_Document):
    """proctor.yaml beside the benchmark, or --config."""

    profiles: Mapping[str, Profile] = Field(default_factory=dict)
    analyzers: Mapping[str, AnalyzerTool] = Field(default_factory=dict)
    judges: Mapping[str, JudgeModel] = Field(default_factory=dict)
    """By name; a task's grader `judge:NAME` asks one."""
    panels: Mapping[str, JudgePanel] = Field(default_factory=dict)
    """By name; a task's grader `panel:NAME` asks all of its judges."""


Environment.model_rebuild()
