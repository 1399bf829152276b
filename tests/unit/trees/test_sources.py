"""Sources become trees without running anything of theirs, and say in one sentence what is wrong."""

from __future__ import annotations

import base64
import hashlib
import io
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from orchestrator.documents.benchmark import (
    ArchiveSource,
    Benchmark,
    Dependencies,
    GitSource,
    PathSource,
    ReleaseHashes,
    ReleasePairSource,
    Source,
    Task,
)
from orchestrator.errors import AuthoringError
from orchestrator.tasks import sources
from orchestrator.tasks.archives import ArchiveTrouble, unpack
from orchestrator.tasks.dependencies import install, merged
from orchestrator.tasks.downloads import SourceUnavailable
from orchestrator.tasks.place import Place
from orchestrator.tasks.sources import Fetched
from orchestrator.worktree.trees import TreeStore

Index = Callable[..., None]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    task = Task(id="t")
    root = tmp_path / "bench"
    root.mkdir()
    return Place(Benchmark(id="b", version="1", tasks=(task,), root=root, file="benchmark.yaml"), task)


@pytest.fixture
def fetch(place: Place, store: TreeStore, tmp_path: Path) -> Callable[[Source], Fetched]:
    return lambda source: sources.fetch(source, store, tmp_path / "downloads", place)


def tar_of(path: Path, members: Iterable[tuple[str, bytes | str]], kind: bytes | None = None) -> str:
    """Write a tar; a str is a link's target. Returns the file's SHA-256."""
    with tarfile.open(path, "w:gz") as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            if isinstance(data, str):
                info.type, info.linkname = kind or tarfile.SYMTYPE, data
                tar.addfile(info)
            else:
                info.size, info.mode = len(data), 0o755 if name.endswith(".sh") else 0o644
                info.type = kind or tarfile.REGTYPE
                tar.addfile(info, io.BytesIO(data))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def contents(store: TreeStore, tree: str) -> dict[str, bytes]:
    return {e.path.decode(): e.data for e in store.entries(tree)}


def test_a_folder_comes_without_its_git_and_with_its_links_unread(
    place: Place, store: TreeStore, fetch: Callable[[Source], Fetched]
) -> None:
    folder = place.root / "src"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text("x")
    (folder / "a.py").write_text("1\n")
    (folder / "link").symlink_to("/etc/passwd")

    tree = fetch(PathSource(kind="path", path="src")).tree

    assert contents(store, tree) == {"a.py": b"1\n", "link": b"/etc/passwd"}


def test_a_folder_that_is_not_there_is_named(fetch: Callable[[Source], Fetched]) -> None:
    with pytest.raises(AuthoringError, match=r"tasks\[0\].source.path: cannot read the folder nowhere"):
        fetch(PathSource(kind="path", path="nowhere"))


