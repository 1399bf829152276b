"""Files at places that somebody named."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from orchestrator.cli.writing import may_write, write_file
from orchestrator.errors import AuthoringError


def test_a_file_is_replaced_whole_and_keeps_its_rights(tmp_path: Path) -> None:
    file, link = tmp_path / "report.html", tmp_path / "link"
    file.write_bytes(b"old")
    file.chmod(0o640)
    link.symlink_to(file)

    write_file(link, b"new")

    assert link.is_symlink()
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"new", 0o640)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "report.html"]


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    """As a shell's `>(...)` is, and like /dev/null, which root could replace."""
    pipe, read = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()

    write_file(pipe, b"page")

    reader.join()
    assert read == [b"page"]
    assert pipe.is_fifo()


@pytest.mark.parametrize("device", ["/dev/null", "/dev/fd/{}"])
def test_what_lies_below_dev_is_never_replaced(device: str, tmp_path: Path) -> None:
    with (tmp_path / "target").open("wb") as target:
        place = Path(device.format(target.fileno()))
        renamed: list[str] = []

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Path, "replace", lambda *_: renamed.append("replaced"))
            write_file(place, b"page")

    assert not renamed


def test_what_the_shell_appends_to_is_added_to(tmp_path: Path) -> None:
    """As with `--markdown /dev/stdout >> "$GITHUB_STEP_SUMMARY"`."""
    file = tmp_path / "summary.md"
    file.write_bytes(b"before\n")
    with file.open("ab") as summary:
        write_file(Path(f"/dev/fd/{summary.fileno()}"), b"after\n")

    assert file.read_bytes() == b"before\nafter\n"


def test_a_full_disk_is_the_machines_and_names_the_file() -> None:
    with pytest.raises(OSError, match="/dev/full") as caught:
        write_file(Path("/dev/full"), b"page")

    assert caught.value.errno == errno.ENOSPC


def test_a_place_that_cannot_be_written_is_the_callers_and_is_told_before_long_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    for place in (tmp_path, tmp_path / "nowhere" / "x", tmp_path / "file" / "x"):
        with pytest.raises(AuthoringError, match="choose another place"):
            write_file(place, b"page")
        with pytest.raises(AuthoringError, match="choose another place"):
            may_write(place)
    for place in (tmp_path / "new", tmp_path / "file", Path("/dev/null")):
        may_write(place)
