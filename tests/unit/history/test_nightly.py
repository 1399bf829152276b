"""The parts of a night: baselines, confirmation, gates, retention, notices, what starts it."""

from __future__ import annotations

import doctest
import json
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import build
from orchestrator.cli.ending import finish
from orchestrator.cli.nightly import COMMANDS
from orchestrator.documents.nightly import Confirm, Finding, GateEnd, Night, Nightly, NightRun, Notify
from orchestrator.errors import AuthoringError, InfrastructureError
from orchestrator.history.nightly import due
from orchestrator.history.nightly.clearing import NIGHT, clear_away
from orchestrator.history.nightly.judgement import Rerun, judge
from orchestrator.history.nightly.ledger import Ledger
from orchestrator.history.nightly.night import Execute, Order, Ran, run_night
from orchestrator.history.nightly.telling import notify
from orchestrator.history.nightly.timers import SNIPPETS, units
from orchestrator.history.pairing import Side
from orchestrator.loading import load_nightly
from tests.unit.history.conftest import MakeRun
from tests.unit.history.test_compare import many, subject

REPOSITORY = Path(__file__).parents[3]
Tables = dict[str, dict[str, str]]
"""{agent: {task: marks}}"""


def clock(day: int = 1, hour: int = 3) -> Callable[[], datetime]:
    return lambda: datetime(2026, 11, day, hour, 0, tzinfo=UTC)


@pytest.fixture
def nightly(tmp_path: Path) -> Callable[..., Nightly]:
    def write(**fields: Any) -> Nightly:
        whole = {"id": "main", "benchmarks": [{"benchmark": "demo"}], "candidates": ["command:a"], **fields}
        file = tmp_path / "nightly.yaml"
        file.write_text(json.dumps(whole))
        return load_nightly(file)

    return write


@pytest.fixture
def machine(make_run: MakeRun) -> Callable[..., tuple[Execute, list[Order]]]:
    """Carries out orders by writing what a table says; what is run again comes from another."""

    def ready(
        tables: Tables, again: Tables | None = None, ends: Ran | None = None
    ) -> tuple[Execute, list[Order]]:
        orders: list[Order] = []

        def execute(order: Order) -> Ran:
            orders.append(order)
            rerun = ".again-" in order.out.name
            source = (again or tables) if rerun else tables
            wanted = set(order.tasks.split(",")) if rerun and order.tasks else None
            agents = {
                agent: {t: m for t, m in source[agent].items() if wanted is None or t in wanted}
                for agent in order.candidates
            }
            if not order.out.exists():
                header = {"run_id": f"id-{order.out.parent.name}-{order.out.name}", "tags": order.tags}
                header["started"] = f"{order.out.parent.name[:10]}T00:00:00+00:00"
                make_run(order.out.name, agents=agents, header=header, under=order.out.parent)
            return ends or Ran(0)

        return execute, orders

    return ready


GOOD = {"command:a": many("t", 20, "ppp")}
BAD = {"command:a": {**many("t", 20, "ppp"), **many("t", 8, "fff")}}


def test_the_first_night_is_the_baseline_of_those_that_follow(nightly: Any, machine: Any) -> None:
    config = nightly()
    first = run_night(config, machine(GOOD)[0], clock(1))
    second = run_night(config, machine(GOOD)[0], clock(2))

    assert first is not None and second is not None
    assert (first.exit_code, first.night) == (0, "2026-11-01")
    assert first.gates[0].reason == "there is no baseline yet; this night can be the first"
    assert second.runs[0].baseline == first.runs[0].run_id
    assert second.gates[0].reason == "no regression: +0.0 points against the baseline"
    assert Ledger(config.root, "main").nights() == (first, second)


def test_a_regression_that_shows_again_when_the_tasks_that_turned_are_run_again_is_confirmed(
    nightly: Any, machine: Any
) -> None:
    config = nightly()
    run_night(config, machine(GOOD)[0], clock(1))
    execute, orders = machine(BAD)

    night = run_night(config, execute, clock(2))

    assert night is not None
    assert [order.tasks for order in orders] == [None, ",".join(f"t{n}" for n in range(8))]
    assert night.exit_code == 1
    assert night.findings[0].confirmed
    assert night.findings[0].rerun == "2026-11-02/1-demo.again-1"
    assert night.gates[0].reason.startswith("a regression is confirmed. night 2026-11-02 is worse: 8 broken")


