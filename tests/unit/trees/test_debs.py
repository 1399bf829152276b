"""Debian's binary packages as releases of a pair: fetched once, unpacked here, nothing of them run."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from orchestrator.documents.benchmark import Benchmark, ReleaseHashes, ReleasePairSource, Task
from orchestrator.tasks import debs, sources
from orchestrator.tasks.archives import ArchiveTrouble
from orchestrator.tasks.clients import HOST, Clients
from orchestrator.tasks.place import Place
from orchestrator.tasks.releases import ReleaseMissing
from orchestrator.worktree.trees import TreeStore


def deb(files: Mapping[str, str]) -> bytes:
    """A package as dpkg-deb writes it: version, control, data."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:xz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(f"./{name}")
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    members = {"debian-binary": b"2.0\n", "control.tar.xz": b"odd", "data.tar.xz": stream.getvalue()}
    packed = debs.MAGIC
    for name, data in members.items():
        packed += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n".encode()
        packed += data + b"\n" * (len(data) % 2)
    return packed


def test_a_pair_of_packages_is_a_state_and_its_mended_release(
    store: TreeStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = {
        "2-1": deb({"usr/share/php/A.php": "new", "usr/share/doc/a/copyright": "2"}),
        "1-1": deb({"usr/share/php/A.php": "old", "usr/share/doc/a/copyright": "1"}),
    }

    def fetch(package: str, version: str, into: Path, clients: Clients, *, lists: Path) -> None:
        into.write_bytes(held[version])

    monkeypatch.setattr(debs, "fetch_deb", fetch)
    hashes = {version: hashlib.sha256(data).hexdigest() for version, data in held.items()}
    source = ReleasePairSource(
        kind="release_pair",
        ecosystem="debian",
        package="php-a",
        fixed="2-1",
        broken="1-1",
        sha256=ReleaseHashes(fixed=hashes["2-1"], broken=hashes["1-1"]),
        swap=("share/php",),
    )
    task = Task(id="t")
    place = Place(Benchmark(id="b", version="1", tasks=(task,), root=tmp_path, file="b.yaml"), task)
    (tmp_path / "downloads").mkdir()

    fetched = sources.fetch(source, store, tmp_path / "downloads", place, HOST)

    assert fetched.broken is not None
    texts = [{e.path: e.data for e in store.entries(t)} for t in (fetched.tree, fetched.broken)]
    assert texts == [
        {b"share/php/A.php": b"new", b"share/doc/a/copyright": b"2"},
        {b"share/php/A.php": b"old", b"share/doc/a/copyright": b"2"},
    ]


def test_each_suite_is_asked_until_one_has_the_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def fetch_packages(suite: str, packages: list[str], lists: Path, into: Path, clients: Clients) -> None:
        asked.append(suite)
        if suite == "bookworm" or packages != ["php-a=2-1"]:
            raise ReleaseMissing("no")
        (into / "php-a_2-1_all.deb").write_bytes(b"deb")

    monkeypatch.setattr(debs, "fetch_packages", fetch_packages)

    debs.fetch_deb("php-a", "2-1", tmp_path / "file", HOST, lists=tmp_path)

    assert (asked, (tmp_path / "file").read_bytes()) == (["bookworm", "trixie"], b"deb")
    with pytest.raises(ReleaseMissing, match="no suite of bookworm, trixie, sid has php-a 3-1"):
        debs.fetch_deb("php-a", "3-1", tmp_path / "file", HOST, lists=tmp_path)


@pytest.mark.parametrize(
    "data", [b"", b"PK\3\4", debs.MAGIC, debs.MAGIC + b"x" * 60, deb({})[:100]], ids=repr
)
def test_what_is_no_package_is_refused(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "a.deb"
    file.write_bytes(data)

    with pytest.raises(ArchiveTrouble):
        debs.data_tar(file)
