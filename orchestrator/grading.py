"""What does the rubric say about this response: every check offered to its executor, then combined."""

from __future__ import annotations

import json
import re
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from orchestrator.combine import combine
from orchestrator.contract import Check, CheckExecutor, Context
from orchestrator.documents.rubric import Rubric
from orchestrator.errors import TaskInvalid
from orchestrator.outcomes import CheckOutcome, Verdict, failed, skipped
from sandboxes.errors import MACHINE, Evicted, SandboxError

ExecutorSet = Literal["all", "ai_eval"]
AI_EVAL_KINDS = frozenset({"must_contain_any", "must_not_contain", "regex", "target_match", "composite"})
"""What the source system executes; `executor_set="ai_eval"` runs nothing else (C-4)."""
NEVER_EXECUTED = {"llm_judge": "judges read its description; it is never executed as a check"}
DEEPEST = 3
"""Levels that composites may nest below the root, which is level 0 (rule 91, C-27)."""

Resolver = Callable[[str], Rubric | None]
"""From a ref, "rubric/<id>@<version>", to the enabled rubric of exactly that id and version, or None."""

_REF = re.compile(r"rubric/[a-z][a-z0-9_]*@[^\s@]+\Z")


def evaluate(
    rubric: Rubric,
    response: str | bytes,
    context: Context | Mapping[str, Any],
    executors: Sequence[CheckExecutor],
    rubrics: Resolver = lambda ref: None,
    executor_set: ExecutorSet = "all",
) -> Verdict:
    """Every check of `rubric` in listed order, each by the first executor that applies, combined.

    `context` is the question row, or a Context with a judge and a trajectory; `rubrics` resolves the refs
    of composites. A check that no executor can run here is skipped and named; an executor's own exception
    fails its check (C-35); a SandboxError makes that check an error and the others go on (C-9).

    Raises TaskInvalid, sandboxes.errors.Evicted (the rooms were closed on purpose) and AuthoringError (a
    scoring block that the schema would refuse).
    """
    if executor_set not in get_args(ExecutorSet):
        raise ValueError(f"unknown set of executors: {executor_set!r}")
    row = context if isinstance(context, Context) else Context(context)
    return _Evaluation(response, row, tuple(executors), rubrics, executor_set).of(rubric, ())


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """The verdict as `proctor check --json` prints it; strict JSON, null where there is no score."""
    return {
        "rubric": verdict.rubric,
        "score": verdict.score,
        "passed": verdict.passed,
        "reason": verdict.reason,
        "outcomes": [
            {
                "id": o.check_id,
                "kind": o.kind,
                "score": o.score,
                "passed": o.passed if o.executed else None,
                "reason": o.reason,
            }
            for o in verdict.outcomes
        ],
        "skipped": [{"id": o.check_id, "kind": o.kind, "reason": o.reason} for o in verdict.skipped],
        "warnings": list(verdict.warnings),
        "route": verdict.route,
        "executors": verdict.executors,
    }


@dataclass(frozen=True)
class _Evaluation:
    """One response under evaluation: the same for the root rubric and for every composite below it."""

    response: str | bytes
    context: Context
    executors: tuple[CheckExecutor, ...]
    rubrics: Resolver
    executor_set: ExecutorSet

    def of(self, rubric: Rubric, above: tuple[str, ...]) -> Verdict:
        """`above` are the refs of the rubrics around this one, root first."""
        every = [self._outcome(check, (*above, rubric.ref)) for check in rubric.checks]
        combined = combine(every, rubric.scoring)
        return Verdict(
            rubric=rubric.ref,
            score=combined.score,
            passed=combined.passed,
            reason=combined.reason + _said_below(every),
            outcomes=tuple(o for o in every if o.status != "skipped"),
            skipped=tuple(o for o in every if o.status == "skipped"),
            warnings=(*_warnings(rubric), *_warnings_below(every)),
            executors=self.executor_set,
        )

    def _outcome(self, check: Check, chain: tuple[str, ...]) -> CheckOutcome:
        """One check's outcome, whatever happens; only what is nobody's score travels up."""
        kind = check.get("kind")
        if not isinstance(kind, str) or not kind:
            return failed({**check, "kind": str(kind or "unknown")}, "the check has no kind")
        try:
            return _sound(check, self._dispatched(check, kind, chain))
        except (TaskInvalid, Evicted, MemoryError):
            raise
        except SandboxError as trouble:
            details = {"end": trouble.end, "retryable": trouble.retryable}
            reason = f"{trouble.end}: {trouble}"
            return CheckOutcome(str(check.get("id", "")), kind, "error", None, reason, details)
        except Exception as mishap:
            if _machines(mishap):
                raise  # a disk that is full is nobody's failed check
            return failed(check, f"{type(mishap).__name__}: {mishap}", exception=type(mishap).__name__)

    def _dispatched(self, check: Check, kind: str, chain: tuple[str, ...]) -> CheckOutcome:
        if kind in NEVER_EXECUTED:
            return skipped(check, NEVER_EXECUTED[kind])
        if self.executor_set == "ai_eval" and kind not in AI_EVAL_KINDS:
            return skipped(check, f"{kind} is not executed by the ai_eval set of executors")
        if kind == "composite":
            return self._composite(check, chain)
        executor = next((e for e in self.executors if e.applies(check)), None)
        if executor is None:
            return skipped(check, f"no executor for {kind}")
        lacking = self._lacking(executor)
        if lacking:
            return skipped(check, f"{kind} needs {lacking}, which this evaluation does not have")
        try:
            return executor.execute(check, self.response, self.context)
        except (TaskInvalid, SandboxError, MemoryError):
            raise
        except Exception as mishap:
            if "judge" not in getattr(executor, "needs", ()) or _machines(mishap):
                raise
            return _our_fault(check, mishap)

    def _lacking(self, executor: CheckExecutor) -> str:
        """What the executor needs and the context has not, in words; empty when it can run."""
        has = {"judge": self.context.judge, "trajectory": self.context.trajectory}
        words = {"judge": "a sandbox", "trajectory": "a recorded trajectory"}
        needs = sorted(getattr(executor, "needs", ()))
        return " and ".join(words.get(need, need) for need in needs if has.get(need) is None)

    def _composite(self, check: Check, chain: tuple[str, ...]) -> CheckOutcome:
        """Another rubric's verdict as one outcome (rules 87 to 96, C-26 to C-28)."""
        ref = check.get("rubric_ref")
        if not isinstance(ref, str) or not _REF.match(ref):
            return failed(check, f"rubric_ref {ref!r} is malformed; write rubric/<id>@<version>")
        if ref in chain:
            return skipped(check, f"{ref} is part of a cycle: {' > '.join((*chain, ref))}")
        if len(chain) > DEEPEST:
            return skipped(check, f"{ref} lies deeper than {DEEPEST} levels: {' > '.join((*chain, ref))}")
        rubric = self.rubrics(ref)
        if rubric is None or not rubric.enabled:
            return skipped(check, f"{ref} names no enabled rubric")
        return _as_one(check, self.of(rubric, chain))