def test_one_that_does_not_show_again_is_told_and_passes(nightly: Any, machine: Any) -> None:
    config = nightly()
    run_night(config, machine(GOOD)[0], clock(1))

    night = run_night(config, machine(BAD, again=GOOD)[0], clock(2))

    assert night is not None
    assert (night.exit_code, night.passed) == (0, True)
    assert (night.findings[0].suspected, night.findings[0].confirmed) == (True, False)
    assert "was suspected and not confirmed" in night.gates[0].reason


def test_trouble_while_running_again_confirms_nothing_and_is_the_machines(nightly: Any, machine: Any) -> None:
    config = nightly()
    run_night(config, machine(GOOD)[0], clock(1))
    execute, _ = machine(BAD)

    def broken(order: Order) -> Ran:
        return Ran(3, "the engine is gone") if ".again-" in order.out.name else execute(order)

    night = run_night(config, broken, clock(2))

    assert night is not None
    assert (night.exit_code, night.findings[0].confirmed) == (3, False)
    assert night.problems == ("the engine is gone",)


def test_on_k_of_n_nights_tonight_must_be_one_of_them(nightly: Any, machine: Any) -> None:
    config = nightly(confirm={"by": "nights", "k": 2, "of": 3})
    codes = []
    for day, table in enumerate([GOOD, BAD, GOOD, BAD, GOOD, GOOD, GOOD, BAD], 1):
        night = run_night(config, machine(table)[0], clock(day))
        assert night is not None
        codes.append(night.exit_code)

    assert codes == [0, 0, 0, 1, 0, 0, 0, 0]


def test_without_confirmation_the_first_suspicion_counts(nightly: Any, machine: Any) -> None:
    config = nightly(confirm={"by": "nothing"})
    run_night(config, machine(GOOD)[0], clock(1))
    execute, orders = machine(BAD)

    night = run_night(config, execute, clock(2))

    assert night is not None and night.exit_code == 1
    assert len(orders) == 1


def test_no_way_of_confirming_makes_an_alarm_of_a_quiet_night() -> None:
    base, new = subject("base", many("t", 20, "p")), subject("new", {**many("t", 20, "p"), "t0": "f"})
    suspicious = Finding(
        benchmark="demo", agent="command:a", claim="", verdict="worse", suspected=True, confirmed=True
    )
    before = Night(
        nightly="main", night="n", started="", finished="", exit_code=1, passed=False, findings=(suspicious,)
    )

    for confirm in (Confirm(by="nothing"), Confirm(by="nights", k=1, of=5), Confirm(by="reruns")):
        (judged,) = judge(
            [(Side(base, "command:a"), Side(new, "command:a"))],
            level=0.05,
            confirm=confirm,
            earlier=[before] * 5,
            again=lambda side, tasks: Rerun(subject("again", many("t", 20, "f")), "x"),
        )
        assert not judged.suspected and not judged.confirmed


def test_one_level_holds_for_all_candidates_and_benchmarks_of_a_night(nightly: Any, machine: Any) -> None:
    """Six broken tasks of one candidate alone are p = 0.03; among two questions they are chance."""
    six = {**many("t", 20, "p"), **many("t", 6, "f")}
    both = {"command:a": many("t", 20, "p"), "command:b": many("t", 20, "p")}
    config = nightly(candidates=["command:a", "command:b"], confirm={"by": "nothing"})
    run_night(config, machine(both)[0], clock(1))

    night = run_night(config, machine({**both, "command:a": six})[0], clock(2))

    assert night is not None
    assert night.exit_code == 0
    assert night.findings[0].p_adjusted == pytest.approx(2 * 0.03125)


