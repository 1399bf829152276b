"""A measured improvement: the `score_delta` check (rules 118 to 124, C-11 to C-14).

The scorer runs in a fresh room before the change and in a fresh room after it, with the guard first, in an
after room of its own: a guard runs the candidate's code, and what that leaves behind must not be measured.
Where the guard runs a test runner we can read, its report must agree with its exit code, as for `command`.
delta is always improvement. What was hidden, not mended, is counted back: new suppressions the tool cannot
be told to ignore, and findings in files that left the analysed set; see `checks.guards` for proctor's own
guards. Options in `metadata`, beside the analyzer's: `mode` (net, or no_new: no finding may be new),
`weights` (a number for each severity; 1), `allow` and `forbid` (lists of guards).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import entry_points
from typing import Any

from orchestrator.analyzers import Analyzer, OptionError
from orchestrator.analyzers.measurement import is_number, option
from orchestrator.checks.baselines import given
from orchestrator.checks.causes import clip
from orchestrator.checks.contest import Ask, Contest, Ruling
from orchestrator.checks.delta_facts import facts_of, sentence
from orchestrator.contract import Check, Context
from orchestrator.evidence import UnknownProfile
from orchestrator.outcomes import CheckOutcome, failed, passed, skipped
from orchestrator.testreports import Reporter, built_in

ALLOWANCES = ("suppressions", "deletions", "parse", "code_lines")
FORBIDDABLE = ("suppressions", "config")


class ScoreDeltaExecutor:
    """Runs `score_delta` checks. `analyzers` by tool name; None means those found by entry point. `reporters`
    read the guard's test runner, asked in order."""

    needs = frozenset({"judge"})

    def __init__(
        self,
        analyzers: Mapping[str, Analyzer] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        reporters: Sequence[Reporter] | None = None,
    ) -> None:
        self._analyzers = analyzers
        self._clock = clock
        self._reporters = tuple(built_in() if reporters is None else reporters)

    def applies(self, check: Check) -> bool:
        return check.get("kind") == "score_delta"

    def execute(self, check: Check, response: str | bytes, context: Context) -> CheckOutcome:
        judge = context.judge
        if judge is None:
            return skipped(check, "score_delta needs the rooms of a task with an environment")
        try:
            ask = replace(
                self.ask(check), baseline=given(check, context.root, str(context.row.get("id", "")))
            )
            return _outcome(check, ask, Contest(check, judge, ask, self._clock, self._reporters).ruling())
        except (OptionError, UnknownProfile) as mistake:
            return failed(check, str(mistake), cause="authoring")

    def ask(self, check: Check) -> Ask:
        """The check, parsed. Raises OptionError."""
        minimum = check.get("min_delta")
        if not is_number(minimum):
            raise OptionError(f"min_delta is {minimum!r}; it must be a finite number")
        guard = check.get("guard_command")
        if guard is not None and (not isinstance(guard, str) or not guard.strip() or "\0" in guard):
            raise OptionError(f"guard_command is {guard!r}; it must be a shell command")
        profile = check.get("sandbox")
        if profile is not None and not isinstance(profile, str):
            raise OptionError(f"sandbox is {profile!r}; it must be the name of a profile")
        mode = option(check, "mode", "net")
        if mode not in ("net", "no_new"):
            raise OptionError(f"metadata.mode is {mode!r}; it must be net or no_new")
        return Ask(
            self._analyzer(check.get("tool")),
            float(minimum),
            guard,
            profile,
            _names(check, "allow", ALLOWANCES),
            _names(check, "forbid", FORBIDDABLE),
            mode,
            _weights(check),
        )

    def _analyzer(self, tool: Any) -> Analyzer:
        if self._analyzers is not None:
            if isinstance(tool, str) and tool in self._analyzers:
                return self._analyzers[tool]
            known = sorted(self._analyzers)
        else:
            entries = {entry.name: entry for entry in entry_points(group="orchestrator.analyzers")}
            if isinstance(tool, str) and tool in entries:
                analyzer: Analyzer = entries[tool].load()()
                return analyzer
            known = sorted(entries)
        raise OptionError(f"tool is {tool!r}; installed analyzers: {', '.join(known) or 'none'}")


def _outcome(check: Check, ask: Ask, ruling: Ruling) -> CheckOutcome:
    facts = dict(ruling.facts)
    if ruling.guards:
        facts["guards"] = {guard.name: guard.to_json() for guard in ruling.guards}
    reason = ruling.reason
    if ruling.compared is not None:
        facts |= facts_of(ruling.compared, ask.minimum, ask.mode)
        said = sentence(ask.analyzer.name, ruling.compared, ask.minimum)
        reason = f"{reason}; {said}" if reason else said
    if not ruling.cause:
        return passed(check, reason, ruling.score, **facts)
    return failed(check, clip(reason, 1000), ruling.score, **facts, cause=ruling.cause)


def _names(check: Check, name: str, known: tuple[str, ...]) -> frozenset[str]:
    value = option(check, name, ())
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) and v in known for v in value):
        raise OptionError(f"metadata.{name} is {value!r}; it may list {', '.join(known)}")
    return frozenset(value)


def _weights(check: Check) -> Mapping[str, float]:
    value = option(check, "weights", {})
    if not isinstance(value, Mapping) or not all(
        isinstance(k, str) and is_number(v) and v >= 0 for k, v in value.items()
    ):
        raise OptionError(f"metadata.weights is {value!r}; it must give each severity a number, 0 or more")
    return {name: float(weight) for name, weight in value.items()}
