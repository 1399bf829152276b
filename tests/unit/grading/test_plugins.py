"""Plug-ins by entry point, and the word_count example as a distribution (rules 148 to 162, 217; C-47)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.checks.text import TextExecutor
from orchestrator.contract import Context
from orchestrator.errors import AuthoringError
from orchestrator.plugins import CORE, Deferred, Group, Plugin, Registry
from orchestrator.schemas import RubricSchema, core, load

DATA = Path(__file__).parents[2] / "data"
DISTRIBUTION = DATA / "grading/plugin"
"""As installed: the example's entry point, and one that claims a name of the core's."""
MODULE = DATA / "plugins/proctor-word-count"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """What `Registry.load` finds when the example distribution is installed, checks of text alone."""
    monkeypatch.syspath_prepend(str(DISTRIBUTION))
    monkeypatch.syspath_prepend(str(MODULE))
    found = Registry.load()
    kept = [
        p
        for p in (*found.checks.plugins.values(), *found.checks.shadowed)
        if p.name in ("text", "word_count")
    ]
    return Registry(checks=Group(kept))


def counted(registry: Registry, response: str, **fields: Any) -> Any:
    check = {"kind": "word_count"} | fields
    executor = next(e for e in registry.executors if e.applies(check))
    return executor.execute(check, response, Context())


def test_the_built_ins_come_through_the_same_door() -> None:
    registry = Registry.load()

    assert {"text", "target_match", "command", "score_delta"} <= set(registry.checks)
    assert {"gold", "noop", "predictions", "command"} <= set(registry.agents)
    assert {"docker", "oci"} <= set(registry.sandboxes)
    assert {"rubric_checks", "format", "fact_match", "tool_usage", "judge", "panel"} <= set(registry.graders)
    assert registry.checks.plugins["text"].distribution == CORE


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    def explode() -> Any:
        raise ImportError("no such module")

    registry = Registry(agents=Group([Plugin("agents", "broken", "other", explode)]))

    assert list(registry.agents) == ["broken"] and "broken" in registry.agents
    assert registry.agents.get("absent") is None


def test_a_plugin_that_cannot_be_loaded_is_one_error_that_names_it() -> None:
    def explode() -> Any:
        raise ImportError("no such module")

    registry = Registry(checks=Group([Plugin("checks", "broken", "bad-package", explode)]))

    with pytest.raises(
        AuthoringError, match=r"'broken' of orchestrator\.checks.*no such module.*'bad-package'"
    ):
        registry.executors  # noqa: B018


def test_a_thing_that_is_no_executor_is_refused_by_name() -> None:
    with pytest.raises(AuthoringError, match="applies and execute"):
        Registry.of(checks={"odd": dict}).executors  # noqa: B018


def test_the_core_comes_first_whatever_else_is_installed(installed: Registry) -> None:
    assert list(installed.checks) == ["text", "word_count"]
    assert isinstance(installed.executors[0], TextExecutor)
    assert [p.distribution for p in installed.checks.shadowed] == ["proctor-word-count"]


def test_a_plugin_cannot_take_a_core_kind(installed: Registry, grade: Any, rubric: Any) -> None:
    verdict = grade(rubric({"kind": "regex", "patterns": ["x"]}), "x", executors=installed.executors)

    assert verdict.outcomes[0].reason == 'matched "x"'


def test_an_executor_that_asks_for_the_analyzers_is_given_them() -> None:
    class Asking(TextExecutor):
        def __init__(self, analyzers: Any) -> None:
            super().__init__()
            self.analyzers = analyzers

    class Counter:
        """Stands for an analyzer; what is installed is its class."""

    given = Registry.of(checks={"asking": Asking}, analyzers={"count": Counter}).executors[0].analyzers  # type: ignore[attr-defined]

    assert list(given) == ["count"]
    assert isinstance(given["count"], Counter) and given["count"] is given["count"]


def test_executors_are_built_once() -> None:
    registry = Registry.of(checks={"text": TextExecutor})

    assert registry.executors is registry.executors


def test_executors_that_wait_for_their_kind_are_named_after_it() -> None:
    registry = Registry.load()
    kinds = {name.removeprefix("check_") for name in load("rubric")["$defs"] if name.startswith("check_")}
    offered = zip(registry.checks, registry.executors, strict=True)
    waiting = [(name, executor) for name, executor in offered if isinstance(executor, Deferred)]

    for name, executor in waiting:
        taken = {kind for kind in kinds if executor._executor.applies({"kind": kind})}
        assert taken == {name} and executor.applies({"kind": name})
        assert not executor.applies({"kind": "regex"})
    assert "score_delta" in dict(waiting)


@pytest.mark.parametrize(
    ("response", "fields", "passes", "reason"),
    [
        ("one two  three\n", {"min": 2, "max": 5}, True, "3 words"),
        ("", {}, True, "0 words"),
        ("a b", {"min": 2, "max": 2}, True, "2 words"),
        ("one", {"min": 2}, False, "1 words, fewer than 2"),
        ("one two three", {"max": 2}, False, "3 words, more than 2"),
        ("ein\u2003zwei\u00a0drei", {"min": 3, "max": 3}, True, "3 words"),
        ("a", {"min": -1}, False, "no range"),
        ("a", {"min": 3, "max": 2}, False, "no range"),
        ("a", {"min": "1"}, False, "no range"),
        ("a", {"min": True}, False, "no range"),
    ],
)
def test_word_count_counts_words_between_runs_of_white_space(
    installed: Registry, response: str, fields: dict[str, Any], passes: bool, reason: str
) -> None:
    outcome = counted(installed, response, **fields)

    assert (outcome.passed, outcome.score) == (passes, float(passes))
    assert reason in outcome.reason


def problems(schema: RubricSchema, check: dict[str, Any]) -> list[str]:
    validator = schema.kinds.get(check["kind"])
    return ["unknown kind"] if validator is None else [e.message for e in validator.iter_errors(check)]


def test_schema_and_execution_come_from_one_object_and_the_file_stays_as_it_is(installed: Registry) -> None:
    check = {"kind": "word_count", "min": 2, "id": "length", "description": "Short."}

    assert problems(RubricSchema.of(installed.schemas), check) == []
    assert problems(core(), check) == ["unknown kind"]


def test_a_typo_in_a_plugins_check_is_refused_too(installed: Registry) -> None:
    schema = RubricSchema.of(installed.schemas)

    assert problems(schema, {"kind": "word_count", "minimum": 2})
    assert problems(schema, {"kind": "word_count", "min": -1})


def test_a_core_definition_wins_over_a_plugins(installed: Registry) -> None:
    schema = RubricSchema.of(installed.schemas).schema

    assert schema["$defs"]["check_regex"] == core().schema["$defs"]["check_regex"]
    refs = [option["$ref"] for option in schema["$defs"]["check"]["oneOf"]]
    assert refs.count("#/$defs/check_regex") == 1 and "#/$defs/check_word_count" in refs


def test_between_two_plugins_the_first_wins() -> None:
    first, second = TextExecutor(), TextExecutor()
    plugins = [Plugin("checks", "same", "a", lambda: first), Plugin("checks", "same", "b", lambda: second)]

    registry = Registry(checks=Group(plugins))

    assert registry.executors[0] is first
