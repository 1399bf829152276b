"""Stacked folders become one image."""

from __future__ import annotations

from pathlib import Path

from sandboxes.docker.images import merged


def test_what_lies_on_top_hides_what_lies_below_and_no_name_comes_twice(tmp_path: Path) -> None:
    above, below = tmp_path / "above", tmp_path / "below"
    for path in (above / "etc/passwd", below / "etc/passwd", below / "etc/shells", below / "proc/1/stat"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (below / "bin").symlink_to("usr/bin")

    found = merged([above, below])

    assert [name for name, _ in found] == ["bin", "etc", "etc/passwd", "etc/shells", "proc"]
    assert dict(found)["etc/passwd"] == str(above / "etc/passwd")
