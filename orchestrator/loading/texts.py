"""From a file's bytes to a `Located` document: encoding, YAML, JSON.

YAML is read by libyaml's event parser: nothing is constructed from tags, nothing recurses, and an alias is
counted before it is followed. JSON is checked by the standard library and then read with line numbers.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from yaml.reader import Reader, ReaderError

from orchestrator.errors import AuthoringError, Problem
from orchestrator.loading.located import Builder, Located, Scalar, shorten

MAX_BYTES = 10_000_000
"""A document larger than this is refused."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_IMPLICIT: dict[str | None, list[tuple[str, re.Pattern[str]]]] = yaml.SafeLoader.yaml_implicit_resolvers
_YAML_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_YAML_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\Z")
_JSON_TOKEN = re.compile(
    r'[ \t\r\n]*(?:(?P<mark>[{}\[\],:])|(?P<text>"(?:[^"\\]|\\.)*")'
    r"|(?P<number>-?[0-9][0-9.eE+-]*|-?Infinity|NaN)|(?P<word>true|false|null))"
)
_WORDS = {"true": True, "false": False, "null": None}
_QUOTE = "quote it when it is meant as text"


def read_document(path: Path) -> Located:
    """The document in the file at `path`. Raises AuthoringError when it cannot be read as one."""
    return parse_document(read_bytes(path), str(path))


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file of at most `limit` bytes. Raises AuthoringError naming what is there."""
    try:
        if path.is_dir():
            raise _fault(str(path), 0, "is a folder, not a file", "name the file in it")
        if not path.exists():
            raise _fault(str(path), 0, "there is no such file", "check the path")
        if not path.is_file():
            raise _fault(str(path), 0, "is not a regular file", "name a file")
        with path.open("rb") as stream:
            raw = stream.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _fault(str(path), 0, f"cannot be read: {reason}", "check the path and its rights") from None
    if len(raw) > limit:
        raise _fault(str(path), 0, f"is larger than {limit // 1_000_000} MB", "keep data in files beside it")
    return raw


def parse_document(text: str | bytes, name: str) -> Located:
    """The document in `text`, JSON when `name` ends in .json or it is JSON, YAML otherwise.

    `name` stands in messages. Raises AuthoringError for what cannot be read at all; lesser faults are in
    the result (see `Located`).
    """
    content = _decoded(text, name)
    if name.lower().endswith(".json"):
        return _read_json(content, name)
    if not name.lower().endswith((".yaml", ".yml")) and content.lstrip()[:1] in ("{", "["):
        try:
            json.loads(content)
        except (ValueError, RecursionError):
            return _read_yaml(content, name)
        return _read_json(content, name)
    return _read_yaml(content, name)


def _decoded(text: str | bytes, name: str) -> str:
    if isinstance(text, str):
        text = text.encode("utf-8", "surrogatepass")
    if len(text) > MAX_BYTES:
        raise _fault(name, 0, f"is larger than {MAX_BYTES // 1_000_000} MB", "keep data in files beside it")
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        seen = f"byte 0x{text[error.start]:02x} is not UTF-8"
        raise _fault(name, line, seen, "save the file as UTF-8") from None


def _read_yaml(text: str, name: str) -> Located:
    builder = Builder(name)
    documents = 0
    try:
        for event in yaml.parse(text, Loader=_Loader):
            line = event.start_mark.line + 1 if event.start_mark else 0
            if isinstance(event, yaml.ScalarEvent):
                column = event.start_mark.column + 1 if event.start_mark else 0
                builder.scalar(_yaml_scalar(event, name, line), line, event.anchor, column)
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                _refuse_tag(event.tag, name, line)
                kind: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
                builder.open(kind, line, event.anchor)
            elif isinstance(event, yaml.CollectionEndEvent):
                builder.close()
            elif isinstance(event, yaml.AliasEvent):
                builder.alias(str(event.anchor), line)
            elif isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _fault(name, line, "a second document begins here (---)", "one document per file")
    except ReaderError as error:
        raise _unprintable(text, name, error) from None
    except yaml.YAMLError as error:
        raise _yaml_fault(error, name) from None
    return builder.done()


def _unprintable(text: str, name: str, error: ReaderError) -> AuthoringError:
    """YAML takes no control characters; its C reader says so without a place."""
    found = Reader.NON_PRINTABLE.search(text)
    if found is None:
        return _fault(name, 0, f"not valid YAML: {error.reason}", "save the file as UTF-8 text")
    line = text.count("\n", 0, found.start()) + 1
    seen = f"not valid YAML: the control character U+{ord(found[0]):04X}"
    return _fault(name, line, seen, 'write it as an escape in double quotes, such as "\\x07"')


def _yaml_fault(error: yaml.YAMLError, name: str) -> AuthoringError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line = mark.line + 1 if mark else 0
    said = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error).splitlines()[0]
    hint = "check indentation, quotes and colons near this line"
    if "cannot start any token" in said:
        hint = "indent with spaces, not tabs, and quote text that begins with @, ` or %"
    return _fault(name, line, f"not valid YAML: {said}", hint)


def _refuse_tag(tag: str | None, name: str, line: int) -> None:
    if tag is not None and tag not in ("!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"):
        seen = shorten(tag.replace("tag:yaml.org,2002:", "!!"))
        raise _fault(name, line, f"the tag {seen} is not allowed", "remove it")


def _yaml_scalar(event: yaml.ScalarEvent, name: str, line: int) -> Scalar:
    text: str = event.value
    if event.tag == "tag:yaml.org,2002:str":
        return Scalar(text)
    _refuse_tag(event.tag, name, line)
    if event.tag is not None or not event.implicit[0]:
        return Scalar(text)
    return _plain(text)


def _plain(text: str) -> Scalar:
    """An unquoted YAML scalar, by YAML 1.1's rules; what an author seldom means is doubted."""
    rules = (*_IMPLICIT.get(text[:1], ()), *_IMPLICIT.get(None, ()))
    kind = next((tag.rpartition(":")[2] for tag, pattern in rules if pattern.match(text)), "str")
    if kind == "null":
        return Scalar(None, text)
    if kind == "bool":
        value = text.lower() in ("yes", "true", "on")
        plain = text.lower() in ("true", "false")
        doubt = "" if plain else f"{text} was read as {str(value).lower()}"
        return Scalar(value, text, doubt=doubt, hint=f'quote it ("{text}"), or write {str(value).lower()}')
    if kind in ("int", "float"):
        return _yaml_number(text)
    if kind == "timestamp":
        return Scalar(text, text, doubt=f"{text} was read as a date", hint=f'quote it: "{text}"')
    return Scalar(text, merge=kind == "merge")


