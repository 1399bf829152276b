"""Registry clients in throwaway rooms: what they bring is what was asked for, and nothing of theirs stays."""

from __future__ import annotations

import functools
import hashlib
import http.server
import io
import os
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import orchestrator
from orchestrator.documents.benchmark import (
    ArchiveSource,
    Benchmark,
    Dependencies,
    Environment,
    GitSource,
    NetworkPolicy,
    Source,
    Task,
)
from orchestrator.errors import AuthoringError
from orchestrator.tasks import sources
from orchestrator.tasks.clients import Answer, Clients
from orchestrator.tasks.dependencies import install
from orchestrator.tasks.downloads import SourceUnavailable
from orchestrator.tasks.fetchroom import RoomClients
from orchestrator.tasks.interpreter import HOST_PYTHON, Interpreter, of_room
from orchestrator.tasks.place import Place
from orchestrator.tasks.settings import of_machine
from orchestrator.tools import Tools
from orchestrator.worktree.trees import TreeStore
from sandboxes.docker import DockerProvider
from sandboxes.fake import FakeProvider
from sandboxes.oci import OciProvider
from sandboxes.protocol import Provider
from sandboxes.spec import Image, Owner

PROVIDERS = {"oci": OciProvider, "docker": DockerProvider}
ENGINES = [pytest.param("oci", marks=pytest.mark.oci), pytest.param("docker", marks=pytest.mark.docker)]


@pytest.fixture
def provider(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Provider]:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    made: Provider = PROVIDERS[request.param](Owner.current("fetching"))
    if not made.capabilities().outside:
        missing = f"{request.param} cannot open rooms with the machine's network: needs root"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
    yield made
    made.close()


each_engine = pytest.mark.parametrize("provider", ENGINES, indirect=True)


class Never:
    """Clients that nobody may fall back to."""

    def told(self) -> str:
        return "where it must not be"

    def call(self, program: str, words: object, folder: Path, *, inside: str = "") -> Answer:
        raise AssertionError(f"{program} was called outside of rooms")


@pytest.fixture
def clients(provider: Provider) -> RoomClients:
    return RoomClients(provider, Never())


