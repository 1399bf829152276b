"""The index: what it knows of run folders, and that it follows them."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestrator.errors import AuthoringError, InfrastructureError, Problem
from orchestrator.history import index as history_index
from orchestrator.history.database import FILE
from orchestrator.history.facts import read_run
from orchestrator.history.index import Index, RunFilter, TrialFilter
from orchestrator.store import RunFolder
from tests.unit.history.conftest import MakeRun, delta_outcome

DATA = Path(__file__).parents[2] / "data" / "runs" / "torn-doubled-foreign.jsonl"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs"


def ids(index: Index, wanted: RunFilter | None = None) -> list[str]:
    return [row.run_id for row in index.runs(wanted or RunFilter()).rows]


def test_it_follows_the_folders_as_they_come_change_and_go(root: Path, make_run: MakeRun) -> None:
    first = make_run("a", {"t1": "p", "t2": "f"})
    with Index.current(root, {}) as index:
        assert ids(index) == ["id-a"]

        make_run("b", {"t1": "p"}, header={"started": "2026-01-02T00:00:00+00:00"})
        added = index.refresh()
        (first / "records.jsonl").write_bytes((first / "records.jsonl").read_bytes().splitlines(True)[0])
        changed = index.refresh()
        same = index.refresh()

        assert (added.read, changed.read, same.read) == (1, 1, 0)
        assert ids(index) == ["id-b", "id-a"]
        assert index.find("id-a").counts["not_run"] == 1

        shutil.rmtree(first)
        assert index.refresh().forgotten == 1
        assert ids(index) == ["id-b"]
        assert index.trials("id-a").total == 0


def test_what_it_says_of_a_trial_is_what_the_folder_says(root: Path, make_run: MakeRun) -> None:
    def fields(task: str, repeat: int) -> dict[str, object]:
        outcome = delta_outcome("phpcs", 3.0, Rule=[5, 2])
        return {"usage": {"cost_usd": 0.25, "input_tokens": 10, "output_tokens": 5}, "outcomes": (outcome,)}

    folder = make_run("a", {"t1": "pf", "t2": "en"}, fields=fields)

    with Index.current(root, {}) as index:
        rows = index.trials("id-a").rows

    assert tuple(row.facts for row in rows) == read_run(folder).trials
    assert [row.facts.status for row in rows] == ["passed", "failed", "errored", "not_run"]
    assert rows[0].facts.cost == 0.25
    assert rows[0].facts.tokens == 15
    assert rows[0].facts.deltas[0].by_rule == {"Rule": (5.0, 2.0)}


def test_the_quick_reader_counts_exactly_the_records_that_the_store_counts(
    root: Path, make_run: MakeRun
) -> None:
    folder = make_run("a", {"t1": "p"})
    lines = DATA.read_bytes()
    (folder / "records.jsonl").write_bytes(lines)
    trials = sorted({record.trial for record in RunFolder(folder).records()})
    header = json.loads((folder / "run.json").read_text())
    job = header["plan"]["trials"][0]
    header["plan"]["trials"] = [{**job, "trial": trial, "task": trial.split(".")[0]} for trial in trials]
    (folder / "run.json").write_text(json.dumps(header))
    told: list[Problem] = []
    expected: list[Problem] = []

    read = read_run(folder, told.append)

    latest = RunFolder(folder).latest(expected.append)
    assert trials
    assert {t.trial: t.attempts > 0 and t.status for t in read.trials} == {
        trial: record.status if record.final else "not_run" for trial, record in latest.items()
    }
    assert [p.line for p in told] == [p.line for p in expected]


def test_of_several_attempts_the_last_final_one_counts_in_whatever_order_they_stand(
    root: Path, make_run: MakeRun
) -> None:
    folder = make_run("a", {"t": "p"})
    line = json.loads((folder / "records.jsonl").read_bytes())
    tries = [
        {**line, "attempt": 3, "final": False, "status": "errored", "score": None},
        {**line, "attempt": 2, "status": "failed", "score": 0.0},
        {**line, "attempt": 1, "final": False, "status": "errored", "score": None},
    ]
    (folder / "records.jsonl").write_text("".join(json.dumps(one) + "\n" for one in tries))

    (trial,) = read_run(folder).trials

    assert (trial.status, trial.score, trial.attempts) == ("failed", 0.0, 3)
    assert RunFolder(folder).latest()[trial.trial].attempt == 2


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (RunFilter(), ["id-c", "id-b", "id-a"]),
        (RunFilter(agent="gold"), ["id-b"]),
        (RunFilter(agent="command"), ["id-c", "id-a"]),
        (RunFilter(agent='command:"a" %'), ["id-c"]),
        (RunFilter(tag="nightly"), ["id-c"]),
        (RunFilter(machine="m1"), ["id-b"]),
        (RunFilter(revision="abc"), ["id-b"]),
        (RunFilter(since="2026-01-02", until="2026-01-03"), ["id-b"]),
        (RunFilter(benchmark="other"), []),
    ],
)
def test_runs_are_found_by_what_is_known_of_them(
    root: Path, make_run: MakeRun, wanted: RunFilter, found: list[str]
) -> None:
    make_run("a", {"t": "p"})
    told = {"machine": {"name": "m1"}, "git": {"revision": "abcdef"}}
    make_run("b", {"t": "p"}, agent="gold", header={"started": "2026-01-02T10:00:00+00:00", **told})
    make_run(
        "c",
        {"t": "p"},
        agent='command:"a" %',
        header={"started": "2026-01-03T10:00:00+00:00", "tags": ("nightly",)},
    )

    with Index.current(root, {}) as index:
        assert ids(index, wanted) == found


def test_trials_are_filtered_and_come_in_pages(root: Path, make_run: MakeRun) -> None:
    make_run("a", {f"task_{n}": "pf" for n in range(10)})

    with Index.current(root, {}) as index:
        failed = index.trials("id-a", TrialFilter(status="failed"), offset=4, limit=3)
        named = index.trials(None, TrialFilter(text="TASK_3"))

    assert failed.total == 10
    assert [row.facts.task for row in failed.rows] == ["task_4", "task_5", "task_6"]
    assert [row.facts.repeat for row in named.rows] == [1, 2]


def test_a_run_is_meant_by_its_id_its_beginning_a_tag_latest_or_its_folder(
    root: Path, make_run: MakeRun
) -> None:
    folder = make_run("abc", {"t": "p"})
    make_run("abd", {"t": "p"}, header={"started": "2026-01-02T00:00:00+00:00", "tags": ("good",)})

    with Index.current(root, {}) as index:
        for word in ("id-abc", str(folder)):
            assert index.find(word).run_id == "id-abc"
        for word in ("id-abd", "good", "LATEST"):
            assert index.find(word).run_id == "id-abd"
        with pytest.raises(AuthoringError, match="write more of it"):
            index.find("id-ab")
        with pytest.raises(AuthoringError, match="no run folder, run or tag"):
            index.find("nothing")


def test_tags_are_kept_in_the_folder_and_survive_the_index(root: Path, make_run: MakeRun) -> None:
    make_run("a", {"t": "p"}, header={"tags": ("started",)})
    with Index.current(root, {}) as index:
        index.tag(index.find("id-a"), {"release", "good"}, {"started"})
        with pytest.raises(AuthoringError, match="white space"):
            index.tag(index.find("id-a"), {"two words"})

    (root / FILE).unlink()

    with Index.current(root, {}) as index:
        assert index.find("id-a").tags == ("good", "release")


def test_a_rebuilt_index_says_the_same_as_one_that_followed(
    root: Path, make_run: MakeRun, tmp_path: Path
) -> None:
    make_run("a", {"t1": "pf", "t2": "e"})
    elsewhere = make_run("z", {"t1": "i"}, under=tmp_path / "elsewhere")
    with Index.current(root, {}) as index:
        index.add(iter([elsewhere]))
        before = index.runs(), index.trials()

        index.rebuild()

        assert (index.runs(), index.trials()) == before
        assert before[0].total == 2


@pytest.mark.parametrize("damage", [b"not a database at all, but long enough to be looked at", b""])
def test_a_damaged_index_is_made_again(root: Path, make_run: MakeRun, damage: bytes) -> None:
    make_run("a", {"t": "p"})
    (root / FILE).write_bytes(damage)

    with Index.current(root, {}) as index:
        assert ids(index) == ["id-a"]


def test_an_index_of_another_version_is_made_again(
    root: Path, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run("a", {"t": "p"})
    Index.current(root, {}).close()
    monkeypatch.setattr("orchestrator.history.database.VERSION", 99)

    with Index(root, {}) as index:
        assert ids(index) == []
        assert index.refresh().read == 1


def test_where_nothing_can_be_written_the_index_lives_in_memory(
    root: Path, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run("a", {"t": "p"})
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)

    with Index.current(root, {}) as index:
        assert ids(index) == ["id-a"]
    assert not (root / FILE).exists()


def test_proctors_that_follow_at_the_same_time_do_not_disturb_each_other(
    root: Path, make_run: MakeRun
) -> None:
    for number in range(6):
        make_run(str(number), {f"t{n}": "p" for n in range(20)})

    def follow(_: int) -> int:
        with Index.current(root, {}) as index:
            index.rebuild()
            return index.refresh().read

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(follow, range(4)))

    with Index.current(root, {}) as index:
        assert index.runs().total == 6
        assert index.trials().total == 120


def test_folders_that_hold_no_readable_run_are_told_and_hide_no_other(root: Path, make_run: MakeRun) -> None:
    make_run("a", {"t": "p"})
    (root / "broken").mkdir()
    (root / "broken" / "run.json").write_text("{}")

    with Index(root, {}) as index:
        found = index.refresh()

        assert ids(index) == ["id-a"]
    assert "run.json was not written by this version" in str(found.problems[0])


def _a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize(
    ("spoil", "said"), [(_a_folder, "is a folder, not a file"), (_a_pipe, "is not a regular file")]
)
def test_a_run_whose_records_are_no_file_is_left_out_and_hides_no_other(
    root: Path, make_run: MakeRun, spoil: Callable[[Path], None], said: str
) -> None:
    make_run("a", {"t": "p"})
    bad = make_run("b", {"t": "p"})
    with Index.current(root, {}) as index:
        spoil(bad / "records.jsonl")

        found = index.refresh()

        assert ids(index) == ["id-a"]
    assert [(p.file, p.message) for p in found.problems] == [(str(bad / "records.jsonl"), said)]


def test_a_run_that_cannot_be_read_is_left_out_and_hides_no_other(
    root: Path, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run("a", {"t": "p"})
    bad = make_run("b", {"t": "p"})

    def refused(folder: Path, report: object) -> object:
        if folder == bad:
            raise PermissionError(errno.EACCES, "Permission denied", str(bad / "records.jsonl"))
        return read_run(folder)

    monkeypatch.setattr(history_index, "read_run", refused)
    with Index(root, {}) as index:
        found = index.refresh()

        assert ids(index) == ["id-a"]
    assert str(found.problems[0]) == f"{bad / 'records.jsonl'}: cannot be read: Permission denied"


def test_tags_that_are_no_text_or_no_file_hide_no_run(root: Path, make_run: MakeRun) -> None:
    (make_run("a", {"t": "p"}) / "tags").write_bytes(b"\xff\nmain\n")
    os.mkfifo(make_run("b", {"t": "p"}) / "tags")

    with Index.current(root, {}) as index:
        assert sorted(ids(index)) == ["id-a", "id-b"]
        assert "main" in index.find("id-a").tags


def test_times_of_another_zone_are_told_apart(root: Path, make_run: MakeRun) -> None:
    make_run("a", {"t": "p"}, header={"started": "2026-01-01T23:30:00.000+00:00"})

    with Index.current(root, {}) as index:
        assert ids(index, RunFilter(since="2026-01-02T00:15+01:00")) == ["id-a"]
        assert ids(index, RunFilter(since="2026-01-02T01:15+01:00")) == []


def test_a_copied_run_is_counted_once(root: Path, make_run: MakeRun) -> None:
    folder = make_run("a", {"t": "p"})
    shutil.copytree(folder, root / "copy")

    with Index(root, {}) as index:
        found = index.refresh()

        assert index.runs().total == 1
    assert "is a copy of the run in" in found.problems[0].message


def test_a_moved_run_is_found_where_it_is_now(root: Path, make_run: MakeRun) -> None:
    folder = make_run("a", {"t": "p"})
    with Index.current(root, {}) as index:
        folder.rename(root / "moved")

        index.refresh()

        assert index.find("id-a").folder == root / "moved"


def test_an_address_that_is_none_is_the_authors_to_mend(root: Path) -> None:
    for address, told in [("mysql://x/y", "only PostgreSQL"), ("://", "no database address")]:
        with pytest.raises(AuthoringError, match=told):
            Index(root, {"PROCTOR_STORE": address})


def test_a_server_that_does_not_answer_is_the_machines_and_tells_no_password(root: Path) -> None:
    with pytest.raises(InfrastructureError) as caught:
        Index(root, {"PROCTOR_STORE": "postgresql://me:secret@127.0.0.1:1/proctor"})

    assert "127.0.0.1:1/proctor cannot be used" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_breaks_while_it_is_used_is_the_machines_and_says_what_to_do(
    root: Path, make_run: MakeRun
) -> None:
    make_run("a", {f"t{n}": "p" for n in range(200)})
    Index.current(root, {}).close()
    content = bytearray((root / FILE).read_bytes())
    half = len(content) // 8192 * 4096
    content[half:] = bytes(len(content) - half)
    (root / FILE).write_bytes(content)

    with (
        pytest.raises(InfrastructureError, match=r"delete \.index\.sqlite") as caught,
        Index(root, {}) as index,
    ):
        index.refresh()
        index.trials()

    assert "\n" not in str(caught.value)


def test_following_that_is_killed_again_and_again_leaves_an_index_that_is_right(
    root: Path, make_run: MakeRun
) -> None:
    for number in range(4):
        make_run(str(number), {f"t{n}": "pf" for n in range(50)})
    script = (
        "import sys; from pathlib import Path; from orchestrator.history.index import Index\n"
        "index = Index(Path(sys.argv[1]), {}); print('open', flush=True)\n"
        "while True: index.rebuild(); print('read', flush=True)\n"
    )
    for lines in (1, 2):
        child = subprocess.Popen([sys.executable, "-c", script, str(root)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        for _ in range(lines):
            child.stdout.readline()
        child.kill()
        child.communicate()

    with Index.current(root, {}) as index:
        assert index.runs().total == 4
        assert index.trials().total == 4 * 100
        assert index.trials("id-3", TrialFilter(status="failed")).total == 50
