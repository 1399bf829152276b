"""A file of lines that survives a crash."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator import journal
from orchestrator.journal import Journal, JournalFailed, lines, mend

WRITER = """
import sys
from pathlib import Path
from orchestrator.journal import Journal
journal = Journal(Path(sys.argv[1]))
for number in range(10**9):
    journal.append(b"%d " % number + b"x" * (number % 5000))
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
"""


def whole_lines(path: Path) -> list[bytes]:
    return [line for _, line, whole in lines(path) if whole]


def test_lines_come_back_in_order(tmp_path):
    path = tmp_path / "records.jsonl"
    keeper = Journal(path)

    for number in range(5):
        keeper.append(b"line %d" % number)
    keeper.close()

    assert [(n, line) for n, line, _ in lines(path)] == [(n + 1, b"line %d" % n) for n in range(5)]


def test_only_a_newline_ends_a_line(tmp_path):
    path = tmp_path / "records.jsonl"
    odd = "a\u2028b\u0085c\rd\x0be\x1cf".encode()
    keeper = Journal(path)

    keeper.append(odd)
    keeper.close()

    assert whole_lines(path) == [odd]
    assert len(odd.decode().splitlines()) == 6  # what a reader by text lines would have made of it


def test_a_torn_last_line_is_moved_aside_before_anything_is_added(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"one\ntwo\nthr")

    keeper = Journal(path)
    keeper.append(b"three")
    keeper.close()

    assert path.read_bytes() == b"one\ntwo\nthree\n"
    assert (tmp_path / "records.torn").read_bytes() == b"thr\n"
    assert keeper.torn == b"thr"


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(1, 7))
def test_mending_never_touches_a_whole_line(tmp_path_factory, content, chunk):
    path = tmp_path_factory.mktemp("mend") / "records.jsonl"
    path.write_bytes(content)
    whole = content[: content.rfind(b"\n") + 1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "_CHUNK", chunk)
        torn = mend(path)

    assert path.read_bytes() == whole
    assert torn == content[len(whole) :]
    assert mend(path) == b""


def test_a_file_that_is_not_there_has_no_lines(tmp_path):
    assert list(lines(tmp_path / "nothing")) == []
    assert mend(tmp_path / "nothing") == b""


def test_many_threads_never_mix_their_lines(tmp_path):
    path = tmp_path / "records.jsonl"
    keeper = Journal(path)

    def write(letter: bytes) -> None:
        for _ in range(50):
            keeper.append(letter * 3000)

    threads = [threading.Thread(target=write, args=(bytes([65 + n]),)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    keeper.close()

    found = whole_lines(path)
    assert len(found) == 300
    assert all(len(line) == 3000 and len(set(line)) == 1 for line in found)


def test_killing_the_writer_loses_no_line_that_was_added(tmp_path):
    for round_number in range(12):
        path = tmp_path / f"records-{round_number}.jsonl"
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        for _ in range(1 + 17 * round_number):
            last = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()

        mend(path)

        numbers = [int(line.split()[0]) for line in whole_lines(path)]
        assert numbers == list(range(len(numbers)))
        assert len(numbers) > last


def test_a_full_disk_leaves_no_half_line(tmp_path, monkeypatch):
    path = tmp_path / "records.jsonl"
    keeper = Journal(path)
    keeper.append(b"whole")
    real_write = os.write

    def half_then_full(fd: int, data: bytes) -> int:
        if len(data) < 8:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real_write(fd, data[: len(data) // 2])

    monkeypatch.setattr(os, "write", half_then_full)
    with pytest.raises(JournalFailed) as failure:
        keeper.append(b"a line that does not fit")
    monkeypatch.undo()
    keeper.append(b"fits again")
    keeper.close()

    assert failure.value.errno == errno.ENOSPC and failure.value.filename == str(path)
    assert path.read_bytes() == b"whole\nfits again\n"


def test_a_disk_that_fails_to_sync_is_told_to_the_next_one_who_writes(tmp_path, monkeypatch):
    synced = threading.Event()

    def fail(fd: int) -> None:
        synced.set()
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fdatasync", fail)
    keeper = Journal(tmp_path / "records.jsonl", sync_after=0.0)
    keeper.append(b"one")
    assert synced.wait(10)
    keeper._syncer.join(0.05)

    with pytest.raises(JournalFailed):
        keeper.close()


def test_lines_are_forced_to_the_disk_together_and_soon(tmp_path, monkeypatch):
    syncs = []
    monkeypatch.setattr(os, "fdatasync", lambda fd: syncs.append(fd))
    keeper = Journal(tmp_path / "records.jsonl", sync_after=30)

    for _ in range(100):
        keeper.append(b"x")
    keeper.close()

    assert len(syncs) == 1


def test_a_line_end_inside_a_line_is_refused(tmp_path):
    keeper = Journal(tmp_path / "records.jsonl")

    with pytest.raises(ValueError, match="line end"):
        keeper.append(b"a\nb")
    keeper.close()


def test_closing_twice_is_fine_and_writing_afterwards_is_not(tmp_path):
    keeper = Journal(tmp_path / "records.jsonl")
    keeper.close()
    keeper.close()

    with pytest.raises(ValueError, match="closed"):
        keeper.append(b"late")
