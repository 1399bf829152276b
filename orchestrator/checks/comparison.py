"""Two measurements against each other, and what a change hid instead of mending it (C-11)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from orchestrator.analyzers import Analyzer, Finding, Measurement
from orchestrator.analyzers import delta as matching
from orchestrator.analyzers.source import bare_lines
from orchestrator.analyzers.suppressions import Suppression
from orchestrator.analyzers.suppressions import added as added_suppressions
from orchestrator.contract import ChangedFile


@dataclass(frozen=True)
class Comparison:
    """Both measurements, and what is counted back before they are compared."""

    before: Measurement
    after: Measurement
    findings: matching.Delta | None
    joined: float = 0.0
    """Weight of findings in files that were not analysed before: they balance those gone with other files."""
    suppressed: tuple[Suppression, ...] = ()
    """Comments the change added that tell a tool to look away."""
    hidden: float = 0.0
    """What is counted back for them."""
    allow: frozenset[str] = frozenset()
    """What the task lets pass: "suppressions", "deletions", ..."""
    weights: Mapping[str, float] = field(default_factory=dict)
    reference: Measurement | None = None
    """What `findings` are told apart by, where `before` holds none."""

    @property
    def known(self) -> Measurement:
        """The run whose findings were matched with those after the change."""
        return self.reference or self.before

    @property
    def gone(self) -> float:
        """Counted back because files left the analysed set."""
        if self.findings is None or "deletions" in self.allow:
            return 0.0
        return max(0.0, self.weigh(self.findings.gone) - self.joined)

    @property
    def delta(self) -> float:
        # + 0.0 turns minus zero into zero.
        return self.after.improvement_over(self.before) - self.hidden - self.gone + 0.0

    @property
    def left(self) -> tuple[str, ...]:
        """Files that were analysed before and are not any more, by their old paths."""
        return tuple(sorted({f.path for f in self.findings.gone})) if self.findings else ()

    def weigh(self, findings: Iterable[Finding]) -> float:
        """Together, each by the weight of its severity."""
        return _weigh(findings, self.weights)


def compare(
    analyzer: Analyzer,
    before: Measurement,
    after: Measurement,
    changes: Collection[ChangedFile],
    allow: frozenset[str] = frozenset(),
    weights: Mapping[str, float] | None = None,
    obeys: bool = True,
    reference: Callable[[], Measurement] | None = None,
    always: bool = False,
) -> Comparison:
    """`changes` is what lies between the two: renames, contents, and the comments it adds. Both measurements
    are weighed already. `obeys`: whether the runs did as such comments say. `reference` measures the state
    before the change where `before` is a mere number: asked for when the change may hide findings, or
    `always`."""
    weights = weights or {}
    syntax = getattr(analyzer, "suppresses", "")
    suppressed = added_suppressions(changes, syntax) if syntax else ()
    obeyed = suppressed if obeys and "suppressions" not in allow else ()
    findings, joined, known = None, 0.0, before
    only_a_number = before.findings is None and after.findings is not None
    if reference is not None and only_a_number and (always or obeyed or _may_leave(after, changes)):
        known = reference()
    if known.findings is not None and after.findings is not None:
        findings = _matched(known, after, changes, obeyed)
        joined = _weigh(_joined(known, findings, changes), weights)
    hidden = _counted_back(findings, obeyed, changes, weights)
    other = None if known is before else known
    return Comparison(before, after, findings, joined, suppressed, hidden, allow, weights, other)


def _may_leave(after: Measurement, changes: Collection[ChangedFile]) -> bool:
    """Whether a file that was there before is not analysed afterwards."""
    seen = after.files
    old = [c for c in changes if c.before is not None]
    return any(c.after is None if seen is None else c.path not in seen for c in old)


def _weigh(findings: Iterable[Finding], weights: Mapping[str, float]) -> float:
    return math.fsum(weights.get(finding.severity, 1.0) for finding in findings)


def _counted_back(
    findings: matching.Delta | None,
    obeyed: Collection[Suppression],
    changes: Collection[ChangedFile],
    weights: Mapping[str, float],
) -> float:
    """For each file the larger of two: what vanished behind its new suppressions, or one for each of them."""
    old_paths = {c.path: c.old_path or c.path for c in changes}
    back: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings.suppressed if findings else ():
        back[finding.path].append(finding)
    number: dict[str, int] = defaultdict(int)
    for suppression in obeyed:
        number[old_paths.get(suppression.path, suppression.path)] += not suppression.soft
    return math.fsum(max(n, _weigh(back[path], weights)) for path, n in number.items())


def _joined(before: Measurement, findings: matching.Delta, changes: Collection[ChangedFile]) -> list[Finding]:
    if before.files is None:
        return []
    renamed = {c.path for c in changes if c.status == "renamed" and c.old_path in before.files}
    known = before.files | renamed
    return [finding for finding in findings.new if finding.path not in known]


def _matched(
    before: Measurement,
    after: Measurement,
    changes: Collection[ChangedFile],
    obeyed: Collection[Suppression],
) -> matching.Delta:
    renames = {c.old_path: c.path for c in changes if c.status == "renamed" and c.old_path is not None}
    old_side = {c.old_path or c.path: c.before for c in changes}
    new_side = {c.path: c.after for c in changes}
    left: set[str] = set()
    if before.files is not None and after.files is not None:
        left = {path for path in before.files if renames.get(path, path) not in after.files}
    else:
        left = {c.old_path or c.path for c in changes if c.after is None}
    where = matching.LineMap({c.old_path or c.path: (c.before, c.after) for c in changes})
    return matching.compare(
        _with_content(before.findings or (), old_side),
        _with_content(after.findings or (), new_side),
        renames=renames,
        left=left,
        line_map=where,
        hidden=_hiding(obeyed, changes) if obeyed else None,
    )


def _hiding(obeyed: Collection[Suppression], changes: Collection[ChangedFile]) -> Callable[[Finding], bool]:
    """Tells which vanished findings lie behind a new suppression: where their line stood, or anywhere in the
    file when the comment reaches that far."""
    by_path: dict[str, list[Suppression]] = defaultdict(list)
    for suppression in obeyed:
        by_path[suppression.path].append(suppression)
    concerned = [c for c in changes if c.path in by_path]
    where = matching.LineMap(
        {c.old_path or c.path: (_bare(c.before, c), _bare(c.after, c)) for c in concerned}
    )
    veils = {c.old_path or c.path: _Veil.over(c, by_path[c.path]) for c in concerned}

    def hidden(finding: Finding) -> bool:
        veil = veils.get(finding.path)
        return veil is not None and veil.covers(finding, where)

    return hidden


def _bare(source: bytes | None, change: ChangedFile) -> bytes:
    """Without comments: a line is the same when only a comment came to it."""
    return b"\n".join(bare_lines(change.path, source or b""))


@dataclass(frozen=True)
class _Veil:
    """The new suppressions of one file."""

    everything: bool
    lines: frozenset[int] = frozenset()
    """New lines they speak of."""

    @classmethod
    def over(cls, change: ChangedFile, suppressions: Collection[Suppression]) -> _Veil:
        if any(s.wide for s in suppressions):
            return cls(True)
        bare = bare_lines(change.path, change.after or b"")
        # A comment with no code beside it speaks of the next line that has some.
        lines = (next((n for n in range(s.line, len(bare) + 1) if bare[n - 1]), s.line) for s in suppressions)
        return cls(False, frozenset(s.line for s in suppressions) | frozenset(lines))

    def covers(self, finding: Finding, where: matching.LineMap) -> bool:
        """An old line that is still there is covered where it stands; one that was rewritten, anywhere
        between its nearest old neighbours. A finding without a line is always covered."""
        if self.everything or finding.line <= 0:
            return True
        now = where.now(finding.path, finding.line)
        if now is not None:
            return now in self.lines
        above, below = where.between(finding.path, finding.line)
        return any(above < line < below for line in self.lines)


def _with_content(findings: tuple[Finding, ...], texts: Mapping[str, bytes | None]) -> list[Finding]:
    """Source lines for findings in files the change touches; elsewhere both sides are equal anyway."""
    lines = {path: text.splitlines() for path, text in texts.items() if text is not None}
    found = []
    for finding in findings:
        source = lines.get(finding.path)
        if source and 0 < finding.line <= len(source):
            content = matching.squeezed(source[finding.line - 1])
            finding = Finding(
                finding.rule,
                finding.path,
                finding.line,
                finding.message,
                finding.severity,
                content,
                finding.key,
            )
        found.append(finding)
    return found