@pytest.fixture
def store(tmp_path: Path) -> TreeStore:
    return TreeStore(tmp_path / "trees")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    task = Task(id="t")
    return Place(Benchmark(id="b", version="1", tasks=(task,), root=tmp_path, file="b.yaml"), task)


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on this machine that is all pip looks into; it holds demo 1.0."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    with zipfile.ZipFile(folder / "demo-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("demo/__init__.py", "x = 1\n")
        archive.writestr("demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
        archive.writestr("demo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("demo-1.0.dist-info/RECORD", "")
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    for name, value in {"FIND_LINKS": str(folder), "NO_INDEX": "1", "CONFIG_FILE": "/dev/null"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    return folder


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder and its address on this machine's loop."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None: ...


@each_engine
def test_a_pip_list_is_fetched_in_a_room_that_sees_the_machines_wheels(
    clients: RoomClients, store: TreeStore, place: Place, wheels: Path
) -> None:
    installed = install(Dependencies(pip=("demo==1.0",)), store, place, clients)

    (file,) = wheels.iterdir()
    (layer,) = installed.layers
    assert "demo/__init__.py" in {entry.path.decode() for entry in layer.entries()}
    assert installed.facts[f"pip:{file.name}"] == f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"
    assert installed.facts["pip_fetched"].startswith("in a room of ")


@each_engine
def test_what_a_room_fails_at_is_tried_once_more_outside_and_the_record_says_so(
    provider: Provider, store: TreeStore, place: Place, wheels: Path
) -> None:
    with pytest.raises(AuthoringError, match="pip finds no wheel"):
        install(Dependencies(pip=("demo==9",)), store, place, RoomClients(provider))
    calls: list[str] = []

    class Otherwise(Never):
        def told(self) -> str:
            return "on this machine"

        def call(self, program: str, words: object, folder: Path, *, inside: str = "") -> Answer:
            calls.append(program)
            (folder / "demo-9-py3-none-any.whl").write_bytes(next(wheels.iterdir()).read_bytes())
            return subprocess.CompletedProcess([], 0, b"", b"")

    installed = install(Dependencies(pip=("demo==9",)), store, place, RoomClients(provider, Otherwise()))

    assert calls == ["pip"]
    assert installed.facts["pip_fetched"].startswith("on this machine (in a room pip failed: ")


@each_engine
def test_an_archive_is_fetched_by_its_address(
    clients: RoomClients, store: TreeStore, place: Place, tmp_path: Path, served: tuple[Path, str]
) -> None:
    folder, address = served
    with tarfile.open(folder / "a.tar.gz", "w:gz") as tar:
        info = tarfile.TarInfo("top/a.py")
        info.size = 2
        tar.addfile(info, io.BytesIO(b"1\n"))
    sha256 = hashlib.sha256((folder / "a.tar.gz").read_bytes()).hexdigest()

    def fetch(name: str, digest: str) -> sources.Fetched:
        source = ArchiveSource(kind="archive", url=f"{address}/{name}", sha256=digest)
        return sources.fetch(source, store, tmp_path / "downloads", place, clients)

    fetched = fetch("a.tar.gz", sha256)

    assert [entry.path for entry in store.entries(fetched.tree)] == [b"a.py"]
    assert fetched.facts["source_fetched"].startswith("in a room of ")
    with pytest.raises(AuthoringError, match=r"is not there \(404\)"):
        fetch("b.tar.gz", "1" * 64)
    with pytest.raises(AuthoringError, match=f"has the hash {sha256}, not 222"):
        fetch("a.tar.gz", "2" * 64)


@each_engine
def test_a_commit_is_fetched_without_its_history_and_held_against_its_id(
    clients: RoomClients, store: TreeStore, place: Place, tmp_path: Path, served: tuple[Path, str]
) -> None:
    folder, address = served
    first = _repository(folder)

    def fetch(ref: str) -> sources.Fetched:
        source: Source = GitSource(kind="git", url=f"{address}/repo/.git", ref=ref)
        return sources.fetch(source, store, tmp_path / "downloads", place, clients)

    by_id, by_tag = fetch(first), fetch("v2")

    assert [(e.path, e.data) for e in store.entries(by_id.tree)] == [(b"a.py", b"one\n")]
    assert [(e.path, e.data) for e in store.entries(by_tag.tree)] == [(b"a.py", b"two\n")]
    assert by_id.facts["source"] == f"commit:{first}"
    assert by_id.facts["source_fetched"].startswith("in a room of ")
    with pytest.raises(AuthoringError, match="has no commit 'nope'"):
        fetch("nope")


def _repository(folder: Path) -> str:
    """Two commits, the second tagged v2, readable over plain HTTP; returns the first one's id."""
    repo = folder / "repo"
    repo.mkdir()

    def git(*words: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
        return subprocess.run(command, cwd=repo, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q", "-b", "main")
    for text in ("one", "two"):
        (repo / "a.py").write_text(f"{text}\n")
        git("add", ".")
        git("commit", "-qm", text)
    git("tag", "v2")
    git("update-server-info")
    return git("rev-parse", "HEAD~1")


def test_a_commit_that_is_not_the_one_it_claims_to_be_is_refused(
    store: TreeStore, place: Place, tmp_path: Path
) -> None:
    wanted = "1" * 40

    class Forger(Never):
        def call(self, program: str, words: object, folder: Path, *, inside: str = "") -> Answer:
            first = _repository(folder)
            git = functools.partial(subprocess.run, cwd=folder / "repo", check=True, capture_output=True)
            git(["git", "bundle", "create", "../bundle", "HEAD", "--all"])
            git(["git", "branch", "alone"])
            git(["git", "bundle", "create", "../bundle", "refs/heads/alone"])
            (folder / "commit").write_bytes(git(["git", "cat-file", "commit", first]).stdout)
            return subprocess.CompletedProcess([], 0, b'{"commit": "%s"}' % wanted.encode(), b"")

    source = GitSource(kind="git", url="http://127.0.0.1:9/x", ref=wanted)

    with pytest.raises(SourceUnavailable, match=f"not the commit {wanted}"):
        sources.fetch(source, store, tmp_path / "downloads", place, Forger())


def test_where_rooms_have_no_network_the_machines_own_clients_fetch_and_the_record_says_why(
    store: TreeStore, place: Place, wheels: Path
) -> None:
    installed = install(Dependencies(pip=("demo==1.0",)), store, place, RoomClients(FakeProvider()))

    assert installed.facts["pip_fetched"] == (
        "on this machine (rooms of fake cannot have this machine's network)"
    )


@each_engine
def test_a_room_is_asked_for_its_python_once(provider: Provider, store: TreeStore) -> None:
    first = of_room(Image(), provider, store)
    again = of_room(Image(), FakeProvider(), store) if first is None else of_room(Image(), provider, store)

    assert first == again
    assert first is not None and first.version.startswith("3.") and first.libc.startswith("glibc 2.")


def test_no_room_of_a_task_has_the_machines_network(tmp_path: Path) -> None:
    task = Task(id="t", environment=Environment(host=True), network=NetworkPolicy(allow=("*",)))
    benchmark = Benchmark(id="b", version="1", tasks=(task,), root=tmp_path, file="b.yaml")
    tools = Tools(benchmark, FakeProvider(), {}, (), lambda ref: None, tmp_path / "home")
    state = tools.state(task)

    assert tools.room(state).outside is None and tools.agents_room(state).outside is None
    code = Path(orchestrator.__file__).parent
    asking = {path.name for path in code.rglob("*.py") if "Outside(" in path.read_text(encoding="utf-8")}
    assert asking == {"fetchroom.py"}


def test_packages_for_a_room_without_python_are_the_authors_mistake(tmp_path: Path) -> None:
    task = Task(id="t", environment=Environment(host=True), dependencies=Dependencies(pip=("demo==1.0",)))
    benchmark = Benchmark(id="b", version="1", tasks=(task,), root=tmp_path, file="b.yaml")
    tools = Tools(benchmark, FakeProvider(), {}, (), lambda ref: None, tmp_path / "home")

    with pytest.raises(AuthoringError, match=r"dependencies\.pip: the task's room has no python3"):
        tools.state(task)


def test_wheels_are_asked_for_by_the_rooms_python_machine_and_libc() -> None:
    old, musl = Interpreter("3.9.2", "aarch64", "glibc 2.31"), Interpreter("3.12.1", "x86_64", "")

    assert old.options[:6] == ("--only-binary", ":all:", "--python-version", "3.9", "--implementation", "cp")
    assert "manylinux_2_31_aarch64" in old.options and "manylinux_2_34_aarch64" not in old.options
    assert musl.platforms == ("musllinux_1_2_x86_64", "musllinux_1_1_x86_64")
    assert HOST_PYTHON.markers["python_version"] == "3.11"


def test_settings_go_along_as_copies_and_mirrors_on_disk_as_folders(tmp_path: Path) -> None:
    home, mirror = tmp_path / "user", tmp_path / "mirror" / "simple"
    (home / ".config" / "pip").mkdir(parents=True)
    mirror.mkdir(parents=True)
    (tmp_path / "pins.txt").write_text("demo==1.0\n")
    text = f"[global]\nindex-url = file://{mirror}\nconstraint = {tmp_path}/pins.txt\n"
    (home / ".config" / "pip" / "pip.conf").write_text(text)

    found = of_machine({"PIP_RETRIES": "0", "https_proxy": "http://p:1", "SECRET": "x"}, home)

    assert found.env == {"PIP_RETRIES": "0", "https_proxy": "http://p:1"}
    assert found.files["/home/candidate/.config/pip/pip.conf"] == text.encode()
    assert found.files[f"{tmp_path}/pins.txt"] == b"demo==1.0\n"
    assert str(mirror.parent) in found.folders
    assert str(home) not in found.folders


_: Callable[[Clients], Clients] = lambda clients: clients  # noqa: E731 Never and RoomClients are Clients
