"""What is kept on disk for rooms is whole, or made anew: a damaged one is nobody's score."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandboxes import layers, listing, scratch
from sandboxes.home import home
from sandboxes.images import RootFs, keep
from sandboxes.images.host import host_image
from sandboxes.images.identity import identity
from sandboxes.spec import MIB, Entry, Layer

Damage = Callable[[Path], None]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    machine = tmp_path / "machine"
    (machine / "usr/bin").mkdir(parents=True)
    (machine / "bin").symlink_to("usr/bin")
    return machine


@pytest.fixture
def layer(monkeypatch: pytest.MonkeyPatch) -> Layer:
    def entries() -> Iterator[Entry]:
        yield Entry(b"src/m.py", 0o100644, b"x = 1\n")
        yield Entry(b"link", 0o120000, b"src/m.py")

    monkeypatch.setattr(layers, "_checked", set())  # as a process that begins
    return Layer("d", "/work", entries)


def _root_gone(tree: Path) -> None:
    shutil.rmtree(tree.parent)


def _file_gone(tree: Path) -> None:
    (tree / "src/m.py").unlink()


def _file_emptied(tree: Path) -> None:
    (tree / "src/m.py").write_bytes(b"")


def _mark_emptied(tree: Path) -> None:
    (tree.parents[1] / "complete").write_bytes(b"")


@pytest.mark.parametrize("damage", [_root_gone, _file_gone, _file_emptied, _mark_emptied])
def test_a_layer_that_lost_something_is_made_anew(
    layer: Layer, damage: Damage, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = layers.hold(layer).tree
    monkeypatch.setattr(layers, "_checked", set())
    damage(tree)

    again = layers.hold(layer).tree

    assert again == tree and (tree / "link").read_bytes() == b"x = 1\n"
    assert len(list((home() / "layers").iterdir())) == 1


def test_a_layer_whose_root_goes_while_a_process_runs_is_made_anew(layer: Layer) -> None:
    tree = layers.hold(layer).tree
    layers.hold(layer)
    _root_gone(tree)

    assert (layers.hold(layer).tree / "src/m.py").read_bytes() == b"x = 1\n"


def test_a_whole_layer_is_kept(layer: Layer) -> None:
    before = layers.hold(layer).tree.stat().st_ino

    assert layers.hold(layer).tree.stat().st_ino == before


def test_a_base_system_that_lost_its_shell_is_put_aside_and_made_anew(machine: Path) -> None:
    (root,) = host_image(machine).lowers
    (root / "bin").unlink()

    (again,) = host_image(machine).lowers

    assert again == root and (root / "bin").is_symlink()
    assert (root.parent / f"{root.name}-damaged" / "etc/passwd").exists()


def test_a_whole_base_system_and_one_without_a_list_are_kept(machine: Path) -> None:
    (root,) = host_image(machine).lowers
    before = root.stat().st_ino
    assert host_image(machine).lowers[0].stat().st_ino == before

    (root.parent / f".{root.name}.list").unlink()

    assert host_image(machine).lowers[0].stat().st_ino == before


def test_files_lost_beside_the_lower_folder_count_too(tmp_path: Path) -> None:
    made, place = tmp_path / "made", tmp_path / "recipe"
    (made / "rootfs/bin").mkdir(parents=True)
    (made / "rootfs/bin/sh").write_bytes(b"sh")
    keep(made, place)
    image = RootFs("digest", (place / "rootfs",))
    seen = image.folders()
    assert not image.lost(seen)

    (place / "rootfs/bin/sh").unlink()

    assert image.lost(seen)


def test_a_base_system_that_was_made_anew_is_lost_to_those_who_had_the_old_one(machine: Path) -> None:
    image = host_image(machine)
    seen = image.folders()
    (image.lowers[0] / "bin").unlink()

    host_image(machine)

    assert image.lost(seen) and not image.lost(image.folders())
    shutil.rmtree(image.lowers[0])
    assert image.lost(seen)


def test_a_rooms_names_are_made_anew_when_they_are_lost() -> None:
    (identity(None) / "etc/passwd").write_text("")

    assert "candidate" in (identity(None) / "etc/passwd").read_text()


def _of_no_size(template: Path) -> None:
    template.write_bytes(b"")


def _of_no_content(template: Path) -> None:
    os.truncate(template, 0)
    os.truncate(template, 4 * MIB + 4 * MIB // 32 + 8 * MIB)


@pytest.mark.skipif(shutil.which("mkfs.ext4") is None, reason="needs e2fsprogs")
@pytest.mark.parametrize("damage", [_of_no_size, _of_no_content])
def test_a_scratch_to_copy_that_is_no_file_system_is_made_anew(damage: Damage) -> None:
    (home() / "scratch").mkdir()
    template = scratch._template(4 * MIB)
    whole = template.stat().st_size
    assert scratch._template(4 * MIB).stat().st_ino == template.stat().st_ino
    damage(template)

    again = scratch._template(4 * MIB)

    assert again.stat().st_size == whole and scratch._is_template(again, whole)


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "a/f").write_bytes(b""),
        lambda folder: (folder / "a/f").unlink(),
        lambda folder: (folder / "a/f").chmod(0o600),
        lambda folder: (folder / "a/f").rename(folder / "a/g"),
        lambda folder: (folder / "empty").rmdir(),
    ],
)
def test_a_listing_tells_what_is_gone_or_cut(tmp_path: Path, change: Damage) -> None:
    for folder in (tmp_path / "one", tmp_path / "two"):
        (folder / "a").mkdir(parents=True)
        (folder / "empty").mkdir()
        (folder / "a/f").write_bytes(b"x")
        (folder / "l").symlink_to("nowhere")
    assert listing.of(tmp_path / "one") == listing.of(tmp_path / "two")

    change(tmp_path / "one")

    assert listing.of(tmp_path / "one") != listing.of(tmp_path / "two")
