"""Whatever bytes come in: a rubric that a second opinion agrees with, or an AuthoringError. Nothing else.

A silent pass would be a document that loads although its schema refuses it, or although plain YAML or JSON
reads something else in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from orchestrator.checks.target import TargetMatchExecutor
from orchestrator.checks.text import TextExecutor
from orchestrator.errors import AuthoringError
from orchestrator.grading import evaluate
from orchestrator.loading import dump_rubric, lint, parse_document, parse_rubric, rubric_of
from orchestrator.schemas import load

SCHEMA = Draft202012Validator(load("rubric"))
EXECUTORS = (TextExecutor(0.2), TargetMatchExecutor())
NAMED = """
id version checks scoring combine threshold weights kind values patterns flags mode metadata enabled
regex composite must_contain_any must_not_contain target_match format tool_usage weighted_avg all_pass
rubric/a@1.0 expected.a 1.0 '1.0' .inf .nan null true no 1_000 2024-01-01 0x1f 12:30 { } [ ] , " ' &a *a
"""
MARKS = ["é", "\x00", "\ud800", "- ", ": ", "\n", "\n  ", "  ", "<<: *a", "!!python/name:os.system", "!!str "]
WORDS = [*NAMED.split(), *MARKS, "? ", "---\n", "# x\n", "|\n", ">-\n", "\\u0041", "%YAML 1.1\n"]
LEAVES = (
    st.sampled_from(WORDS) | st.integers() | st.floats() | st.booleans() | st.none() | st.text(max_size=9)
)
ANY = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=3),
)
GOOD = {
    "id": "a",
    "version": "1.0",
    "checks": [
        {"kind": "regex", "id": "r", "patterns": ["a+"], "flags": "i"},
        {"kind": "must_contain_any", "id": "c", "values": ["x", "y"], "case_sensitive": True},
        {"kind": "target_match", "reference_path": "expected.a", "mode": "chrf", "threshold": 0.5},
        {"kind": "composite", "rubric_ref": "rubric/a@1.0", "description": "again"},
    ],
    "scoring": {"combine": "weighted_avg", "threshold": 0.5, "weights": {"r": 1, "c": 0.5}},
}


@st.composite
def nearly_good(draw: st.DrawFn) -> Any:
    """The rubric with a few of its parts taken out, renamed or replaced."""
    data = json.loads(json.dumps(GOOD))
    for _ in range(draw(st.sampled_from([1, 1, 1, 0, 2, 3]))):
        _spoil(data, draw)
    return data


def _spoil(node: Any, draw: st.DrawFn) -> None:
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    if not keys:
        return None
    inner = [key for key in keys if isinstance(node[key], dict | list)]
    key = draw(st.sampled_from([*keys, *inner, *inner]))
    if isinstance(node[key], dict | list) and draw(st.integers(0, 4)):
        return _spoil(node[key], draw)
    how = draw(st.sampled_from(["drop", "rename", "replace"]))
    if how == "replace":
        node[key] = draw(ANY)
        return None
    value = node.pop(key)
    if how == "rename" and isinstance(node, dict):
        node[draw(st.sampled_from(WORDS))] = value
    return None


@st.composite
def written(draw: st.DrawFn) -> str:
    """A document as text: as it is, with a line given twice, or damaged in a few places."""
    data = draw(nearly_good())
    try:
        indent = draw(st.sampled_from([None, 1]))
        text = draw(
            st.sampled_from([json.dumps(data, indent=indent), yaml.safe_dump(data, allow_unicode=True)])
        )
    except (yaml.YAMLError, UnicodeError, ValueError):
        text = json.dumps(data)
    how = draw(st.sampled_from(["as it is", "as it is", "twice", "damaged"]))
    if how == "twice":
        lines = text.splitlines(keepends=True)
        number = draw(st.integers(0, len(lines) - 1))
        text = "".join([*lines[: number + 1], *lines[number:]])
    for _ in range(draw(st.integers(1, 2)) if how == "damaged" else 0):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(WORDS)) + text[at + draw(st.integers(0, 3)) :]
    return text


NAMES = st.sampled_from(["a.yaml", "a.json", "a"])


@settings(max_examples=200, deadline=None)
@given(written(), NAMES)
def test_a_rubric_gone_wrong_is_refused_or_reads_as_a_second_opinion_has_it(text: str, name: str) -> None:
    read(text, name)


@settings(max_examples=60, deadline=None)
@given(ANY.map(json.dumps) | st.text(max_size=60) | st.binary(max_size=80), NAMES)
def test_anything_is_refused_or_reads_as_a_second_opinion_has_it(text: str | bytes, name: str) -> None:
    read(text, name)


def read(text: str | bytes, name: str) -> None:
    try:
        doc = parse_document(text, name)
        rubric = rubric_of(doc)
    except AuthoringError as error:
        told(error, text)
        return
    assert doc.data == plain(text, name), "something else was read than is written"
    assert SCHEMA.is_valid(doc.data), "loaded although the schema refuses it"
    assert parse_rubric(dump_rubric(rubric), "again.yaml") == rubric
    lint(rubric, doc)
    verdict = evaluate(rubric, "x aa", {"expected": {"a": "x"}}, EXECUTORS)
    assert len(verdict.outcomes) + len(verdict.skipped) == len(rubric.checks)


def told(error: AuthoringError, text: str | bytes) -> None:
    """Every problem says something, about a line that is there."""
    lines = text.count("\n" if isinstance(text, str) else b"\n") + 2  # type: ignore[arg-type]
    assert error.problems
    for problem in error.problems:
        assert problem.message
        assert 0 <= problem.line <= lines + str(text).count("\\r")
        assert str(problem).isprintable() or "\n" not in str(problem)


def plain(text: str | bytes, name: str) -> Any:
    """What the common readers see. A key given twice, which they let through, is an AssertionError here."""
    content = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    decoded = content.decode("utf-8-sig")
    if name.endswith(".json"):
        return json.loads(decoded, object_pairs_hook=once)
    for node in nodes(yaml.compose(decoded, Loader=yaml.SafeLoader)):
        if isinstance(node, yaml.MappingNode):
            once([(key.value, value) for key, value in node.value if key.tag != "tag:yaml.org,2002:merge"])
    return yaml.load(decoded, Loader=yaml.CSafeLoader)


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({str(key) for key, _ in pairs}) == len(pairs), "loaded although a key is given twice"
    return dict(pairs)


def nodes(node: Any) -> Iterator[yaml.Node]:
    if node is None:
        return
    yield node
    for child in node.value if isinstance(node, yaml.CollectionNode) else ():
        for part in child if isinstance(child, tuple) else (child,):
            yield from nodes(part)
