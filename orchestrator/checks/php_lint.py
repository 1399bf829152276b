"""Does the PHP in the response parse: the `php_lint` check (rules 98 and 106, C-4, C-53)."""

from __future__ import annotations

from orchestrator.checks.causes import cause_of, last_words
from orchestrator.checks.fields import Mistake
from orchestrator.checks.php_code import NoCode, files_of, wrapper_of
from orchestrator.checks.responses import NotText, text_of
from orchestrator.contract import Check, Context, Step
from orchestrator.errors import TaskInvalid
from orchestrator.evidence import describe
from orchestrator.outcomes import CheckOutcome, failed, passed, skipped
from sandboxes.spec import Command

LINT = ("php", "-n", "-d", "short_open_tag=0", "-d", "display_errors=stderr", "-l")
"""Reads the code from its standard input: no file of the room decides, and one call judges one file."""


class PhpLintExecutor:
    """Binary. Runs `php -l` on each piece of PHP (`php_code` says which those are) in a fresh judge's room
    without the work tree, never on the host; stops at the first that does not parse.

    Raises TaskInvalid when the task's environment has no PHP: nobody's score.
    """

    needs = frozenset({"judge"})

    def applies(self, check: Check) -> bool:
        return bool(check["kind"] == "php_lint")

    def execute(self, check: Check, response: str | bytes, context: Context) -> CheckOutcome:
        if context.judge is None:
            return skipped(check, "php_lint needs the rooms of a task with an environment")
        try:
            files = files_of(text_of(response), wrapper_of(check))
        except (NotText, NoCode, Mistake) as mistake:
            return failed(check, str(mistake))
        steps = [Step(Command(LINT, stdin=code.encode()), stop_unless_ok=True) for code in files]
        results = context.judge.apart(*steps)
        last, facts = results[-1], {"files": len(files), **describe(results[-1])}
        cause = cause_of(last)
        if cause is None:
            return passed(check, f"{_counted(len(files))}", **facts)
        if cause.end == "missing_binary":
            raise TaskInvalid(
                "php_lint needs php, and the task's environment has none; install it there, for example "
                'with the Debian package php-cli, or map the sandbox "ddev" to a profile that has it'
            )
        place = f"block {len(results)} of {len(files)}" if len(files) > 1 else "the code"
        words = last_words(last)
        if cause.end != "graded":
            return failed(check, f"php -l on {place} {cause.text}", **facts | {"end": cause.end})
        return failed(check, f"{place} does not parse: {words or cause.text}", **facts)


def _counted(files: int) -> str:
    return "the code parses" if files == 1 else f"all {files} blocks parse"