@pytest.mark.parametrize(
    ("policy", "against"),
    [("first", "2026-11-01"), ("previous", "2026-11-03"), ("last_passed", "2026-11-02")],
)
def test_the_baseline_is_chosen_by_its_policy(nightly: Any, machine: Any, policy: str, against: str) -> None:
    config = nightly(baseline={"policy": policy}, confirm={"by": "nothing"})
    for day, table in enumerate([GOOD, GOOD, BAD], 1):
        run_night(config, machine(table)[0], clock(day))

    night = run_night(config, machine(GOOD)[0], clock(4))

    assert night is not None
    assert night.runs[0].baseline == f"id-{against}-1-demo"


def test_a_pinned_baseline_is_a_folder_or_the_newest_run_with_a_tag(
    nightly: Any, machine: Any, make_run: MakeRun, tmp_path: Path
) -> None:
    make_run("kept", GOOD["command:a"], under=tmp_path)
    by_folder = nightly(baseline={"policy": "pinned", "run": "kept"})
    first = run_night(by_folder, machine(GOOD)[0], clock(1))
    assert first is not None and first.runs[0].baseline == "id-kept"
    assert finish(build(), ["runs", "tag", str(by_folder.root / "2026-11-01" / "1-demo"), "good",
                            "--runs", str(by_folder.root)]) == 0  # fmt: skip

    by_tag = nightly(baseline={"policy": "pinned", "run": "good"})
    second = run_night(by_tag, machine(GOOD)[0], clock(2))
    nowhere = nightly(baseline={"policy": "pinned", "run": "lost"})
    third = run_night(nowhere, machine(GOOD)[0], clock(3))

    assert second is not None and second.runs[0].baseline == first.runs[0].run_id
    assert third is not None and third.exit_code == 2
    assert "lost: no run folder, run or tag has that name" in third.problems[0]


def test_a_run_that_did_not_come_to_its_end_is_no_baseline(nightly: Any, machine: Any) -> None:
    config = nightly()
    run_night(config, machine(GOOD, ends=Ran(3, "engine gone"))[0], clock(1))

    night = run_night(config, machine(GOOD)[0], clock(2))

    assert night is not None and night.runs[0].baseline is None


def test_gates_of_every_kind_are_measured_and_only_hard_ones_decide(nightly: Any, machine: Any) -> None:
    gates = [
        {"metric": "pass_rate", "at_least": 1, "kind": "soft"},
        {"metric": "mean_score", "at_least": 0.9, "kind": "shadow"},
        {"metric": "pass_rate", "at_least": 0.5},
    ]
    config = nightly(gates=gates)

    night = run_night(config, machine(BAD)[0], clock(1))
    harder = nightly(gates=[{"metric": "pass_rate", "at_least": 1}])
    missed = run_night(harder, machine(BAD)[0], clock(2))

    assert night is not None and missed is not None
    assert [gate.met for gate in night.gates] == [False, False, True]
    assert (night.exit_code, missed.exit_code) == (0, 1)


@pytest.mark.parametrize("gate", [{"metric": "regression", "agent": "nobody"}, {"metric": "regression"}])
def test_a_gate_that_cannot_be_measured_is_missed(nightly: Any, machine: Any, gate: Any) -> None:
    config = nightly(gates=[gate])
    run_night(config, machine(GOOD)[0], clock(1))

    night = run_night(config, machine({"command:a": many("t", 20, "eee")})[0], clock(2))

    assert night is not None and not night.gates[0].met
    assert "could not be measured" in night.gates[0].reason


def test_a_candidate_that_the_baseline_does_not_have_opens_no_gate(nightly: Any, machine: Any) -> None:
    both = {**GOOD, "command:b": many("t", 20, "ppp")}
    run_night(
        nightly(candidates=["gold", "command:a"]), machine({**GOOD, "gold": GOOD["command:a"]})[0], clock(1)
    )

    config = nightly(candidates=["gold", "command:a", "command:b"])
    night = run_night(config, machine({**both, "gold": GOOD["command:a"]})[0], clock(2))

    assert night is not None and night.exit_code == 1
    assert [(gate.agent, gate.met) for gate in night.gates] == [("command:a", True), ("command:b", False)]
    assert night.gates[1].reason.endswith("the baseline has no such candidate; choose another")


