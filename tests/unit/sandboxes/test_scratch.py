"""When the machine's own disk counts as full."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from sandboxes import scratch
from sandboxes.errors import ProvisionFailed


@pytest.mark.parametrize(("missing", "full"), [(0, False), (4096, True)])
def test_the_floor_of_free_space_is_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: int, full: bool
) -> None:
    free = (scratch.HOST_FLOOR - missing) // 4096
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=free, f_frsize=4096))

    assert scratch.host_full(tmp_path) is full


def test_below_the_floor_no_scratch_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "HOST_FLOOR", 1 << 60)

    with pytest.raises(ProvisionFailed, match=r"disk .* is full: free some space"):
        scratch.Scratch.open(tmp_path, 1 << 20)

    assert not list(tmp_path.iterdir())
