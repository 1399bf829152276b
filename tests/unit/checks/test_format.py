"""format: strict readers, the whole text or its only fenced block, and nothing that a hostile text can do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.checks.format import FormatExecutor
from orchestrator.checks.html import DEEPEST, MOST_ATTRIBUTES
from orchestrator.outcomes import CheckOutcome

PAGE = "<!doctype html><html><head><title>t</title></head><body><p>x</p></body></html>"


@pytest.fixture
def check(run: Callable[..., CheckOutcome]) -> Callable[..., CheckOutcome]:
    executor = FormatExecutor()
    return lambda format, text, **more: run(executor, {"kind": "format", "format": format, **more}, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("json", '{"a": [1, 2.5e3, null, true, "\\ud83d\\ude00"]}'),
        ("json", "\ufeff 7 \n"),
        ("yaml", "a: 1\nb: [x, *no]\n".replace("*no", "no")),
        ("yaml", "- &one {a: 1}\n- *one\n"),
        ("yaml", "? [a]\n: 1\n? [b]\n: 2\n"),
        ("xml", '\n<?xml version="1.0" encoding="utf-16"?>\n<a xmlns:b="u"><b:c d="é"/></a>\n'),
        ("html", PAGE),
        ("html", "<ul><li>one<li>two</ul>"),
        ("html", "<p>Fish & chips <img src=a>"),
        ("html", "<my-part>x</my-part><p>y"),
        ("markdown", "# Title\n\nText."),
        ("markdown", "- a\n- b"),
        ("csv", 'name,note\nana,"a, ""b""\nc"\n\nben,x\n'),
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_a_document_of_the_format_passes(
    check: Callable[..., CheckOutcome], name: str, text: str, strict: bool
) -> None:
    outcome = check(name, text, strict=strict)

    assert outcome.passed, outcome


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("json", '{"a": 1, "b": {"c": 1, "c": 2}}', 'the key "c" twice'),
        ("json", '{"a": NaN}', "NaN is no number of JSON"),
        ("json", "[-Infinity]", "-Infinity is no number of JSON"),
        ("json", "1e999", "too large"),
        ("json", "9" * 5000, "5000 digits"),
        ("json", "[" * 100_000, "nested too deeply"),
        ("json", "{'a': 1}", "line 1, column 2"),
        ("json", '{"a": 1} trailing', "Extra data"),
        ("json", "", "not JSON"),
        ("yaml", "just prose", "neither a mapping nor a list"),
        ("yaml", "a: 1\na: 2\n", 'the key "a" twice'),
        ("yaml", "a: *nobody\n", "the alias *nobody"),
        ("yaml", "a: 1\n---\nb: 2\n", "more than one document"),
        ("yaml", "a: [1\n", "not YAML: line"),
        ("yaml", "[" * 50_000, "not YAML"),
        ("yaml", "a: \x01", "not YAML"),
        ("yaml", " \n", "it is empty"),
        ("xml", "<a><b></a>", "mismatched tag"),
        ("xml", "<a:b/>", "unbound prefix"),
        ("xml", "<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>", "a DOCTYPE, which is refused"),
        ("xml", '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', "a DOCTYPE, which is refused"),
        ("xml", "<a>&undefined;</a>", "undefined entity"),
        ("xml", "prose", "not XML"),
        ("html", "prose with <angle> brackets and List<String>", "no element of HTML"),
        ("markdown", "Prose.\n\nMore prose.", "nothing but paragraphs"),
        ("csv", "a,b", "fewer than two rows"),
        ("csv", "a\nb", "fewer than two columns"),
        ("csv", "a,b\n1,2,3", "row 2 has 3 columns, the first has 2"),
        ("csv", 'a,"b\n1,2', "not CSV"),
        ("csv", 'a,b\n1,"2"x', "not CSV"),
    ],
)
def test_what_is_none_fails_and_says_where(
    check: Callable[..., CheckOutcome], name: str, text: str, words: str
) -> None:
    outcome = check(name, text)

    assert (outcome.status, outcome.score) == ("failed", 0.0)
    assert words in outcome.reason


@pytest.mark.parametrize(
    "text",
    [
        "<div>not closed",
        "<p>a</p></div>",
        "<b><i>crossed</b></i>",
        "<html><p>no doctype</html>",
        "<tr><td>outside a table</td></tr>",
        "<p title=a title=b>twice</p>",
        "&nosuch; <p>x",
        "plain prose",
    ],
)
def test_strict_html_has_no_parse_error(check: Callable[..., CheckOutcome], text: str) -> None:
    outcome = check("html", text, strict=True)

    assert outcome.status == "failed"
    assert "HTML" in outcome.reason


def test_only_strict_html_minds_errors(check: Callable[..., CheckOutcome]) -> None:
    assert check("html", "<div>not closed").passed


@pytest.mark.parametrize(
    ("name", "inside"), [("json", "{}"), ("yaml", "a: 1"), ("xml", "<a/>"), ("csv", "a,b\n1,2")]
)
def test_one_fenced_block_may_hold_the_document(
    check: Callable[..., CheckOutcome], name: str, inside: str
) -> None:
    answer = f"Here it is:\n\n```{name}\n{inside}\n```\n\nAnything else?"

    assert check(name, answer).passed
    assert not check(name, answer, strict=True).passed


def test_two_fenced_blocks_are_not_one(check: Callable[..., CheckOutcome]) -> None:
    outcome = check("json", "```\n{}\n```\n\n```\n{}\n```\n")

    assert "2 fenced blocks are not one" in outcome.reason


def test_what_is_wrong_in_the_block_is_said_of_the_block(check: Callable[..., CheckOutcome]) -> None:
    assert check("json", "```\n{\n```").reason.startswith("in its fenced block: not JSON")


@pytest.mark.parametrize(
    ("check_fields", "words"),
    [({"format": "toml"}, "unknown format 'toml'"), ({"format": ["json"]}, "unknown format"),
     ({"format": "json", "strict": 1}, "strict must be true or false")],
)  # fmt: skip
def test_an_authors_mistake_fails_the_check_and_is_named(
    run: Callable[..., CheckOutcome], check_fields: dict[str, Any], words: str
) -> None:
    outcome = run(FormatExecutor(), {"kind": "format", **check_fields}, "{}")

    assert outcome.status == "failed"
    assert words in outcome.reason


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("".join(f"<b id={n}>" for n in range(50_000)), f"more than {DEEPEST} elements"),
        ("<p " + " ".join(f"a{n}=b" for n in range(50_000)) + ">", f"more than {MOST_ATTRIBUTES} attributes"),
    ],
    ids=["deep", "wide"],
)
def test_hostile_html_ends_soon(check: Callable[..., CheckOutcome], text: str, words: str) -> None:
    started = time.thread_time()

    outcome = check("html", text, strict=True)

    assert words in outcome.reason
    assert time.thread_time() - started < 3