def test_a_baseline_of_another_major_version_is_no_verdict_but_a_task_for_the_author(
    nightly: Any, machine: Any
) -> None:
    config = nightly()
    run_night(config, machine(GOOD)[0], clock(1))
    records = config.root / "2026-11-01" / "1-demo" / "records.jsonl"
    records.write_text(records.read_text().replace("rubric/r@1.0", "rubric/r@2.0"))

    night = run_night(config, machine(GOOD)[0], clock(2))

    assert night is not None and night.exit_code == 2
    assert "choose another baseline" in night.problems[0]
    assert not night.gates[0].met


def test_an_interrupted_night_is_no_night_and_the_next_call_goes_on_with_it(
    nightly: Any, machine: Any
) -> None:
    config = nightly()
    execute, orders = machine(GOOD)

    stopped = run_night(config, lambda order: (execute(order), Ran(130))[1], clock(1, 3))
    whole = run_night(config, execute, clock(1, 9))

    assert stopped is None and whole is not None
    assert orders[0].out == orders[1].out
    assert len(Ledger(config.root, "main").nights()) == 1


def test_two_nights_never_run_at_once(nightly: Any, machine: Any) -> None:
    config = nightly()
    execute, _ = machine(GOOD)

    def nested(order: Order) -> Ran:
        with pytest.raises(InfrastructureError, match=r"already \(process \d+\)"):
            run_night(config, execute, clock(1))
        assert Ledger(config.root, "main").running()
        return execute(order)

    assert run_night(config, nested, clock(1)) is not None
    assert Ledger(config.root, "main").running() == ""


def test_tasks_are_kept_apart_until_their_day(nightly: Any, machine: Any) -> None:
    apart = [
        {"task": "t1", "why": "flickers", "until": "2026-11-02"},
        {"task": "t2", "why": "slow", "benchmark": "demo"},
        {"task": "tt", "why": "mistyped"},
    ]
    config = nightly(quarantine=apart)
    execute, orders = machine(GOOD)

    night = run_night(config, execute, clock(2))
    run_night(config, execute, clock(3))

    assert orders[0].apart == {"t1": "flickers", "tt": "mistyped", "t2": "slow"}
    assert orders[1].apart == {"tt": "mistyped", "t2": "slow"}
    assert night is not None
    assert night.problems == ("quarantine: no benchmark of this night has the task tt",)


def test_old_nights_go_but_the_baseline_and_what_somebody_tagged_stay(nightly: Any, machine: Any) -> None:
    config = nightly(retention={"nights": 2})
    for day in range(1, 7):
        run_night(config, machine(GOOD)[0], clock(day))
        if day == 2:
            folder = config.root / "2026-11-02" / "1-demo"
            finish(build(), ["runs", "tag", str(folder), "release", "--runs", str(config.root)])
            (config.root / "2026-10-30").mkdir()  # begun, never finished
            (config.root / "notes").mkdir()

    left = sorted(path.name for path in config.root.iterdir() if path.is_dir())

    assert left == ["2026-11-01", "2026-11-02", "2026-11-05", "2026-11-06", "notes"]
    assert len(Ledger(config.root, "main").nights()) == 6
    assert clear_away(config, Ledger(config.root, "main").nights()) == ()


def test_a_night_is_due_once_a_day_and_made_up_for_when_it_was_missed() -> None:
    assert doctest.testmod(due).failed == 0
    at = "02:30"

    assert not due.missed({"2026-11-29"}, at, datetime(2026, 11, 30, 2, 29))
    assert due.missed({"2026-11-29"}, at, datetime(2026, 11, 30, 2, 30))
    assert due.missed({"2026-11-20"}, at, datetime(2026, 11, 30, 1, 0))
    assert NIGHT.fullmatch(due.name_of({"2026-11-30", "2026-11-30.2"}, at, datetime(2026, 11, 30, 9, 0)))


def test_lines_of_the_ledger_that_are_none_are_passed_over(nightly: Any, machine: Any) -> None:
    config = nightly()
    run_night(config, machine(GOOD)[0], clock(1))
    file = config.root / "nights.jsonl"
    file.write_bytes(b"{}\nnot json\n" + file.read_bytes() + b'{"torn')

    assert [night.night for night in Ledger(config.root, "main").nights()] == ["2026-11-01"]
    assert Ledger(config.root, "other").nights() == ()


