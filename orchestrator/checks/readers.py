"""Is a text a document of one format: strict readers that are safe on any text, in about linear time.

XML is read with expat and every DOCTYPE is refused at its first character, so no entity is ever declared;
nothing is built in memory. YAML is read as a stream of events: no alias is expanded, no tag obeyed, no
recursion used. Strict HTML is the tree construction of the HTML standard (html5lib): lxml's own parser
repairs silently and knows no list of parse errors.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

from orchestrator.checks.commonmark import structure

T = TypeVar("T")


class NoDocument(Exception):
    """The text is no such document; the message says where it goes wrong."""


def document(text: str, read: Callable[[str], T], *, whole: bool = False) -> T:
    """What `read` makes of the text or, unless `whole`, of its only fenced block. Raises NoDocument."""
    try:
        return read(text)
    except NoDocument as trouble:
        fences = structure(text).fences
        if whole or len(fences) != 1:
            among = f" (and {len(fences)} fenced blocks are not one)" if fences and not whole else ""
            raise NoDocument(f"{trouble}{among}") from None
    try:
        return read(fences[0].code)
    except NoDocument as trouble:
        raise NoDocument(f"in its fenced block: {trouble}") from None


def read_json(text: str) -> Any:
    """The value. Keys given twice, NaN, Infinity and numbers too large to be finite are refused."""
    try:
        return json.loads(
            text.removeprefix("\ufeff"),
            object_pairs_hook=_pairs,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_whole,
        )
    except json.JSONDecodeError as error:
        raise NoDocument(f"not JSON: line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise NoDocument("JSON nested too deeply to be read") from None


def read_yaml(text: str) -> None:
    """One document, a mapping or a list: any prose is a YAML text, so a lone text is none."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _walk_yaml(yaml.parse(text, Loader=loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise NoDocument(f"not YAML: {place}{error.problem}") from None
    except yaml.YAMLError as error:
        raise NoDocument(f"not YAML: {' '.join(str(error).split())}") from None


def read_xml(text: str) -> None:
    """Well-formed, namespaces bound, and without a DOCTYPE."""
    from xml.parsers import expat

    parser = expat.ParserCreate("utf-8", " ")
    parser.StartDoctypeDeclHandler = _no_doctype
    try:
        parser.Parse(text.strip().encode("utf-8"), True)
    except expat.ExpatError as error:
        words = expat.ErrorString(error.code)
        raise NoDocument(f"not XML: line {error.lineno}, column {error.offset + 1}: {words}") from None


def read_csv(text: str) -> None:
    """Comma-separated, at least two rows, each of the same two or more columns; blank lines do not count."""
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error as error:
        raise NoDocument(f"not CSV: {error}") from None
    if len(rows) < 2:
        raise NoDocument("not CSV: fewer than two rows")
    width = len(rows[0])
    if width < 2:
        raise NoDocument("not CSV: fewer than two columns")
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise NoDocument(f"not CSV: row {number} has {len(row)} columns, the first has {width}")


def read_markdown(text: str) -> None:
    """At least one block other than a paragraph: any prose is Markdown."""
    if not structure(text).structured:
        raise NoDocument("not Markdown beyond prose: it is nothing but paragraphs")


def read_html(text: str) -> None:
    """Holds at least one element of HTML, right or wrong."""
    if not any(tag.lower() in _ELEMENTS for tag in _TAG.findall(text)):
        raise NoDocument("not HTML: it holds no element of HTML")


def read_strict_html(text: str) -> None:
    """No parse error by the HTML standard, and at least one element.

    A text that begins with a doctype or <html> is read as a document, any other as the inside of a body.
    """
    from orchestrator.checks.html import problem_of

    read_html(text)
    problem = problem_of(text)
    if problem:
        raise NoDocument(f"not valid HTML: {problem}")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for number, name in enumerate(names) if name in names[:number])
        raise NoDocument(f"JSON with the key {json.dumps(twice)} twice in one object")
    return made


def _no_constant(name: str) -> NoReturn:
    raise NoDocument(f"not JSON: {name} is no number of JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise NoDocument(f"JSON with the number {digits[:40]}, which is too large")
    return number


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise NoDocument(f"JSON with a number of {len(digits)} digits")
    return int(digits)


def _no_doctype(*_: Any) -> NoReturn:
    raise NoDocument("XML with a DOCTYPE, which is refused")


_MOST_DIGITS = 4_000
"""Of a whole number; Python itself reads 4,300."""


class _Frame:
    """A mapping or list that is open while YAML is read."""

    def __init__(self, mapping: bool) -> None:
        self.mapping = self.at_key = mapping
        self.keys: set[tuple[str, bool]] = set()


def _walk_yaml(events: Iterable[Any]) -> None:
    import yaml

    documents, anchors, frames = 0, set(), list[_Frame]()
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise NoDocument("YAML of more than one document")
        if not isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
            continue
        if isinstance(event, yaml.NodeEvent):
            if not frames and not isinstance(event, yaml.CollectionStartEvent):
                raise NoDocument("not YAML beyond plain text: neither a mapping nor a list")
            if isinstance(event, yaml.AliasEvent) and event.anchor not in anchors:
                raise NoDocument(f"YAML with the alias *{event.anchor}, which nothing defines")
            anchors.add(event.anchor)
        if isinstance(event, yaml.CollectionStartEvent):
            frames.append(_Frame(isinstance(event, yaml.MappingStartEvent)))
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            frames.pop()
        _finish_node(frames, event)
    if not documents:
        raise NoDocument("not YAML: it is empty")


def _finish_node(frames: list[_Frame], event: Any) -> None:
    """A node inside the innermost open collection is complete."""
    if not frames or not frames[-1].mapping:
        return
    frame = frames[-1]
    value = getattr(event, "value", None)
    if frame.at_key and isinstance(value, str):
        key = (value, event.style is None)
        if key in frame.keys:
            raise NoDocument(f"YAML with the key {json.dumps(value)} twice in one mapping")
        frame.keys.add(key)
    frame.at_key = not frame.at_key


_TAG = re.compile(r"<([A-Za-z][A-Za-z0-9]*)(?=[\s/>])")
_NAMES = """
a abbr address area article aside audio b base bdi bdo blockquote body br button canvas caption cite code col
colgroup data datalist dd del details dfn dialog div dl dt em embed fieldset figcaption figure footer form h1
h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label legend li link main map mark math
menu meta meter nav noscript object ol optgroup option output p picture pre progress q rp rt ruby s samp
script search section select slot small source span strong style sub summary sup svg table tbody td template
textarea tfoot th thead time title tr track u ul var video wbr
"""
_ELEMENTS = frozenset(_NAMES.split())
