"""What a text check looks at: the response, or another text of the trial that its `subject` names.

response (default)   the agent's answer
patch                the lines that the graded change adds, without their `+`; an empty line between hunks
patch_text           the whole patch: names, context, removed and added lines
transcript           the recorded trajectory, as text
{file: path}         a file of the graded state, by its path below the workdir

Taking code out is no way to bring it in, so `patch` is the added lines: "the change must not contain eval("
holds for a change that removes one. Every file counts as text, whatever bytes it holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orchestrator.checks.fields import Mistake
from orchestrator.checks.responses import NotText, text_of
from orchestrator.checks.transcripts import transcript
from orchestrator.contract import Check, Context, Judge
from orchestrator.outcomes import CheckOutcome, failed, skipped

NAMES = {
    "response": "the response",
    "patch": "the lines that the change adds",
    "patch_text": "the patch",
    "transcript": "the transcript",
}
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


class Unseen(Exception):
    """This kind of evaluation has no such subject: the check is skipped, and the message says why."""


class TextCheck:
    """An executor whose kinds look at one text. Subclasses say what they think of it."""

    kinds: frozenset[str] = frozenset()

    def applies(self, check: Check) -> bool:
        return check["kind"] in self.kinds

    def execute(self, check: Check, response: str | bytes, context: Context) -> CheckOutcome:
        """Reads the subject and judges it. What is no text, or is not there, fails the check, also one
        that looks for absence (C-52)."""
        try:
            if "subject" not in check:
                return self.judge(check, text_of(response), context)
            text = subject_of(check, response, context)
            outcome = self.judge(check, text, context)
        except Unseen as why:
            return skipped(check, str(why))
        except (NotText, Mistake) as cause:
            return failed(check, str(cause))
        return replace(outcome, reason=f"{name_of(check)}: {outcome.reason}")

    def judge(self, check: Check, text: str, context: Context) -> CheckOutcome:
        """The outcome on this text. May raise Mistake, which fails the check (rule 147)."""
        raise NotImplementedError


def name_of(check: Check) -> str:
    """The subject of a check in words, for reasons and for judges."""
    subject = check.get("subject", "response")
    if isinstance(subject, Mapping):
        return f"the file {subject.get('file')}"
    return NAMES.get(subject, "the response") if isinstance(subject, str) else "the response"


def subject_of(check: Check, response: str | bytes, context: Context) -> str:
    """The text that the check looks at.

    Raises NotText (it is not there, or is no UTF-8), Unseen (no evaluation of this sort has one) and
    Mistake.
    """
    subject = check.get("subject", "response")
    if subject == "response":
        return text_of(response)
    if subject == "transcript":
        if context.trajectory is None:
            raise Unseen(_lacks(check, "a recorded trajectory"))
        return transcript(context.trajectory)
    if subject in ("patch", "patch_text"):
        return _patch(_judge(check, context), whole=subject == "patch_text")
    path = _path(subject)
    data = _judge(check, context).file(path)
    if data is None:
        raise NotText(f"there is no file {path} once the change is in")
    return text_of(data, f"the file {path}")


def added_lines(patch: bytes) -> bytes:
    """The lines that a unified patch adds. Hunks are read by their counts, so no line can pose as another.

    >>> added_lines(b"--- a/x\\n+++ b/x\\n@@ -1,2 +1,2 @@\\n-old\\n+++ new\\n kept\\n")
    b'++ new\\n'
    """
    found: list[bytes] = []
    old = new = 0
    for line in patch.split(b"\n"):
        if old > 0 or new > 0:
            sign = line[:1]
            old -= sign in (b" ", b"-")
            new -= sign in (b" ", b"+")
            if sign == b"+":
                found.append(line[1:] + b"\n")
        elif hunk := _HUNK.match(line):
            old, new = (1 if count is None else int(count) for count in hunk.groups())
            if found and found[-1] != b"\n":
                found.append(b"\n")
    return b"".join(found)


def _patch(judge: Judge, *, whole: bool) -> str:
    patch = judge.patch()
    if not patch:
        raise NotText("nothing was changed, so there is no patch to look at")
    return (patch if whole else added_lines(patch)).decode("utf-8", "replace")


def _judge(check: Check, context: Context) -> Judge:
    if context.judge is None:
        raise Unseen(_lacks(check, "a sandbox"))
    return context.judge


def _lacks(check: Check, what: str) -> str:
    return f"{check['kind']} of {name_of(check)} needs {what}, which this evaluation does not have"


def _path(subject: Any) -> str:
    known = ", ".join(NAMES)
    if not isinstance(subject, Mapping) or set(subject) != {"file"}:
        raise Mistake(f"subject {subject!r} is unknown: write {known} or {{file: path}}")
    path = subject["file"]
    if not isinstance(path, str) or not path or path.startswith("/"):
        raise Mistake(f"subject.file {path!r} must be a path below the workdir")
    if any(part in ("", ".", "..") for part in path.split("/")) or "\0" in path:
        raise Mistake(f"subject.file {path!r} must be a plain path, without . and ..")
    return path