# Who is told


class Hook(HTTPServer):
    answers: list[int]
    heard: list[tuple[dict[str, str], Any]]


@pytest.fixture
def hook() -> Iterator[Hook]:
    class Handler(BaseHTTPRequestHandler):
        server: Hook

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.server.heard.append((dict(self.headers), json.loads(body)))
            self.send_response(self.server.answers.pop(0))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *words: object) -> None:
            pass

    server = Hook(("127.0.0.1", 0), Handler)
    server.answers, server.heard = [], []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def night(exit_code: int = 1) -> Night:
    gate = GateEnd(
        metric="regression", kind="hard", benchmark="demo", agent="gold", met=False, reason="it broke"
    )
    return Night(
        nightly="main",
        night="2026-11-01",
        started="",
        finished="",
        exit_code=exit_code,
        passed=exit_code == 0,
        gates=(gate,),
        runs=(NightRun(benchmark="b", folder="f", run_id="i", exit_code=0),),
    )


def address(hook: Hook) -> str:
    return f"http://127.0.0.1:{hook.server_address[1]}/hook"


def test_a_webhook_hears_the_night_and_is_asked_again_while_it_is_busy(hook: Hook) -> None:
    hook.answers = [503, 429, 204]
    whom = [Notify(webhook=address(hook), token_env="TOKEN")]

    assert notify(whom, night(), None, {"TOKEN": "s3cret"}, pause=0) == ()

    headers, body = hook.heard[-1]
    assert len(hook.heard) == 3
    assert headers["Authorization"] == "Bearer s3cret"
    assert body["exit_code"] == 1
    assert body["text"].splitlines() == [
        "main 2026-11-01: did not pass (exit 1)",
        "hard gate MISSED: gold on demo: it broke",
    ]


@pytest.mark.parametrize(
    ("answers", "told"),
    [([404], "the webhook answered 404"), ([500, 500, 500], "the webhook answered 500")],
)
def test_a_webhook_that_cannot_be_told_is_a_sentence(hook: Hook, answers: list[int], told: str) -> None:
    hook.answers = list(answers)

    assert notify([Notify(webhook=address(hook))], night(), None, {}, pause=0) == (told,)
    assert hook.answers == []


def test_nobody_there_and_no_token_are_sentences_that_tell_no_address(hook: Hook) -> None:
    whom = [Notify(webhook="http://127.0.0.1:1/s3cret"), Notify(webhook=address(hook), token_env="TOKEN")]

    told = notify(whom, night(), None, {}, pause=0)

    assert told == (
        "the webhook did not answer: ConnectError",
        "the webhook was not called: TOKEN is not set",
    )
    assert hook.heard == []


def test_a_command_gets_the_night_on_its_standard_input(tmp_path: Path) -> None:
    file = tmp_path / "heard"

    assert notify([Notify(command=f"cat > {file}")], night(), None) == ()
    told = notify([Notify(command="echo no mail >&2; exit 7")], night(), None)

    assert json.loads(file.read_text())["night"] == "2026-11-01"
    assert told == ("the notify command ended with exit code 7: no mail",)


@pytest.mark.parametrize(
    ("when", "before", "now", "heard"),
    [
        ("failure", 0, 1, True),
        ("failure", 1, 0, False),
        ("failure", 1, 1, True),
        ("change", 1, 0, True),
        ("change", 1, 1, False),
        ("change", None, 0, True),
        ("always", 0, 0, True),
    ],
)
def test_who_hears_when(tmp_path: Path, when: Any, before: int | None, now: int, heard: bool) -> None:
    file = tmp_path / "heard"

    notify(
        [Notify(when=when, command=f"touch {file}")], night(now), None if before is None else night(before)
    )

    assert file.exists() is heard


def test_a_night_that_nobody_could_be_told_of_does_not_end_as_if_all_were_well(
    nightly: Any, machine: Any
) -> None:
    config = nightly(notify=[{"when": "always", "command": "exit 1"}])

    told = run_night(config, machine(GOOD)[0], clock(1))

    assert told is not None
    assert (told.exit_code, told.problems) == (3, ("the notify command ended with exit code 1: silent",))
    assert Ledger(config.root, "main").nights()[0].exit_code == 0


