"""Entries through the engine's tar and back."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandboxes.docker.archive import Packed, absolute, pack, unpack
from sandboxes.roomfs import UnfitFile
from sandboxes.spec import Entry

NAMES = st.binary(min_size=1, max_size=12).filter(
    lambda b: b"/" not in b and b"\0" not in b and b not in (b".", b"..")
)


@given(st.dictionaries(NAMES, st.binary(max_size=50), max_size=6))
def test_odd_names_come_back_byte_for_byte_and_sorted(files: dict[bytes, bytes]) -> None:
    entries = [Packed(b"/top/" + name, 0o100644, 1000, data) for name, data in files.items()]

    with pack([Packed(b"/top", 0o040000, 0), *entries]) as tar:
        back = list(unpack([tar.read()]))

    assert [(entry.path, entry.data) for entry in back] == sorted(files.items())


def test_modes_links_and_empty_folders_survive() -> None:
    entries = [
        Packed(b"/w/run", 0o100755, 0, b"#!"),
        Packed(b"/w/link", 0o120000, 0, b"/etc/passwd"),
        Packed(b"/w/empty", 0o040000, 0),
        Packed(b"/w/full", 0o040000, 0),
        Packed(b"/w/full/x", 0o100644, 0, b"x"),
    ]

    with pack(entries) as tar:
        back = list(unpack([tar.read()]))

    assert back == [
        Entry(b"empty", 0o040000),
        Entry(b"full/x", 0o100644, b"x"),
        Entry(b"link", 0o120000, b"/etc/passwd"),
        Entry(b"run", 0o100755, b"#!"),
    ]


def test_pipes_are_left_out_and_hard_links_carry_their_bytes() -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        first = tarfile.TarInfo("w/a")
        first.size = 1
        tar.addfile(first, io.BytesIO(b"a"))
        twin = tarfile.TarInfo("w/b")
        twin.type, twin.linkname = tarfile.LNKTYPE, "w/a"
        tar.addfile(twin)
        pipe = tarfile.TarInfo("w/pipe")
        pipe.type = tarfile.FIFOTYPE
        tar.addfile(pipe)

    assert [(entry.path, entry.data) for entry in unpack([file.getvalue()])] == [(b"a", b"a"), (b"b", b"a")]


@pytest.mark.parametrize("path", [b"/etc/passwd", b"../x", b"a/../x", b"", b"a\0b"])
def test_paths_that_lead_out_are_refused(path: bytes) -> None:
    with pytest.raises(ValueError, match="not a plain"):
        absolute("/workspace", path)


def test_a_sparse_file_of_a_terabyte_is_refused_at_its_header() -> None:
    huge = tarfile.TarInfo("w/huge")
    huge.size = 1 << 40

    def endless() -> Iterator[bytes]:
        yield huge.tobuf()
        yield bytes(1 << 17)
        raise AssertionError("its contents were asked for")

    with pytest.raises(UnfitFile, match="huge"):
        list(unpack(endless()))


def test_paths_an_engine_may_have_cut_short_are_refused() -> None:
    with pack([Packed(b"/w/" + b"d/" * 1700 + b"x", 0o040000, 0)]) as tar, pytest.raises(UnfitFile):
        list(unpack([tar.read()]))
