"""score_delta with the real phpcs of Debian, in rooms of a recipe: honest work pays, games do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.checks.score_delta import ScoreDeltaExecutor
from orchestrator.contract import Context
from orchestrator.errors import TaskInvalid
from orchestrator.evidence import RoomJudge
from orchestrator.outcomes import CheckOutcome
from orchestrator.worktree.trees import TreeStore
from sandboxes.protocol import Provider
from sandboxes.spec import MIB, Entry, Image, Limits, RoomSpec
from tests import engines

pytestmark = [pytest.mark.oci, pytest.mark.network]

IMAGE = Image("debian", "bookworm", ("php-cli", "php-codesniffer", "phpmd"))
A = "<?php\n\nfunction a( $x )\n{\n  if($x){ return 1; }\n    return  2;\n}\n"
CLEAN = "<?php\n\nfunction a($x)\n{\n    if ($x) {\n        return 1;\n    }\n    return 2;\n}\n"
BEFORE = {"src/a.php": A, "src/b.php": CLEAN.replace(" a(", " b("), "README.md": "x\n"}


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with engines.opened("oci") as made:
        made.prepare(IMAGE)
        yield made


@pytest.fixture
def grade(provider: Provider, tmp_path: Path) -> Callable[..., CheckOutcome]:
    def run(change: Mapping[str, str | None], min_delta: float = 1, **fields: Any) -> CheckOutcome:
        check = {"kind": "score_delta", "id": "s", "tool": "phpcs", "min_delta": min_delta} | fields
        store = TreeStore(tmp_path / "trees")
        files = {p: t for p, t in (BEFORE | dict(change)).items() if t is not None}
        before = store.add(Entry(p.encode(), 0o100644, t.encode()) for p, t in BEFORE.items())
        after = store.add(Entry(p.encode(), 0o100644, t.encode()) for p, t in files.items())
        judge = RoomJudge(
            provider=provider,
            room=RoomSpec(image=IMAGE, limits=Limits(memory=512 * MIB, disk=64 * MIB, time=60)),
            trees=store,
            judge_tree=before,
            graded_tree=after,
            changes=lambda: store.changes(before, after),
        )
        return ScoreDeltaExecutor().execute(check, "", Context(judge=judge))

    return run


def test_an_honest_fix_pays(grade: Callable[..., CheckOutcome]) -> None:
    outcome = grade({"src/a.php": CLEAN}, guard_command="php -l src/a.php && php -l src/b.php")

    assert outcome.passed, outcome
    assert outcome.details["tool_version"] == "3.7.1"
    assert outcome.details["after"] == 0.0
    assert outcome.details["matched"]["fixed"] == outcome.details["before"] > 3


def test_no_change_is_no_improvement(grade: Callable[..., CheckOutcome]) -> None:
    outcome = grade({})

    assert (outcome.status, outcome.details["delta"]) == ("failed", 0.0)


def test_lines_that_moved_are_unchanged(grade: Callable[..., CheckOutcome]) -> None:
    outcome = grade({"src/a.php": A.replace("<?php\n", "<?php\n\n// one\n\n// two\n")}, min_delta=0)

    assert outcome.details["matched"]["new"] == 0, outcome
    assert outcome.details["matched"]["fixed"] == 0
    assert outcome.details["matched"]["moved"] > 3


@pytest.mark.parametrize(
    "game",
    [
        {"src/a.php": A.replace("<?php", "<?php // phpcs:ignoreFile")},
        {"src/a.php": A.replace("<?php", "<?php // phpcs:disable")},
        {"src/a.php": A.replace("<?php", "<?php // @codingStandardsIgnoreFile")},
        {"src/a.php": None},
        {"src/a.php": None, "src/a.inc": A},
        {"phpcs.xml": '<ruleset name="x"><exclude-pattern>*</exclude-pattern></ruleset>'},
        {".phpcs.xml": '<ruleset name="x"><arg name="severity" value="10"/></ruleset>'},
        {"phpcs.xml": '<ruleset name="x"><autoload>./e.php</autoload></ruleset>', "e.php": "<?php\nexit;\n"},
        {"src/a.php": CLEAN.replace("return 1;\n    }", "return 1;\n    ")},
    ],
    ids=["ignoreFile", "disable", "old ignore", "deleted", "renamed", "exclude", "level", "loader", "broken"],
)  # fmt: skip
def test_a_game_does_not_pay(grade: Callable[..., CheckOutcome], game: dict[str, str | None]) -> None:
    outcome = grade(game, guard_command="for f in src/*.php; do php -l $f || exit 1; done")

    assert outcome.status == "failed", outcome


def test_a_standard_that_is_not_there_is_a_bad_task(grade: Callable[..., CheckOutcome]) -> None:
    with pytest.raises(TaskInvalid, match="not installed"):
        grade({}, metadata={"standard": "Nope"})
