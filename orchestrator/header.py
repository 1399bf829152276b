"""What a run is: run.json, written before its first trial and read back by everyone."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.errors import AuthoringError
from orchestrator.regular import NotRegular, open_regular, read_regular

HEADER = "run.json"
DRAFT = f".{HEADER}.draft"
"""What a start leaves that was killed while it wrote the header."""


class RunHeader(BaseModel):
    """What a run is: run.json, written before its first trial."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    format: Literal["1"] = "1"
    run_id: str
    benchmark: str
    started: str
    """ISO 8601, UTC."""
    resumed: tuple[str, ...] = ()
    """When it was taken up again, each time."""
    argv: tuple[str, ...] = ()
    provider: str = ""
    versions: Mapping[str, str] = Field(default_factory=dict)
    """Of proctor, Python, the engine, the kernel."""
    benchmark_digest: str = ""
    tags: tuple[str, ...] = ()
    """Words it was started with, to find it by."""
    machine: Mapping[str, str] = Field(default_factory=dict)
    """name, system, cores, memory."""
    git: Mapping[str, str] = Field(default_factory=dict)
    """revision, branch and state (clean, changed) of the repository around the benchmark, if there is one."""
    given: Mapping[str, Any] = Field(default_factory=dict)
    """Where its documents lay: benchmark, rubrics (more folders), config; and which executors were chosen."""
    regraded_from: str = ""
    """The id of the run whose kept work was graded again; empty when agents worked."""
    plan: Mapping[str, Any]
    """As `Plan.to_json` gave it; `Plan.from_json` reads it back."""

    @classmethod
    def begin(cls, benchmark: str, plan: Mapping[str, Any], **facts: Any) -> RunHeader:
        """The header of a run that starts now, under a new id. `facts`: argv, provider, versions, ..."""
        return cls(run_id=new_run_id(benchmark), benchmark=benchmark, started=now(), plan=plan, **facts)


def now() -> str:
    """The time of day: ISO 8601, UTC. To the millisecond, so that runs of one second have an order."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def new_run_id(benchmark: str) -> str:
    """ "<UTC time>-<benchmark>-<random>": two runs that start in the same second differ (B129)."""
    name = re.sub(r"[^a-z0-9_]+", "-", benchmark.lower()).strip("-")[:40] or "run"
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{name}-{secrets.token_hex(4)}"


def read_header(path: Path) -> RunHeader:
    """What the run folder `path` says it is. Raises AuthoringError when it holds no run that can be read."""
    file = path / HEADER
    try:
        return RunHeader.model_validate(json.loads(read_regular(file)))
    except (FileNotFoundError, NotADirectoryError):
        raise AuthoringError(f"{path} is not a run folder: it has no {HEADER}") from None
    except NotRegular as error:
        raise AuthoringError(f"{file} {error.strerror}, so {path} is not a run folder") from None
    except OSError as error:
        raise AuthoringError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise AuthoringError(f"{file} was not written by this version of proctor, or is damaged") from None


def write_header(path: Path, header: RunHeader) -> None:
    """Replace run.json in one step: a reader, or a crash, sees the old one or the new one. Raises OSError."""
    draft = path / DRAFT
    handle = open_regular(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with open(handle, "w", encoding="ascii") as file:  # noqa: PTH123 a descriptor
        json.dump(header.model_dump(mode="python"), file, indent=1, default=dict)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path / HEADER)
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
