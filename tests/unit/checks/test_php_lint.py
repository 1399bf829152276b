"""php_lint: where the PHP stands, what a lint would not look at, and a room of its own.

Real PHP is asked in tests/engine/test_php_lint.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from orchestrator.checks.fields import Mistake
from orchestrator.checks.php_code import MOST_FILES, NoCode, files_of, wrapper_of
from orchestrator.checks.php_lint import LINT, PhpLintExecutor
from orchestrator.contract import Context
from orchestrator.deadline import Deadline
from orchestrator.errors import TaskInvalid
from orchestrator.grading import evaluate
from orchestrator.loading import parse_rubric
from sandboxes.errors import SandboxLost
from sandboxes.fake import FakeProvider, FakeRoom, done, ended
from sandboxes.spec import Command

GOOD = "<?php\necho 1;\n"
WRAPPED = "<?php\n{code}\n"


@pytest.mark.parametrize(
    ("text", "files"),
    [
        (f"Sure:\n```php\n{GOOD}```\n", [GOOD]),
        (f"```PHP title\n{GOOD}```\n```php\n{GOOD}```\n", [GOOD, GOOD]),
        (f"```php\n{GOOD}```\n```bash\nls\n```\n", [GOOD]),
        (f"```\n{GOOD}```\n```bash\nls\n```\n", [GOOD]),
        (GOOD, [GOOD]),
        ("<p><?= 1 ?></p>", ["<p><?= 1 ?></p>"]),
        (f"- item\n\n  ```php\n  {GOOD.splitlines()[0]}\n  echo 1;\n  ```\n", [GOOD]),
        (f"````md\n```php\n{GOOD}```\n````\n", ["```php\n" + GOOD + "```\n"]),
    ],
)
def test_the_code_is_found_by_a_stated_rule(text: str, files: list[str]) -> None:
    assert files_of(text, None) == files


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("```php\necho 1;\n```", ["<?php\necho 1;\n\n"]),
        ("```\necho 1;\n```\n```bash\nls\n```", ["<?php\necho 1;\n\n"]),
        ("echo 1;", ["<?php\necho 1;\n"]),
        (GOOD, [GOOD]),
    ],
)
def test_a_wrapper_makes_files_of_fragments_and_of_nothing_else(text: str, files: list[str]) -> None:
    assert files_of(text, WRAPPED) == files


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The code is fine, trust me.", "no PHP code found"),
        ("", "no PHP code found"),
        ("```python\nprint()\n```", "no PHP code found"),
        ("```php\necho 1;\n```", "no open tag"),
        ("```php\n\n```", "is empty"),
        ("```php\n<?php ?> anything at all\n```", "nothing between its tags"),
        ("```php\n<?php\n__HALT_Compiler(); anything at all\n```", "after which nothing is linted"),
        ("```php\n<?xml version='1.0'?>\n```", "no open tag"),
        (f"```php\n{GOOD}```\n" * (MOST_FILES + 1), f"at most {MOST_FILES}"),
    ],
)
def test_what_a_lint_would_not_look_at_is_a_fail(text: str, words: str) -> None:
    with pytest.raises(NoCode, match=words):
        files_of(text, None)


@pytest.mark.parametrize(
    ("fields", "wrapper"),
    [
        ({}, None),
        ({"wrapper": False}, None),
        ({"wrapper": True}, WRAPPED),
        ({"wrapper_template": "<?php class A {\n{code}\n}"}, "<?php class A {\n{code}\n}"),
        ({"wrapper": True, "wrapper_template": "<?= {code}"}, "<?= {code}"),
        ({"wrapper": "<?php function f() { {code} }"}, "<?php function f() { {code} }"),
        ({"wrapper": False, "wrapper_template": "<?php {code}"}, None),
    ],
)
def test_the_wrapper_is_chosen_by_the_check(fields: Mapping[str, Any], wrapper: str | None) -> None:
    assert wrapper_of(fields) == wrapper


@pytest.mark.parametrize(
    "fields", [{"wrapper": "class"}, {"wrapper": "{code}"}, {"wrapper_template": "<?php"}, {"wrapper": 1}]
)
def test_a_wrapper_that_would_lint_nothing_is_the_authors_mistake(fields: Mapping[str, Any]) -> None:
    with pytest.raises(Mistake):
        wrapper_of(fields)


def php(room: FakeRoom, command: Command) -> Any:
    """A stand-in for `php -l`."""
    assert command.argv == LINT
    if b"bad" in command.stdin:
        return done(255, stderr=b"PHP Parse error:  syntax error in Standard input code on line 2\n")
    return done(0, b"No syntax errors detected in Standard input code\n")


@pytest.fixture
def lint(judge: Callable[..., Any]) -> Callable[..., Any]:
    def run(response: str | bytes, script: Any = php, **more: Any) -> Any:
        fields = more.pop("fields", {})
        asked = judge({"index.php": "<?php 0;"}, {"index.php": "<?php 1;"}, script, **more)
        return PhpLintExecutor().execute(
            {"kind": "php_lint", **fields}, response, Context(judge=asked)
        ), asked

    return run


def test_each_block_is_one_call_in_one_room(lint: Callable[..., Any]) -> None:
    provider = FakeProvider(script=php)

    outcome, _ = lint(f"```php\n{GOOD}```\n```php\n{GOOD}```\n", provider=provider)

    assert outcome.passed
    assert outcome.reason == "all 2 blocks parse"
    assert provider.counts["run"] == 2 and provider.counts["provision"] == 1


def test_the_first_block_that_does_not_parse_is_named(lint: Callable[..., Any]) -> None:
    outcome, _ = lint(f"```php\n{GOOD}```\n```php\n<?php bad\n```\n```php\n{GOOD}```\n")

    assert (outcome.status, outcome.score) == ("failed", 0.0)
    assert outcome.reason.startswith("block 2 of 3 does not parse: PHP Parse error")


def test_it_sees_no_work_tree_and_looks_at_none(lint: Callable[..., Any]) -> None:
    seen: list[bytes | None] = []

    def look(room: FakeRoom, command: Command) -> Any:
        seen.append(room.read("/workspace/index.php", 100))
        return php(room, command)

    outcome, asked = lint(GOOD, look)

    assert outcome.passed
    assert seen == [None]
    assert not asked.asked


def test_without_php_the_task_is_invalid(lint: Callable[..., Any]) -> None:
    with pytest.raises(TaskInvalid, match="needs php"):
        lint(GOOD, lambda room, command: ended("missing_binary"))


def test_a_limit_is_a_fail_with_its_name(lint: Callable[..., Any]) -> None:
    outcome, _ = lint(GOOD, lambda room, command: ended("limit_hit:memory"))

    assert (outcome.status, outcome.details["end"]) == ("failed", "limit_hit:memory")


def test_a_deadline_that_is_over_is_a_fail(lint: Callable[..., Any]) -> None:
    outcome, _ = lint(GOOD, deadline=Deadline.after(0.0, "trial_time"))

    assert outcome.details["end"] == "limit_hit:time"


def test_a_room_that_is_lost_is_nobodys_fault(lint: Callable[..., Any]) -> None:
    with pytest.raises(SandboxLost):
        lint(GOOD, lambda room, command: SandboxLost("gone"))


def test_no_code_opens_no_room(lint: Callable[..., Any]) -> None:
    provider = FakeProvider(script=php)

    outcome, _ = lint("prose", provider=provider)

    assert outcome.reason == "no PHP code found"
    assert provider.counts["provision"] == 0


def test_a_response_that_is_not_utf8_fails(lint: Callable[..., Any]) -> None:
    assert "not valid UTF-8" in lint(b"<?php \xff")[0].reason


def test_in_a_text_alone_it_is_skipped_by_name_and_nothing_runs() -> None:
    rubric = parse_rubric('id: r\nversion: "1.0"\nscoring: {combine: all_pass}\nchecks: [{kind: php_lint}]\n')

    verdict = evaluate(rubric, GOOD, {}, [PhpLintExecutor()])

    assert verdict.score is None
    assert verdict.skipped[0].reason.startswith("php_lint needs a sandbox")
