"""What a process was making when it died is removed by the next start; what is being made is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.tasks.downloads import Downloads
from orchestrator.worktree.trees import EMPTY_TREE, TreeStore
from sandboxes import drafts
from sandboxes.home import home

DIES = """
import os, sys
from pathlib import Path
from sandboxes.home import home

def die(path):
    os._exit(9)

shelf = home() / "downloads"
from orchestrator.tasks.downloads import Downloads
Downloads(shelf).file("0" * 64, die)
"""


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path))


def in_the_making() -> list[str]:
    return sorted(str(item.relative_to(home())) for item in home().rglob(".draft-*"))


def test_what_a_dead_process_was_making_is_swept() -> None:
    assert subprocess.run([sys.executable, "-c", DIES]).returncode == 9
    left = in_the_making()

    swept = drafts.sweep_below(home())

    assert len(left) == len(swept) == 1 and left[0].startswith("downloads/.draft-")
    assert in_the_making() == []


def test_what_is_being_made_is_left_alone() -> None:
    with TreeStore(home() / "trees").repository.index(EMPTY_TREE), drafts.draft(home()):
        making = in_the_making()

        assert drafts.sweep_below(home()) == []
        assert in_the_making() == making and len(making) == 2


def test_other_files_are_nobodys_drafts() -> None:
    (home() / "downloads").mkdir()
    for name in (".draft-notes.txt", "draft-1-2-x", ".draft-"):
        (home() / "downloads" / name).write_text("mine")

    assert drafts.sweep_below(home()) == []
    assert len(list((home() / "downloads").iterdir())) == 3


def test_a_download_that_ends_leaves_no_draft() -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    Downloads(home() / "downloads").file(empty, lambda part: None)

    assert in_the_making() == []


def test_a_file_takes_its_place_when_it_is_whole_and_leaves_nothing_when_it_never_is(tmp_path: Path) -> None:
    place = tmp_path / "kept"
    with drafts.whole(place) as part:
        part.write_text("first")
    with pytest.raises(ValueError, match="half"), drafts.whole(place) as part:
        part.write_text("sec")
        raise ValueError("half")

    assert place.read_text() == "first"
    assert list(tmp_path.iterdir()) == [place]
