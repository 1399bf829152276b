"""Where in a benchmark a task's mistake is, for messages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orchestrator.documents.benchmark import Benchmark, Task
from orchestrator.errors import AuthoringError, Problem


@dataclass(frozen=True)
class Place:
    """One task in its benchmark: where its files are, and how its mistakes are told."""

    benchmark: Benchmark
    task: Task

    @property
    def root(self) -> Path:
        """Every path of the task is relative to this folder."""
        return self.benchmark.root

    def wrong(self, path: str, message: str, hint: str = "", *, file: Path | None = None) -> AuthoringError:
        """The author's mistake at `path` in this task ("source.sha256"), or in another `file` it names."""
        index = next((i for i, t in enumerate(self.benchmark.tasks) if t.id == self.task.id), None)
        where = f"tasks[{index if index is not None else self.task.id}].{path}"
        name = self.benchmark.file or str(self.root / "benchmark.yaml")
        if file is not None:
            return AuthoringError(Problem(str(file), 0, where, message, hint))
        return AuthoringError(Problem(name, self.task.line, where, message, hint))

    def read(self, path: str, relative: str) -> bytes:
        """The bytes of a file the task names. Raises AuthoringError when there is none."""
        try:
            return (self.root / relative).read_bytes()
        except OSError as error:
            message = f"cannot read {relative}: {error.strerror}"
            raise self.wrong(path, message, "paths are relative to the benchmark's folder") from error
