"""Counters of control groups, version 1 and version 2, read from folders made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandboxes.cgroups import Cgroup, sweep
from sandboxes.spec import Owner


def lay(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def test_version_two_is_read_from_one_folder(tmp_path: Path) -> None:
    lay(
        tmp_path,
        memory__events="low 0\noom 2\noom_kill 1\n",
        memory__peak="4096\n",
        pids__events="max 3\n",
        cpu__stat="usage_usec 1500000\nthrottled_usec 250000\n",
    )

    seen = Cgroup((("", tmp_path),)).counters()

    assert (seen.memory_kills, seen.refused_forks, seen.peak_memory) == (1, 3, 4096)
    assert (seen.cpu_seconds, seen.throttled_seconds) == (1.5, 0.25)


def test_version_one_is_read_from_a_folder_for_each_controller(tmp_path: Path) -> None:
    group = Cgroup(
        (
            ("memory", lay(tmp_path / "m", memory__oom_control="oom_kill_disable 0\noom_kill 2\n",
                           memory__max_usage_in_bytes="8192\n")),
            ("pids", lay(tmp_path / "p", pids__events="max 0\n")),
            ("cpu", lay(tmp_path / "c", cpu__stat="nr_periods 1\nthrottled_time 500000000\n")),
            ("cpuacct", lay(tmp_path / "a", cpuacct__usage="2000000000\n")),
            ("", lay(tmp_path / "unified")),
        )
    )  # fmt: skip

    seen = group.counters()

    assert (seen.memory_kills, seen.refused_forks, seen.peak_memory) == (2, 0, 8192)
    assert (seen.cpu_seconds, seen.throttled_seconds) == (2.0, 0.5)


def test_what_a_machine_does_not_count_is_none_and_no_limit_hit(tmp_path: Path) -> None:
    seen = Cgroup((("", lay(tmp_path, memory__peak="max\n")),)).counters()

    assert (seen.memory_kills, seen.refused_forks) == (0, 0)
    assert (seen.peak_memory, seen.cpu_seconds, seen.throttled_seconds) == (None, None, None)


def test_removing_takes_the_groups_below_and_says_what_resisted(tmp_path: Path) -> None:
    inner = tmp_path / "top" / "inner"
    inner.mkdir(parents=True)
    busy = lay(tmp_path / "busy", file="x")

    assert Cgroup((("", tmp_path / "top"),)).remove() and not inner.exists()
    assert not Cgroup((("", busy),)).remove(patience=0.01)


def test_groups_of_dead_makers_go_and_those_of_the_living_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandboxes.cgroups.hierarchies", lambda: (("", tmp_path),))
    me = Owner.current("me")
    for name in ("mine-1-1", f"mine-{me.pid}-{me.started}", f"mine-{me.pid}-1", "mine-words", "other-1-1"):
        (tmp_path / name).mkdir()

    removed = sweep("mine-")

    assert removed == sorted(f"control group {name}" for name in ("mine-1-1", f"mine-{me.pid}-1"))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ("mine-words", "other-1-1", f"mine-{me.pid}-{me.started}")
    )