def test_one_commit_comes_and_no_history(
    place: Place, store: TreeStore, fetch: Callable[[Source], Fetched]
) -> None:
    repo = place.root / "repo"
    repo.mkdir()

    def git(*args: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *args]
        return subprocess.run(command, cwd=repo, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q", "-b", "main")
    (repo / "a.py").write_text("the secret fix\n")
    git("add", ".")
    git("commit", "-qm", "one")
    first = git("rev-parse", "HEAD")
    (repo / "a.py").write_text("two\n")
    git("commit", "-qam", "two")
    git("tag", "v2")

    old = fetch(GitSource(kind="git", url="repo", ref=first))
    new = fetch(GitSource(kind="git", url="repo", ref="v2"))

    assert contents(store, old.tree) == {"a.py": b"the secret fix\n"}
    assert contents(store, new.tree) == {"a.py": b"two\n"}
    assert old.facts == {"source": f"commit:{first}"}
    with pytest.raises(AuthoringError, match=r"source.ref: .* has no commit 'nope'"):
        fetch(GitSource(kind="git", url="repo", ref="nope"))


def test_a_repository_that_is_none_and_a_helper_that_runs_commands_are_refused(
    place: Place, tmp_path: Path, fetch: Callable[[Source], Fetched]
) -> None:
    (place.root / "plain").mkdir()
    (place.root / "file").write_text("text")
    marker = tmp_path / "ran"

    for url in ("plain", "file"):
        with pytest.raises(AuthoringError, match="is no git repository"):
            fetch(GitSource(kind="git", url=url, ref="main"))
    with pytest.raises(AuthoringError):
        fetch(GitSource(kind="git", url=f"ext::sh -c touch% {marker}", ref="main"))

    assert not marker.exists()


def test_an_archive_is_stripped_of_its_top_folder_and_checked(
    place: Place, store: TreeStore, fetch: Callable[[Source], Fetched]
) -> None:
    members = [("p-1/a.py", b"1\n"), ("p-1/run.sh", b"x"), ("p-1/d/link", "../a.py"), ("p-1/.git/x", b"x")]
    sha256 = tar_of(place.root / "a.tar.gz", members)

    tree = fetch(ArchiveSource(kind="archive", path="a.tar.gz", sha256=sha256)).tree

    assert contents(store, tree) == {"a.py": b"1\n", "run.sh": b"x", "d/link": b"../a.py"}
    assert store.nodes(tree)[b"run.sh"].mode == 0o100755


def test_a_wrong_hash_names_both(place: Place, fetch: Callable[[Source], Fetched]) -> None:
    seen = tar_of(place.root / "a.tar.gz", [("a", b"1")])

    with pytest.raises(AuthoringError) as caught:
        fetch(ArchiveSource(kind="archive", path="a.tar.gz", sha256="0" * 64))

    assert seen in str(caught.value)
    assert "0" * 64 in str(caught.value)


@pytest.mark.parametrize(
    ("members", "kind", "says"),
    [
        ([("/abs", b"x")], None, "absolute"),
        ([("a/../../x", b"x")], None, "leaves the tree"),
        ([("top/link", "../../etc/passwd")], None, "leads out of the tree"),
        ([("top/link", "../sibling"), ("top/x", b"")], None, "leads out of the tree"),
        ([("link", "/etc/passwd")], None, "leads out of the tree"),
        ([("dev", b"")], tarfile.CHRTYPE, "device or a pipe"),
        ([("pipe", b"")], tarfile.FIFOTYPE, "device or a pipe"),
        ([("hard", "nowhere")], tarfile.LNKTYPE, "link to nothing"),
    ],
)
def test_an_archive_that_reaches_out_is_refused(
    tmp_path: Path, members: list[tuple[str, bytes | str]], kind: bytes | None, says: str
) -> None:
    tar_of(tmp_path / "a.tar.gz", members, kind)

    with pytest.raises(ArchiveTrouble, match=says):
        list(unpack(tmp_path / "a.tar.gz"))


def test_a_zip_is_read_and_a_broken_archive_says_so(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("top/a.py", "1\n")
        archive.writestr("top/b/c.py", "2\n")
    (tmp_path / "broken.tar").write_bytes(b"no archive at all")

    assert [(e.path, e.data) for e in unpack(tmp_path / "a.zip")] == [(b"a.py", b"1\n"), (b"b/c.py", b"2\n")]
    with pytest.raises(ArchiveTrouble, match="cannot be unpacked"):
        list(unpack(tmp_path / "broken.tar"))


# Registries, as a folder on disk that pip reads ---------------------------------------------------------


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index that pip is pointed at; nothing else is asked."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name, value in {"INDEX_URL": folder.as_uri(), "CONFIG_FILE": "/dev/null", "RETRIES": "0"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "PIP_CONSTRAINT"):
        monkeypatch.delenv(name, raising=False)
    return folder


def publish(index: Path, *files: Path, yanked: str = "") -> None:
    page = index / "demo" / "index.html"
    page.parent.mkdir(exist_ok=True)
    mark = f' data-yanked="{yanked}"' if yanked else ""
    links = [f'<a href="{file.as_uri()}"{mark}>{file.name}</a>' for file in files]
    page.write_text("<html><body>" + "\n".join(links) + "</body></html>")


def pair(fixed: str, broken: str, older: str = "1.0") -> ReleasePairSource:
    return ReleasePairSource(
        kind="release_pair",
        ecosystem="pypi",
        package="demo",
        fixed="1.1",
        broken=older,
        sha256=ReleaseHashes(fixed=fixed, broken=broken),
        swap=("demo",),
        keep=("demo/tests/**",),
    )


def two_releases(tmp_path: Path) -> tuple[Path, Path, str, str]:
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')\n".encode()
    new = [("demo-1.1/demo/__init__.py", b"1.1\n"), ("demo-1.1/demo/tests/test_x.py", b"new\n"),
           ("demo-1.1/setup.py", trap), ("demo-1.1/README", b"1.1\n")]  # fmt: skip
    old = [("demo-1.0/demo/__init__.py", b"1.0\n"), ("demo-1.0/demo/tests/test_x.py", b"old\n"),
           ("demo-1.0/demo/gone.py", b"old\n"), ("demo-1.0/setup.py", trap)]  # fmt: skip
    files = tmp_path / "demo-1.1.tar.gz", tmp_path / "demo-1.0.tar.gz"
    return (*files, tar_of(files[0], new), tar_of(files[1], old))


def test_a_release_pair_swaps_the_source_runs_no_code_and_needs_the_index_once(
    store: TreeStore, index: Path, tmp_path: Path, fetch: Callable[[Source], Fetched]
) -> None:
    new, old, fixed, broken = two_releases(tmp_path)
    publish(index, new, old)

    fetched = fetch(pair(fixed, broken))
    publish(index)
    again = fetch(pair(fixed, broken))

    assert fetched.broken is not None
    base = contents(store, fetched.broken)
    assert (base["demo/__init__.py"], base["demo/gone.py"], base["README"]) == (b"1.0\n", b"old\n", b"1.1\n")
    assert base["demo/tests/test_x.py"] == b"new\n"
    assert contents(store, fetched.tree)["demo/__init__.py"] == b"1.1\n"
    assert again == fetched
    assert not (tmp_path / "ran").exists()


def test_a_release_that_cannot_be_had_is_one_sentence(
    index: Path, tmp_path: Path, fetch: Callable[[Source], Fetched], monkeypatch: pytest.MonkeyPatch
) -> None:
    new, old, fixed, broken = two_releases(tmp_path)

    publish(index, new)
    with pytest.raises(
        AuthoringError, match=r"source.broken: the index has no demo 1.0 \(its latest are 1.1\)"
    ):
        fetch(pair(fixed, broken))
    publish(index, new, old, yanked="it was wrong")
    with pytest.raises(AuthoringError, match=r"source.fixed: demo 1.1 was withdrawn: it was wrong"):
        fetch(pair("1" * 64, broken))
    publish(index, new, old)
    with pytest.raises(AuthoringError, match=f"source.sha256.broken: demo 1.0 has the hash {broken}"):
        fetch(pair(fixed, "2" * 64))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(SourceUnavailable):
        fetch(pair("3" * 64, broken))


def wheel(path: Path, needs: str = "") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("demo/__init__.py", "x = 1\n")
        archive.writestr("demo-1.0.data/scripts/tool", "#!python\nprint()\n")
        archive.writestr("demo-1.0.data/headers/demo.h", "x")
        facts = f"Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n{needs}"
        archive.writestr("demo-1.0.dist-info/METADATA", facts)
        archive.writestr("demo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("demo-1.0.dist-info/RECORD", "")
        archive.writestr(
            "demo-1.0.dist-info/entry_points.txt", "[console_scripts]\ndemo = demo.cli:app.main\n"
        )
    return path


def test_a_pinned_wheel_becomes_a_read_only_layer_once(
    store: TreeStore, place: Place, index: Path, tmp_path: Path
) -> None:
    file = wheel(tmp_path / "demo-1.0-py3-none-any.whl")
    publish(index, file)

    installed = install(Dependencies(pip=("demo==1.0",)), store, place)
    publish(index)
    again = install(Dependencies(pip=("demo==1.0",)), store, place)

    (layer,) = installed.layers
    found = {e.path.decode(): e for e in layer.entries()}
    assert (layer.target, layer.writable) == ("/opt/deps/python", False)
    assert found["demo/__init__.py"].data == b"x = 1\n"
    assert found["bin/tool"].data == b"#!/usr/bin/env python3\nprint()\n"
    assert b"from demo.cli import app\nsys.exit(app.main())" in found["bin/demo"].data
    assert found["bin/demo"].mode == 0o100755
    assert "demo.h" not in str(list(found))
    assert installed.facts == {
        f"pip:{file.name}": f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}",
        "pip_fetched": "on this machine",
    }
    assert again == installed


def test_a_package_that_is_not_there_is_the_authors_mistake(
    store: TreeStore, place: Place, index: Path, tmp_path: Path
) -> None:
    publish(index, wheel(tmp_path / "demo-1.0-py3-none-any.whl"))

    with pytest.raises(AuthoringError, match=r"dependencies.pip: pip finds no wheel: .*demo==9"):
        install(Dependencies(pip=("demo==9",)), store, place)


def test_a_list_must_name_all_that_its_packages_need(
    store: TreeStore, place: Place, index: Path, tmp_path: Path
) -> None:
    needs = "".join(
        f"Requires-Dist: {line}\n"
        for line in (
            "pluggy<2,>=1.5",
            "some-thing",
            "Demo",
            'colorama; sys_platform == "win32"',
            'tomli; python_version < "3.11"',
            'extras; extra == "all"',
        )
    )
    publish(index, wheel(tmp_path / "demo-1.0-py3-none-any.whl", needs))

    with pytest.raises(AuthoringError) as told:
        install(Dependencies(pip=("demo==1.0",)), store, place)

    with pytest.raises(AuthoringError, match=r"demo 1\.0 needs extras; add it, pinned"):
        install(Dependencies(pip=("demo[all]==1.0",)), store, place)
    said = [problem.message for problem in told.value.problems]
    assert said == ["demo 1.0 needs pluggy<2,>=1.5", "demo 1.0 needs some-thing"]
    assert all("dependencies.pip" in problem.path for problem in told.value.problems)
    assert "add it, pinned" in str(told.value)


def test_search_paths_are_appended_to_the_tasks_own() -> None:
    env = merged({"PYTHONPATH": "/workspace", "X": "1"}, {"PYTHONPATH": "/d", "PATH": "/d/bin"})

    assert env["PYTHONPATH"] == "/workspace:/d"
    assert env["PATH"].startswith("/usr/local/sbin:") and env["PATH"].endswith(":/d/bin")
    assert env["X"] == "1"


@pytest.mark.network
def test_an_npm_release_is_fetched_by_npm_and_runs_no_script(
    store: TreeStore, fetch: Callable[[Source], Fetched]
) -> None:
    source = ReleasePairSource(
        kind="release_pair",
        ecosystem="npm",
        package="safe-regex2",
        fixed="5.1.1",
        broken="5.1.0",
        sha256=ReleaseHashes(
            fixed="a963f5da58a4cb231a7647304fdcb47617563ad969f72fd9bbc681dbac9322e1",
            broken="a2d053c62762315e9e9d83ba16d07c365e3910a206b7d251c83ee1a5ce12a35f",
        ),
        swap=("index.js",),
    )

    fetched = fetch(source)

    assert fetched.broken is not None
    assert [d.path for d in store.differences(fetched.tree, fetched.broken)] == [b"index.js"]


@pytest.mark.network
def test_npm_packages_become_a_layer_with_their_versions_recorded(store: TreeStore, place: Place) -> None:
    installed = install(Dependencies(npm=("ret@0.5.1",)), store, place)

    (layer,) = installed.layers
    assert any(e.path == b"node_modules/ret/package.json" for e in layer.entries())
    assert installed.facts["npm:ret"].startswith("0.5.1 sha512-")
    assert base64.b64decode(installed.facts["npm:ret"].partition("sha512-")[2])
    with pytest.raises(AuthoringError, match="npm finds no such package"):
        install(Dependencies(npm=("ret@99.99.99",)), store, place)
