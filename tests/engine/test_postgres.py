"""The index in a real PostgreSQL server, started for these tests and gone with them."""

from __future__ import annotations

import getpass
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestrator.cli import build
from orchestrator.cli.ending import finish
from orchestrator.errors import InfrastructureError
from orchestrator.history.index import Index, RunFilter, TrialFilter
from tests.unit.history.conftest import MakeRun, make_run

__all__ = ["make_run"]
SERVER = "postgres"


def programs() -> Path | None:
    """The folder of the newest server's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda p: int(p.parts[-3]))
    if found:
        return found[-1].parent
    known = shutil.which(SERVER)
    return Path(known).resolve().parent if known else None


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """An address of a server that listens on a socket of its own only."""
    place = programs()
    if place is None:
        if os.environ.get("CI"):
            pytest.fail("PostgreSQL is missing: apt-get install postgresql")
        pytest.skip("PostgreSQL is not installed")
    folder = Path(tempfile.mkdtemp(prefix="proctor-pg-"))
    user = getpass.getuser()
    become: list[str] = []
    if os.geteuid() == 0:  # the server refuses to run as root
        account = pwd.getpwnam(SERVER)
        os.chown(folder, account.pw_uid, account.pw_gid)
        user, become = SERVER, ["setpriv", f"--reuid={SERVER}", f"--regid={account.pw_gid}", "--clear-groups"]
    data = folder / "data"
    setup = [place / "initdb", "-D", data, "-U", user, "-A", "trust", "-E", "UTF8", "--no-sync"]
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
    control = [*become, str(place / "pg_ctl"), "-D", str(data), "-w"]
    try:
        subprocess.run([*become, *map(str, setup)], check=True, capture_output=True, cwd=folder)
        start = [*control, "-l", str(folder / "log"), "-o", options, "start"]
        subprocess.run(start, check=True, stdout=subprocess.DEVNULL, cwd=folder)
        yield f"postgresql://{user}@/postgres?host={folder}"
        subprocess.run([*control, "-m", "immediate", "stop"], check=True, capture_output=True, cwd=folder)
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def store(server: str) -> Iterator[dict[str, str]]:
    """The environment that names the server; its tables are gone afterwards."""
    from sqlalchemy import create_engine

    from orchestrator.history.tables import METADATA

    yield {"PROCTOR_STORE": server}
    engine = create_engine(server.replace("postgresql:", "postgresql+psycopg:"))
    METADATA.drop_all(engine)
    engine.dispose()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs"


def test_it_answers_exactly_as_the_one_beside_the_runs(
    root: Path, make_run: MakeRun, store: dict[str, str]
) -> None:
    make_run("a", {"t1": "pf", "t2": "en"}, header={"tags": ("good", "one")})
    make_run("b", {"t1": "pp", "t_3": "ii"}, agent='command:"x" %', header={"started": "2026-02-01"})
    asked = [
        RunFilter(),
        RunFilter(tag="good"),
        RunFilter(agent='command:"x" %'),
        RunFilter(since="2026-01-02"),
    ]
    trials = [TrialFilter(), TrialFilter(status="failed"), TrialFilter(text="T_"), TrialFilter(text="FAILED")]

    with Index.current(root, store) as there, Index.current(root, {}) as here:
        for wanted in asked:
            assert there.runs(wanted) == here.runs(wanted)
        for which in trials:
            assert there.trials(None, which) == here.trials(None, which)
        assert there.find("good") == here.find("good")


def test_it_follows_and_is_rebuilt_like_any_other(
    root: Path, make_run: MakeRun, store: dict[str, str]
) -> None:
    folder = make_run("a", {"t1": "p"})
    with Index.current(root, store) as index:
        before = index.runs()
        index.rebuild()
        assert index.runs() == before
        index.tag(index.find("id-a"), {"kept"})
        shutil.rmtree(folder)

        assert index.refresh().forgotten == 1
        assert index.runs().total == index.trials().total == 0


def test_runs_of_another_machine_are_kept_and_known(
    root: Path, make_run: MakeRun, store: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make_run("a", {"t1": "p"})
    monkeypatch.setattr("platform.node", lambda: "first")
    Index.current(root, store).close()
    monkeypatch.setattr("platform.node", lambda: "second")
    (tmp_path / "second").mkdir()

    with Index.current(tmp_path / "second", store) as index:
        assert index.find("id-a").host == "first"
        assert index.trials("id-a").total == 1


def test_proctors_that_follow_at_the_same_time_do_not_disturb_each_other(
    root: Path, make_run: MakeRun, store: dict[str, str]
) -> None:
    for number in range(8):
        make_run(str(number), {f"t{n}": "p" for n in range(20)})

    def follow(_: int) -> int:
        with Index.current(root, store) as index:
            return index.refresh().read

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(follow, range(4)))

    with Index.current(root, store) as index:
        assert index.runs().total == 8
        assert index.trials().total == 160


def test_the_command_line_takes_its_address_from_the_environment(
    root: Path,
    make_run: MakeRun,
    store: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_run("a", {"t1": "p"})
    monkeypatch.setenv("PROCTOR_STORE", store["PROCTOR_STORE"])

    assert finish(build(), ["runs", "list", "--runs", str(root)]) == 0
    assert "id-a" in capsys.readouterr().out
    assert not list(root.glob(".index*"))


def test_a_database_that_is_not_there_is_told_in_one_sentence(root: Path, server: str) -> None:
    address = server.replace("/postgres?", "/nowhere?")

    with pytest.raises(InfrastructureError, match='"nowhere" does not exist') as caught:
        Index(root, {"PROCTOR_STORE": address})

    assert "\n" not in str(caught.value)
