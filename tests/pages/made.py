"""Run folders of any size, written through the house's own store: what the pages are tried on."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator import plan as plans
from orchestrator.documents.benchmark import Benchmark, Task
from orchestrator.documents.record import (
    AgentRecord,
    ChangeRecord,
    End,
    OutcomeRecord,
    PhaseTime,
    TrialRecord,
    TrialStatus,
    VerdictRecord,
)
from orchestrator.documents.scoring import Gate
from orchestrator.plan import Plan, TrialJob
from orchestrator.store import RunHeader, Store

Twist = Callable[[TrialRecord, dict[str, bytes]], TrialRecord]
"""A last change to a record and to its artifacts, before both are kept."""

AREAS = ("parser", "cache", "billing", "export", "search", "routing", "session", "queue", "layout", "money")
FAULTS = ("quotes", "rounding", "timezone", "overflow", "refresh", "ordering", "unicode", "retries")
HEAD = "cases.tests.test_{area}.{camel}"


def make_run(
    folder: Path,
    tasks: int | Sequence[str] = 8,
    agents: Sequence[str] = ("gold", "noop", "command:./solve.sh --model small"),
    repeats: int = 1,
    *,
    begun: float = 1.0,
    gates: Sequence[Gate] = (),
    seed: int = 1,
    started: str = "2026-11-03T02:00:00+00:00",
    benchmark: str = "real_fixes",
    twist: Twist = lambda record, kept: record,
    artifacts: bool = True,
) -> Path:
    """A run in `folder`, of which the share `begun` has ended. The same arguments give the same run."""
    chance = random.Random(seed)
    names = list(tasks) if not isinstance(tasks, int) else [_task(n) for n in range(tasks)]
    made = Benchmark(
        id=benchmark, version="1.2", tasks=tuple(Task(id=n) for n in names), root=folder, gates=tuple(gates)
    )
    plan = plans.make(made, agents, repeats) if names else Plan(benchmark, "1.2", tuple(agents), 1, ())
    header = RunHeader(
        run_id=f"{started[:10].replace('-', '')}T020000Z-{benchmark}-{seed:08x}",
        benchmark=benchmark,
        started=started,
        provider="oci",
        versions={"proctor": "0.1.0", "python": "3.11.2", "kernel": "6.1.0", "oci": "runc 1.1.5"},
        argv=("proctor", "run", f"benchmarks/{benchmark}"),
        plan=plan.to_json(),
    )
    with Store.create(header, folder) as store:
        for job in plan.trials[: round(begun * len(plan.trials))]:
            _one(store, job, chance, twist, artifacts)
    return folder


def _one(store: Store, job: TrialJob, chance: random.Random, twist: Twist, artifacts: bool) -> None:
    kept: dict[str, bytes] = {}
    record = twist(_record(job, chance, kept), kept)
    places = {}
    for name, data in kept.items() if artifacts else ():
        place = Path("trials", job.trial, str(record.attempt), name)
        (store.path / place).parent.mkdir(parents=True, exist_ok=True)
        (store.path / place).write_bytes(data)
        places[name] = place.as_posix()
    store.append(record.model_copy(update={"artifacts": {**places, **record.artifacts}}))


def _task(n: int) -> str:
    whole = len(AREAS) * len(FAULTS)
    again = f"_{n // whole + 1}" if n >= whole else ""
    return f"{AREAS[n % len(AREAS)]}_{FAULTS[n // len(AREAS) % len(FAULTS)]}{again}"


def _fate(job: TrialJob, chance: random.Random) -> tuple[TrialStatus, End]:
    rate = {"gold": 0.97, "noop": 0.0}.get(job.agent, 0.35 + 0.5 * (hash_of(job.task) % 100) / 100)
    roll = chance.random()
    if roll > 0.985:
        return chance.choice([("errored", "sandbox_lost"), ("errored", "harness_error")])  # type: ignore[return-value]
    if hash_of(job.task) % 53 == 7:
        return "invalid", "task_invalid"
    if chance.random() < rate:
        return "passed", "graded"
    ends: list[End] = ["graded", "graded", "graded", "change_does_not_apply", "limit_hit:time"]
    return "failed", "change_empty" if job.agent == "noop" else chance.choice(ends)


def hash_of(text: str) -> int:
    """The same number for the same text on every machine."""
    return int(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8], 16)


def _record(job: TrialJob, chance: random.Random, kept: dict[str, bytes]) -> TrialRecord:
    status, end = _fate(job, chance)
    took = round(chance.lognormvariate(1.2, 0.8), 3)
    graded = status in ("passed", "failed")
    verdict = _verdict(job, status, end, took, chance, kept) if graded else None
    change = None
    if end != "change_empty":
        patch = _patch(job.task)
        kept["change.patch"] = patch
        change = ChangeRecord(
            sha256=hashlib.sha256(patch).hexdigest(), bytes=len(patch), files=(f"src/{job.task}.py",)
        )
    score = verdict.score if verdict else None
    return TrialRecord(
        trial=job.trial,
        attempt=1,
        final=True,
        benchmark=job.benchmark,
        benchmark_version=job.benchmark_version,
        task=job.task,
        agent=AgentRecord(name=job.agent, model="vendor/small-1" if "small" in job.agent else None),
        repeat=job.repeat,
        status=status,
        end=end,
        score=score,
        question_score=None if score is None else 5 * score,
        reason=_reason(status, end, verdict),
        rubric_ref="rubric/fix_and_keep@2.1",
        verdict=verdict,
        change=change,
        started_at="2026-11-03T02:00:07.120+00:00",
        seconds=took,
        phases=_phases(took, chance),
        provider="oci",
        digests={"inputs": job.digest},
        error="Traceback (most recent call last):\n  ...\nOSError: [Errno 5] Input/output error"
        if end == "harness_error"
        else None,
    )


def _reason(status: str, end: str, verdict: VerdictRecord | None) -> str:
    if verdict is not None:
        before = "nothing was changed; " if end == "change_empty" else ""
        return before + next(
            (f"{o.id}: {o.reason}" for o in verdict.outcomes if not o.passed), verdict.reason
        )
    if end == "sandbox_lost":
        return (
            "the room was lost: runc run: container_linux.go:380: starting container process: no space left"
        )
    return (
        "the task is wrong: the tests pass before the change" if status == "invalid" else "a fault of proctor"
    )


def _verdict(
    job: TrialJob, status: str, end: str, took: float, chance: random.Random, kept: dict[str, bytes]
) -> VerdictRecord:
    good = status == "passed"
    bad = "failed" if not good else "passed"
    name = HEAD.format(area=job.task, camel=job.task.title().replace("_", ""))
    tests = {f"{name}.test_case_{n}": ["failed" if n < 2 else "passed", "passed"] for n in range(6)}
    if not good:
        tests[f"{name}.test_case_0"] = ["failed", "failed"]
    log = _log(name, good).encode()
    kept["after-1-1.stderr.txt"] = log
    reason = "failed before the change, passes with it"
    if not good:
        reason = f"the command ended with exit code 1 (1 of 6 went wrong: {name}.test_case_0)"
    if end == "limit_hit:time":
        reason = "the time limit of 60 s ended the command"
    tidy = good or chance.random() < 0.6
    findings = [[f"src/{job.task}.py", 12, "E711", "warning", "comparison to None should be `is None`"]]
    hidden = [[f"src/{job.task}.py", 3, "S307", "error", "use of eval"]]
    outcomes = (
        _outcome(
            "tests",
            "command",
            bad,
            reason,
            {
                "tests": tests,
                "exit_code": int(not good),
                "seconds": took / 2,
                "stderr": log.decode(),
                "end": end,
            },
        ),
        _outcome(
            "tidy",
            "score_delta",
            "passed" if tidy else "failed",
            "ruff: 4 findings before, 3 after" if tidy else "ruff: 4 findings before, 5 after, delta -1",
            {
                "tool": "ruff",
                "tool_version": "0.6.9",
                "unit": "findings",
                "before": 4.0,
                "after": 3.0 if tidy else 5.0,
                "delta": 1.0 if tidy else -1.0,
                "fixed": findings if tidy else [],
                "new": [] if tidy else findings,
                "hidden": [] if tidy else hidden,
                "matched": {
                    **dict.fromkeys(("gone", "moved"), 0),
                    "fixed": int(tidy),
                    "new": int(not tidy),
                    "unchanged": 3,
                    "suppressed": int(not tidy),
                },
                "by_rule": {"E711": [1, 0] if tidy else [0, 1]},
            },
        ),
    )
    score = 1.0 if good else (0.5 if tidy else round(chance.random() * 0.4, 2))
    return VerdictRecord(
        rubric="rubric/fix_and_keep@2.1",
        score=score,
        passed=good,
        reason=f"weighted_avg: {score}",
        outcomes=outcomes,
        skipped=(
            OutcomeRecord(
                id="manner", kind="llm_judge", status="skipped", score=None, passed=None, reason="no judge"
            ),
        ),
    )


def _outcome(name: str, kind: str, status: Any, reason: str, details: Mapping[str, Any]) -> OutcomeRecord:
    good = status == "passed"
    return OutcomeRecord(
        id=name, kind=kind, status=status, score=float(good), passed=good, reason=reason, details=details
    )


def _phases(took: float, chance: random.Random) -> tuple[PhaseTime, ...]:
    shares = {"prepare": 0.1, "act": 0.5, "capture": 0.05, "grade": 0.35}
    phases, at = [], 0.0
    for name, share in shares.items():
        memory = round(chance.uniform(8, 180) * (1 << 20)) if name in ("act", "grade") else None
        phases.append(PhaseTime(phase=name, started=at, seconds=took * share, peak_memory=memory))
        at += took * share
    return tuple(phases)


def _patch(task: str) -> bytes:
    return f"""diff --git a/src/{task}.py b/src/{task}.py
--- a/src/{task}.py
+++ b/src/{task}.py
@@ -10,7 +10,9 @@ class {task.title().replace("_", "")}:
     def value(self, key, default=None):
         \"\"\"What was stored under `key`.\"\"\"
-        return self._entries.get(key, default)
+        value = self._entries.get(key, default)
+        if value is not default:
+            self._entries.move_to_end(key)
+        return value

     def __len__(self):
         return len(self._entries)
""".encode("utf-8", "surrogatepass")


def _log(name: str, good: bool) -> str:
    if good:
        return "......\n" + "-" * 70 + "\nRan 6 tests in 0.034s\n\nOK\n"
    bar = "=" * 70
    return (
        f"F.....\n{bar}\nFAIL: test_case_0 ({name}.test_case_0)\n{'-' * 70}\n"
        "Traceback (most recent call last):\n"
        f'  File "/workspace/tests/test_it.py", line 12, in test_case_0\n    self.assertEqual(999, 1000)\n'
        f"AssertionError: 999 != 1000\n\n{'-' * 70}\nRan 6 tests in 0.034s\n\nFAILED (failures=1)\n"
    )
