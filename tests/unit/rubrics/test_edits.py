"""One field changes, every other byte stays (rules 170 to 173)."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.edits import set_field, switch, switch_file
from orchestrator.errors import AuthoringError
from orchestrator.loading import parse_document, read_document

WRITTEN = """\
# yaml-language-server: $schema=elsewhere
id:   odd     # spaces stay
version: '1.0'   # so do quotes
label: Ünïcode → 日本

checks:   # a kind nobody here knows
    - {kind: from_elsewhere,   deep: [1, {a: ~}], text: "\\u00e9"}
    - kind: regex
      patterns:
      - >-
        folded
        text
scoring: {combine: all_pass}
# the end
"""


def test_disabling_adds_one_line_and_keeps_the_others() -> None:
    off = switch(WRITTEN.encode(), "a.yaml", enabled=False).decode()

    lines = off.splitlines(keepends=True)
    assert lines[3] == "enabled: false\n"
    assert "".join(lines[:3] + lines[4:]) == WRITTEN


def test_enabling_again_changes_the_value_alone() -> None:
    off = WRITTEN.replace("label:", "enabled:   false # since May\nlabel:").encode()

    on = switch(off, "a.yaml", enabled=True)

    assert on == off.replace(b"enabled:   false # since May", b"enabled:   true # since May")
    assert switch(on, "a.yaml", enabled=False) == off


def test_what_is_so_already_is_not_touched() -> None:
    assert switch(WRITTEN.encode(), "a.yaml", enabled=True) == WRITTEN.encode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('id: a\r\nversion: "1.0"\r\nx: 1\r\n', 'id: a\r\nversion: "1.0"\r\nenabled: false\r\nx: 1\r\n'),
        ('id: a\nversion: "1.0"', 'id: a\nversion: "1.0"\nenabled: false\n'),
        ('  id: a\n  version: "1.0"\n', '  id: a\n  version: "1.0"\n  enabled: false\n'),
        ('{id: a, version: "1.0", x: 1}\n', '{id: a, version: "1.0", "enabled": false, x: 1}\n'),
        ('\ufeffid: a\nversion: "1.0"\n', '\ufeffid: a\nversion: "1.0"\nenabled: false\n'),
        ('enabled: yes\nversion: "1.0"\n', 'enabled: false\nversion: "1.0"\n'),
        ('"enabled": true\nversion: "1.0"\n', '"enabled": false\nversion: "1.0"\n'),
    ],
)
def test_every_way_of_writing_a_mapping_keeps_its_form(before: str, after: str) -> None:
    assert switch(before.encode(), "a.yaml", enabled=False).decode() == after


def test_json_stays_json() -> None:
    data = b'{\n  "id": "a",\n  "version": "1.0",\n  "checks": []\n}\n'

    off = switch(data, "a.json", enabled=False)

    assert parse_document(off, "a.json").data["enabled"] is False
    assert off == data.replace(b'"1.0",', b'"1.0", "enabled": false,')


@pytest.mark.parametrize("text", ["id: a\n", "enabled: &x true\nversion: '1'\nagain: *x\n"])
def test_where_no_place_is_found_the_author_is_asked(text: str) -> None:
    with pytest.raises(AuthoringError, match="by hand"):
        switch(text.encode(), "a.yaml", enabled=False)


def test_a_files_rights_stay_and_no_draft_is_left(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(WRITTEN.encode())
    file.chmod(0o640)

    assert switch_file(file, enabled=False) is True
    assert switch_file(file, enabled=False) is False

    assert file.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["a.yaml"]
    assert read_document(file).data["enabled"] is False


@pytest.mark.parametrize(
    ("data", "value", "after"),
    [
        ("id: a # x\nversion: '1.0'\n", "b", "id: b # x\nversion: '1.0'\n"),
        ("id: a\nversion: '1.0'\n", "no", "id: \"no\"\nversion: '1.0'\n"),
        ('{"id": "a", "version": "1.0"}', "b", '{"id": "b", "version": "1.0"}'),
    ],
)
def test_an_id_can_be_set_and_is_quoted_where_it_must_be(data: str, value: str, after: str) -> None:
    name = "a.json" if data.startswith("{") else "a.yaml"

    assert set_field(data.encode(), name, "id", value).decode() == after


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,6}", fullmatch=True), st.text(max_size=20) | st.integers(0, 99), max_size=4
    ),
    st.booleans(),
)
def test_off_and_on_again_reads_the_same(fields: dict[str, object], flow: bool) -> None:
    document = {**fields, "version": "1.0", "checks": [dict(fields)]}
    document.pop("enabled", None)
    data = yaml.safe_dump(document, default_flow_style=flow, sort_keys=False).encode()

    off = switch(data, "a.yaml", enabled=False)
    on = switch(off, "a.yaml", enabled=True)

    held = parse_document(on, "a.yaml").data
    assert held.pop("enabled") is True
    assert held == parse_document(data, "a.yaml").data