# What starts it


def test_the_units_are_what_systemd_takes(nightly: Any, tmp_path: Path) -> None:
    config = nightly(at="03:15")
    folder = tmp_path / "a 100% folder"
    folder.mkdir()
    texts = units(config, "/bin/true", folder)

    assert list(texts) == ["proctor-nightly-main.service", "proctor-nightly-main.timer"]
    assert "OnCalendar=*-*-* 03:15:00\nPersistent=true" in texts["proctor-nightly-main.timer"]
    assert "nightly run" in texts["proctor-nightly-main.service"]
    if shutil.which("systemd-analyze"):
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
        command = ["systemd-analyze", "verify", "--man=no", *(str(tmp_path / name) for name in texts)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        ours = [line for line in done.stderr.splitlines() if "proctor-nightly-main" in line]
        assert ours == []


@pytest.mark.parametrize("where", SNIPPETS)
def test_the_snippets_are_whole_and_name_the_file(nightly: Any, tmp_path: Path, where: str) -> None:
    config = nightly(at="03:15")

    text = SNIPPETS[where](config, "/opt/my proctor", tmp_path)

    assert "15 3 * * *" in text
    assert "nightly run" in text and "nightly.yaml" in text
    if where != "cron":
        import yaml

        assert isinstance(yaml.safe_load(text), dict)
    else:
        assert "'/opt/my proctor' nightly run" in text
        assert [line.split(" ", 2)[:2] for line in text.splitlines()[1:]] == [["15", "3"], ["45", "*"]]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_and_is_documented(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = finish(build(), ["nightly", name, "--help"])

    shown = capsys.readouterr().out
    pages = "".join(page.read_text(encoding="utf-8") for page in (REPOSITORY / "docs").glob("*.md"))
    assert code == 0
    assert f"proctor nightly {name}" in shown.partition("Examples")[2]
    assert f"proctor nightly {name}" in pages


def test_install_writes_units_and_says_how_they_are_started(
    nightly: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = nightly()

    assert finish(build(), ["nightly", "install", str(config.file), "--into", str(tmp_path / "units")]) == 0

    assert sorted(path.name for path in (tmp_path / "units").iterdir()) == [
        "proctor-nightly-main.service",
        "proctor-nightly-main.timer",
    ]
    assert "systemctl --user daemon-reload && systemctl --user enable --now" in capsys.readouterr().out


def test_status_and_trend_show_the_nights(
    nightly: Any, machine: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PROCTOR_STORE", raising=False)
    config = nightly(confirm={"by": "nothing"})
    run_night(config, machine(GOOD)[0], clock(1))
    run_night(config, machine(BAD)[0], clock(2))

    assert finish(build(), ["nightly", "status", str(config.file)]) == 0
    status = capsys.readouterr().out
    assert finish(build(), ["nightly", "trend", str(config.file), "--by", "task", "--moved", "--json"]) == 0
    moved = json.loads(capsys.readouterr().out)
    assert finish(build(), ["nightly", "trend", str(config.file)]) == 0
    trend = capsys.readouterr().out

    rows = [line.split()[:2] for line in status.splitlines()[1:3]]
    assert rows == [["2026-11-02", "1"], ["2026-11-01", "0"]]
    assert "One is due now" in status
    assert [line["name"] for line in moved["series"]] == [f"t{n}" for n in range(8)]
    assert {line["change"] for line in moved["series"]} == {-1.0}
    assert "every task  command:a      1   0.6    -0.4  █▁" in trend


def test_nothing_is_done_before_it_is_due(
    nightly: Any, machine: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    config = nightly()
    run_night(config, machine(GOOD)[0], lambda: datetime.now().astimezone())

    assert finish(build(), ["nightly", "run", str(config.file), "--if-due"]) == 0
    assert "nothing is due" in capsys.readouterr().err


def test_a_document_that_is_not_there_is_the_authors(tmp_path: Path) -> None:
    with pytest.raises(AuthoringError, match="there is no such file"):
        load_nightly(tmp_path)
