"""php_lint with the real PHP of Debian, in rooms of a recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.checks.php_lint import PhpLintExecutor
from orchestrator.contract import Context
from orchestrator.errors import TaskInvalid
from orchestrator.evidence import RoomJudge
from orchestrator.outcomes import CheckOutcome
from orchestrator.worktree.trees import EMPTY_TREE, TreeStore
from sandboxes.protocol import Provider
from sandboxes.spec import MIB, Image, Limits, RoomSpec
from tests import engines

pytestmark = [pytest.mark.oci, pytest.mark.network]

IMAGE = Image("debian", "bookworm", ("php-codesniffer",))
"""It brings php-cli; the recipe is that of test_phpcs.py, so it is built once."""
GOOD = "<?php\nfunction a(int $x): int\n{\n    return $x + 1;\n}\n"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with engines.opened("oci") as made:
        made.prepare(IMAGE)
        yield made


@pytest.fixture
def lint(provider: Provider, tmp_path: Path) -> Callable[..., CheckOutcome]:
    def run(response: str, image: Image = IMAGE, **fields: Any) -> CheckOutcome:
        judge = RoomJudge(
            provider=provider,
            room=RoomSpec(image=image, limits=Limits(memory=256 * MIB, disk=16 * MIB, time=30)),
            trees=TreeStore(tmp_path / "trees"),
            judge_tree=EMPTY_TREE,
            graded_tree=EMPTY_TREE,
        )
        return PhpLintExecutor().execute({"kind": "php_lint", **fields}, response, Context(judge=judge))

    return run


def test_code_that_parses_passes(lint: Callable[..., CheckOutcome]) -> None:
    outcome = lint(f"Two files:\n```php\n{GOOD}```\n```php\n{GOOD}```\n")

    assert outcome.passed, outcome
    assert outcome.reason == "all 2 blocks parse"


def test_a_syntax_error_fails_with_phps_own_words(lint: Callable[..., CheckOutcome]) -> None:
    outcome = lint(f"```php\n{GOOD}```\n```php\n<?php\nfunction {{\n```\n")

    assert outcome.status == "failed"
    assert outcome.reason.startswith("block 2 of 2 does not parse:")
    assert "syntax error" in outcome.reason and "line 2" in outcome.reason


def test_a_fragment_is_linted_in_its_wrapper(lint: Callable[..., CheckOutcome]) -> None:
    fragment = "```php\npublic function a() { return 1; }\n```"

    assert lint(fragment, wrapper_template="<?php class A {\n{code}\n}").passed
    assert not lint(fragment, wrapper=True).passed


def test_a_short_tag_is_no_code(lint: Callable[..., CheckOutcome]) -> None:
    assert lint("<?php echo 1; ?>\n<? this is text ?>\n").passed


def test_nothing_of_the_code_is_executed(lint: Callable[..., CheckOutcome]) -> None:
    outcome = lint("<?php while (true) { echo 'x'; }\n")

    assert outcome.passed
    assert outcome.details["seconds"] < 10


def test_an_environment_without_php_makes_the_task_invalid(lint: Callable[..., CheckOutcome]) -> None:
    with pytest.raises(TaskInvalid, match="needs php"):
        lint(GOOD, Image("host"))