def _yaml_number(text: str) -> Scalar:
    if _YAML_INT.match(text) or _YAML_FLOAT.match(text):
        return _number(text)
    if text.lower().lstrip("+-") in (".nan", ".inf"):
        return Scalar(1, text, f"{text} is not a finite number", hint="write a plain number")
    try:
        value = yaml.safe_load(text)
        seen = f"{shorten(text)} was read as the number {shorten(str(value))}"
    except (ValueError, OverflowError):
        return Scalar(text, text, doubt=f"{shorten(text)} is a broken number", hint=_QUOTE)
    return Scalar(value, text, doubt=seen, hint=f'quote it ("{shorten(text)}"), or write the plain number')


def _number(text: str) -> Scalar:
    """A number in plain decimal notation. What a double or 64 bits cannot hold is a fault."""
    whole = _YAML_INT.match(text)
    if whole and len(text) <= 20 and abs(int(text)) < 1 << 63:
        return Scalar(int(text), text)
    if whole:
        return Scalar(1, text, f"{shorten(text)} is too large a number", hint=_QUOTE)
    value = float(text)
    if not math.isfinite(value):
        return Scalar(1, text, f"{shorten(text)} is not a finite number", hint="write a plain number")
    return Scalar(value, text)


def _read_json(text: str, name: str) -> Located:
    try:
        json.loads(text, parse_int=str)
    except json.JSONDecodeError as error:
        raise _fault(name, error.lineno, f"not valid JSON: {error.msg.lower()}", "mend it there") from None
    except RecursionError:
        raise _fault(name, 0, "nested too deep", "flatten it") from None
    builder = Builder(name)
    for line, column, kind, token in _json_tokens(text):
        if token in ("{", "["):
            builder.open({} if token == "{" else [], line)
        elif token in ("}", "]"):
            builder.close()
        elif kind == "text":
            builder.scalar(_json_text(token), line, column=column)
        elif kind == "number":
            builder.scalar(_number(token), line)
        elif kind == "word":
            builder.scalar(Scalar(_WORDS[token], token), line)
    return builder.done()


def _json_tokens(text: str) -> Iterator[tuple[int, int, str, str]]:
    """(line, column, kind, token) of each; the first line and column are 1."""
    line, begun, seen, position = 1, 0, 0, 0
    while match := _JSON_TOKEN.match(text, position):
        start = match.start(match.lastgroup or 0)
        if breaks := text.count("\n", seen, start):
            line, begun = line + breaks, text.rfind("\n", seen, start) + 1
        seen, position = start, match.end()
        yield line, start - begun + 1, str(match.lastgroup), match[str(match.lastgroup)]


def _json_text(token: str) -> Scalar:
    value = json.loads(token)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return Scalar("?", None, f"{shorten(token)} holds half of a surrogate pair", hint="write it whole")
    return Scalar(value)


def _fault(file: str, line: int, message: str, hint: str) -> AuthoringError:
    return AuthoringError(Problem(file, line, "", message, hint))
