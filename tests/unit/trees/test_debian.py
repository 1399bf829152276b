"""Debian source packages become trees: patched, without the answers, and with a fix taken out."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from orchestrator.documents.benchmark import (
    Benchmark,
    DebianRecipe,
    DebianSource,
    Dependencies,
    Environment,
    Task,
)
from orchestrator.errors import AuthoringError
from orchestrator.tasks import sources
from orchestrator.tasks.dependencies import install
from orchestrator.tasks.place import Place
from orchestrator.tasks.sources import Fetched
from orchestrator.worktree.trees import TreeStore

FIX = (
    "Description: adds\n From the bug tracker.\n--- a/src/m.c\n+++ b/src/m.c\n@@ -1,3 +1,3 @@\n one\n-two\n"
    "+2\n three\n--- a/tests/t.c\n+++ b/tests/t.c\n@@ -1 +1 @@\n-old\n+new\n"
)
LATER = "--- a/tests/t.c\n+++ b/tests/t.c\n@@ -1 +1 @@\n-new\n+newer\n"
UPSTREAM = {
    "p-1.0/src/m.c": "one\ntwo\nthree\n",
    "p-1.0/tests/t.c": "old\n",
    "p-1.0/debian/old": "upstream's\n",
}
DEBIAN = {
    "debian/changelog": "p (1.0-1)\n",
    "debian/patches/series": "# in order\nfix.patch\nlater.patch -p1\n",
    "debian/patches/fix.patch": FIX,
    "debian/patches/later.patch": LATER,
}


def tar(files: Mapping[str, str]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:xz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return stream.getvalue()


@pytest.fixture
def fetch(store: TreeStore, tmp_path: Path) -> Callable[..., Fetched]:
    """fetch(debian={...}, **fields of the source): the package's files are held already, by their hash."""

    def make(debian: Mapping[str, str] = DEBIAN, **fields: object) -> Fetched:
        downloads = tmp_path / "downloads"
        downloads.mkdir(exist_ok=True)
        hashes = {}
        for name, data in {"p_1.0.orig.tar.xz": tar(UPSTREAM), "p_1.0-1.debian.tar.xz": tar(debian)}.items():
            hashes[name] = hashlib.sha256(data).hexdigest()
            (downloads / hashes[name]).write_bytes(data)
        facts = {"kind": "debian", "package": "p", "version": "1.0-1", "sha256": hashes} | fields
        task = Task(id="t")
        place = Place(Benchmark(id="b", version="1", tasks=(task,), root=tmp_path, file="b.yaml"), task)
        return sources.fetch(DebianSource.model_validate(facts), store, downloads, place)

    return make


def texts(store: TreeStore, tree: str | None) -> dict[str, str]:
    assert tree is not None
    return {entry.path.decode(): entry.data.decode() for entry in store.entries(tree)}


def test_all_patches_are_applied_and_debians_folder_is_left_out(
    fetch: Callable[..., Fetched], store: TreeStore
) -> None:
    fetched = fetch()

    assert texts(store, fetched.tree) == {"src/m.c": "one\n2\nthree\n", "tests/t.c": "newer\n"}
    assert fetched.broken is None
    assert set(fetched.facts) == {"source_p_1.0.orig.tar.xz", "source_p_1.0-1.debian.tar.xz"}


def test_a_reverted_patch_leaves_its_tests_in_place(fetch: Callable[..., Fetched], store: TreeStore) -> None:
    fetched = fetch(revert=["fix.patch"])

    assert texts(store, fetched.broken) == {"src/m.c": "one\ntwo\nthree\n", "tests/t.c": "newer\n"}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"revert": ["other.patch"]}, "no patch other.patch; it has: fix.patch, later.patch"),
        ({"revert": ["later.patch"]}, "later.patch touches only what is kept"),
        ({"revert": ["fix.patch"], "keep": []}, "fix.patch cannot be taken out"),
        ({"debian": DEBIAN | {"debian/patches/series": "gone.patch\n"}}, "gone.patch that is not there"),
        ({"debian": DEBIAN | {"debian/patches/series": "later.patch\n"}}, "later.patch does not apply"),
        ({"debian": DEBIAN | {"debian/patches/series": "fix.patch -p0\n"}}, "applied with -p0"),
    ],
)
def test_a_package_that_cannot_be_used_is_told_in_one_sentence(
    fetch: Callable[..., Fetched], fields: dict[str, object], says: str
) -> None:
    with pytest.raises(AuthoringError, match=says):
        fetch(**fields)


def test_a_package_without_its_two_archives_is_the_authors_mistake(
    fetch: Callable[..., Fetched], tmp_path: Path
) -> None:
    data = tar(UPSTREAM)
    digest = hashlib.sha256(data).hexdigest()
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / digest).write_bytes(data)

    with pytest.raises(AuthoringError, match=r"an \.orig\.tar and a \.debian\.tar are needed"):
        fetch(sha256={"p_1.0.orig.tar.xz": digest})


@pytest.mark.network
def test_a_package_of_debian_is_fetched_with_lists_of_our_own(store: TreeStore, tmp_path: Path) -> None:
    hashes = {
        "cjson_1.7.15.orig.tar.gz": "5308fd4bd90cef7aa060558514de6a1a4a0819974a26e6ed13973c5f624c24b2",
        "cjson_1.7.15-1+deb12u4.debian.tar.xz": (
            "afd19a970966cf534ff1e9ec077d710a5e7e78eb4ec9b499c8bdc32e55da12cb"
        ),
    }
    facts = {"kind": "debian", "package": "cjson", "version": "1.7.15-1+deb12u4", "sha256": hashes}
    source = DebianSource.model_validate({**facts, "revert": ["0002-Fix-heap-buffer-overflow.patch"]})
    task = Task(id="t")
    place = Place(Benchmark(id="b", version="1", tasks=(task,), root=tmp_path, file="b.yaml"), task)
    machine = sorted(str(path) for path in Path("/var/lib/apt/lists").glob("*"))

    fetched = sources.fetch(source, store, tmp_path / "downloads", place)

    assert fetched.broken is not None
    assert [d.path for d in store.differences(fetched.tree, fetched.broken)] == [b"cJSON.c"]
    assert sorted(str(path) for path in Path("/var/lib/apt/lists").glob("*")) == machine
    wrong = source.model_copy(update={"version": "0.1-1", "sha256": {"cjson_0.1.orig.tar.gz": "0" * 64}})
    with pytest.raises(AuthoringError, match=r"no source package cjson 0\.1-1"):
        sources.fetch(wrong, store, tmp_path / "downloads", place)


@pytest.mark.network
def test_packages_are_fetched_for_the_suite_of_the_room(store: TreeStore, tmp_path: Path) -> None:
    recipe = Environment(debian=DebianRecipe(suite="bookworm"))
    task = Task(id="t", environment=recipe)
    place = Place(Benchmark(id="b", version="1", tasks=(task,), root=tmp_path, file="b.yaml"), task)

    installed = install(Dependencies(apt=("tini",)), store, place)

    assert "usr/bin/tini" in {entry.path.decode() for entry in installed.layers[0].entries()}
    assert [name.partition("_")[0] for name in installed.facts] == ["apt:tini", "apt"]
    assert installed.facts["apt_fetched"] == "on this machine"
    with pytest.raises(AuthoringError, match="bookworm has no such package among no-such-package-of-debian"):
        install(Dependencies(apt=("no-such-package-of-debian",)), store, place)