def _machines(mishap: Exception) -> bool:
    return isinstance(mishap, OSError) and mishap.errno in MACHINE


def _our_fault(check: Check, mishap: Exception) -> CheckOutcome:
    """An oracle raised: the candidate's work was not looked at to the end, so there is no score for it."""
    details = {"end": "harness_error", "retryable": False, "traceback": traceback.format_exc()}
    reason = f"a fault of the check's executor, please report it: {type(mishap).__name__}: {mishap}"
    return CheckOutcome(str(check.get("id", "")), str(check["kind"]), "error", None, reason, details)


def _as_one(check: Check, verdict: Verdict) -> CheckOutcome:
    reason = f"{verdict.rubric}: {verdict.reason}"
    identity = str(check.get("id", "")), "composite"
    details = {"rubric": verdict.rubric, "warnings": list(verdict.warnings), **_parts(verdict)}
    details["skipped_within"] = [f"{o.kind} of {verdict.rubric}" for o in verdict.skipped]
    details["skipped_within"] += _skipped_below(verdict.outcomes)
    if verdict.errored:
        return CheckOutcome(*identity, "error", None, reason, details)
    if verdict.score is None:
        return CheckOutcome(*identity, "skipped", None, reason, details)
    return CheckOutcome(*identity, "passed" if verdict.passed else "failed", verdict.score, reason, details)


def _parts(verdict: Verdict) -> dict[str, Any]:
    shown = verdict_json(verdict)
    return {"outcomes": shown["outcomes"], "skipped": shown["skipped"]}


def _sound(check: Check, outcome: Any) -> CheckOutcome:
    """What an executor returned, held to its contract: this check's id and kind, details that are JSON."""
    if not isinstance(outcome, CheckOutcome):
        return failed(check, f"its executor returned {type(outcome).__name__} instead of an outcome")
    if outcome.status not in ("passed", "failed", "skipped", "error"):
        return failed(check, f"its executor returned the unknown status {outcome.status!r}")
    try:
        json.dumps(outcome.details, allow_nan=False)
    except (TypeError, ValueError) as cause:
        return failed(check, f"its executor's details are not JSON ({cause}); {outcome.reason}")
    return replace(outcome, check_id=str(check.get("id", "")), kind=check["kind"])


def _warnings(rubric: Rubric) -> Iterator[str]:
    ids = Counter(str(check["id"]) for check in rubric.checks if check.get("id"))
    for key in rubric.scoring.weights:
        if key not in ids:
            yield f"scoring.weights.{key} matches no check id and changes nothing"
    for check_id, count in ids.items():
        if count > 1:
            yield f"{count} checks share the id {check_id!r}; they share its weight, too"
    if not rubric.enabled:
        yield f"{rubric.ref} is disabled: a rubric_ref to it resolves to nothing"


def _skipped_below(outcomes: Sequence[CheckOutcome]) -> list[str]:
    """Which checks were skipped inside executed composites, however deep."""
    inner = (o for o in outcomes if o.kind == "composite" and o.executed)
    return [skip for o in inner for skip in o.details.get("skipped_within", ())]


def _said_below(outcomes: Sequence[CheckOutcome]) -> str:
    """So that a composite cannot hide what did not run (rule 139, C-28)."""
    skips = _skipped_below(outcomes)
    return f"; not executed within composites: {', '.join(skips)}" if skips else ""


def _warnings_below(outcomes: Sequence[CheckOutcome]) -> Iterator[str]:
    """What the rubrics behind composites were warned of."""
    for outcome in outcomes:
        if outcome.kind == "composite":
            for warning in outcome.details.get("warnings", ()):
                yield f"{outcome.details['rubric']}: {warning}"
