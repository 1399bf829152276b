"""Datasets of questions: answers from a file, several graders, gates; no engine is ever opened."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tenacity import wait_none

from orchestrator.cli import build, validate
from orchestrator.cli.ending import finish
from orchestrator.cli.given import shipped
from orchestrator.interrupts import Stop
from orchestrator.store import RunFolder

RUBRIC = """id: polite
version: "1.0"
checks:
  - {kind: must_contain_any, id: thanks, values: [thanks, please], description: Says please or thanks.}
  - {kind: must_not_contain, id: calm, values: ["!"]}
scoring: {combine: weighted_avg, threshold: 0.5}
"""
Run = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*_: Any, **__: Any) -> None:
        raise AssertionError("an engine was opened for questions")

    monkeypatch.setattr("orchestrator.cli.engine.opened", opened)
    monkeypatch.setattr("orchestrator.graders.endpoint.BACK_OFF", wait_none())


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any) -> Run:
    """Run questions against answers; returns the exit code and the JSON document."""
    folder = tmp_path / "quiz"
    (folder / "rubrics").mkdir(parents=True)
    (folder / "rubrics" / "polite.yaml").write_text(RUBRIC)
    monkeypatch.chdir(tmp_path)

    def run(
        questions: list[dict[str, Any]],
        answers: dict[str, Any],
        *more: str,
        config: dict[str, Any] | None = None,
        **fields: Any,
    ) -> tuple[int, dict[str, Any]]:
        document = {"id": "quiz", "version": "1.0", "questions": questions, **fields}
        (folder / "benchmark.yaml").write_text(json.dumps(document))
        if config is not None:
            (folder / "proctor.yaml").write_text(json.dumps(config))
        rows = [
            {"id": name, **(a if isinstance(a, dict) else {"response": a})} for name, a in answers.items()
        ]
        (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        arguments = ["run", "quiz", "--agent", "predictions:answers.jsonl", "--json", "-q", "--out", "out"]
        code = finish(build(), [*arguments, "--retries", "0", *more])
        out = capfdbinary.readouterr().out
        return code, json.loads(out) if out else {}

    return run


def by_task(told: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["task"]: row for row in told["trials"]}


def test_a_questions_score_is_the_mean_of_its_graders(ask: Run, judge_server: Any, tmp_path: Path) -> None:
    judge_server.grades(4)
    every = ["rubric_checks", "format", "fact_match", "tool_usage", "judge:careful"]
    whole = {
        "id": "whole",
        "input": "Tell me of Ada.",
        "criteria": "Is about Ada.",
        "rubric_ref": "rubric/polite@1.0",
        "expected": {"format": "json", "facts": ["Ada", "1815"], "expected_tools": ["search"]},
    }
    nulls = {"id": "nulls", "input": "Hm?"}

    code, told = ask(
        [whole, nulls],
        {
            "whole": {"response": '["thanks", "Ada"]', "trajectory": [{"name": "search"}]},
            "nulls": "anything",
        },
        defaults={"graders": every},
        config={"judges": {"careful": {"endpoint": judge_server.endpoint, "model": "m"}}},
    )

    record = next(r for r in RunFolder(tmp_path / "out").records() if r.task == "whole")
    assert {g.name: g.score for g in record.grades} == {
        "rubric_checks": 5.0,
        "format": 5.0,
        "fact_match": 2.5,
        "tool_usage": 5.0,
        "judge:careful": 4.0,
    }
    assert (record.status, record.question_score, record.score) == ("passed", 4.3, 4.3 / 5)
    assert (tmp_path / "out" / record.artifacts["judge-careful.answer-1.json"]).read_bytes()
    assert by_task(told)["whole"]["question_score"] == 4.3
    assert by_task(told)["nulls"]["status"] == "unscored" and by_task(told)["nulls"]["score"] is None
    assert told["agents"][0]["mean_score"] == 4.3 / 5 and code == 0


def test_a_judge_reads_the_merged_criteria(ask: Run, judge_server: Any) -> None:
    judge_server.grades(5)
    question = {
        "id": "q",
        "criteria": "Short.",
        "rubric_ref": "rubric/polite@1.0",
        "graders": ["judge:careful"],
    }

    ask(
        [question],
        {"q": "ok"},
        config={"judges": {"careful": {"endpoint": judge_server.endpoint, "model": "m"}}},
    )

    sent = json.loads(judge_server.requests[0]["messages"][1]["content"])
    assert sent["criteria"] == 'Short.\n\n- Says please or thanks.\n- The response contains none of: "!".'


@pytest.mark.parametrize(("threshold", "status"), [(3.5, "passed"), (3.51, "failed")])
def test_the_threshold_of_a_question_is_the_benchmarks(ask: Run, threshold: float, status: str) -> None:
    question = {"id": "q", "graders": ["format", "fact_match"]}
    question["expected"] = {"format": "json", "facts": list("abcde")}

    code, told = ask([question], {"q": '["a", "b"]'}, scoring={"question_pass_threshold": threshold})

    assert by_task(told)["q"]["question_score"] == 3.5
    assert (by_task(told)["q"]["status"], code) == (status, int(status == "failed"))


def test_a_question_graded_by_its_rubric_alone_goes_by_the_verdict(ask: Run) -> None:
    question = {"id": "q", "rubric_ref": "rubric/polite@1.0", "graders": ["rubric_checks"]}

    code, told = ask([question], {"q": "no thanks!"})

    row = by_task(told)["q"]
    assert (row["score"], row["question_score"], row["status"], code) == (0.5, 2.5, "passed", 0)


def test_a_task_may_ask_for_the_source_systems_executors(ask: Run, tmp_path: Path) -> None:
    (tmp_path / "quiz/rubrics/plain.yaml").write_text(
        'id: plain\nversion: "1.0"\nscoring: {combine: all_pass}\n'
        "checks: [{kind: must_contain_any, values: [yes]}, {kind: format, format: json}]\n".replace(
            "yes", '"yes"'
        )
    )
    questions = [
        {"id": name, "rubric_ref": "rubric/plain@1.0", "graders": [grader]}
        for name, grader in (("here", "rubric_checks"), ("there", "rubric_checks:ai_eval"))
    ]

    _, told = ask(questions, {"here": "yes", "there": "yes"})

    assert {name: row["status"] for name, row in by_task(told).items()} == {
        "here": "failed",
        "there": "passed",
    }
    verdicts = {r.task: r.verdict for r in RunFolder(tmp_path / "out").records() if r.verdict}
    assert (verdicts["here"].executors, verdicts["there"].executors) == ("all", "ai_eval")
    assert [skip.kind for skip in verdicts["there"].skipped] == ["format"]


def test_a_judge_that_is_down_is_no_score_and_is_asked_again_on_resuming(
    ask: Run, judge_server: Any, tmp_path: Path
) -> None:
    judge_server.breaks(503)
    questions = [
        {"id": "judged", "criteria": "Kind.", "graders": ["judge:careful"]},
        {"id": "plain", "expected": {"format": "json"}, "graders": ["format"]},
    ]
    config = {"judges": {"careful": {"endpoint": judge_server.endpoint, "model": "m"}}}
    answers = {"judged": "hi", "plain": "{}"}

    code, told = ask(questions, answers, "--retries", "1", config=config)
    assert (code, by_task(told)["judged"]["status"], by_task(told)["judged"]["score"]) == (3, "errored", None)
    assert by_task(told)["judged"]["end"] == "judge_unreachable" and told["agents"][0]["mean_score"] == 1
    assert len(judge_server.requests) == 6  # two attempts of three requests

    judge_server.answers.clear()
    judge_server.grades(5)
    code, told = ask(questions, answers, "--resume", config=config)
    assert (code, by_task(told)["judged"]["status"]) == (0, "passed")
    assert len(judge_server.requests) == 7


def test_a_judge_without_its_key_stops_the_run_before_it_starts(
    ask: Run, judge_server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    config = {
        "judges": {"careful": {"endpoint": judge_server.endpoint, "model": "m", "key_env": "NO_SUCH_KEY"}}
    }

    code, _ = ask([{"id": "q", "graders": ["judge:careful"]}], {"q": "x"}, config=config)

    assert code == 2 and not (tmp_path / "out").exists()


GATED = [
    {"id": "good", "expected": {"format": "json"}, "graders": ["format"]},
    {"id": "bad", "expected": {"format": "json"}, "graders": ["format"]},
]
ANSWERS = {"good": "{}", "bad": "prose"}


@pytest.mark.parametrize(
    ("gates", "code", "met"),
    [
        ([], 1, []),
        ([{"metric": "pass_rate", "at_least": 0.5}], 0, [True]),
        ([{"metric": "pass_rate", "at_least": 0.51}], 1, [False]),
        (
            [{"metric": "question_score", "at_least": 2.5}, {"metric": "mean_score", "at_least": 0.5}],
            0,
            [True, True],
        ),
        ([{"metric": "pass_rate", "at_least": 1, "kind": "soft"}], 0, [False]),
        ([{"metric": "pass_rate", "at_least": 1, "kind": "shadow"}], 0, [False]),
        ([{"metric": "pass_rate", "at_least": 0, "agent": "predictoins:*"}], 1, [False]),
        ([{"metric": "pass_rate", "at_least": 0, "agent": "predictions:*"}], 0, [True]),
        ([{"metric": "rubric:polite", "at_least": 0}], 1, [False]),
    ],
)
def test_gates_decide_the_exit_code(
    ask: Run, gates: list[dict[str, Any]], code: int, met: list[bool], capfdbinary: Any
) -> None:
    ended, told = ask(GATED, ANSWERS, gates=gates)

    assert (ended, told["exit_code"]) == (code, code)
    assert [gate["met"] for gate in told["gates"]] == met
    assert finish(build(), ["report", "out", "--json"]) == 0
    again = json.loads(capfdbinary.readouterr().out)
    assert (again["gates"], again["exit_code"]) == (told["gates"], code)


def test_only_a_soft_gate_warns_and_all_of_them_are_shown(ask: Run, capfdbinary: Any) -> None:
    gates = [{"metric": "pass_rate", "at_least": 1, "kind": kind} for kind in ("hard", "soft", "shadow")]

    _, told = ask(GATED, ANSWERS, gates=gates)
    finish(build(), ["report", "out"])

    out = capfdbinary.readouterr().out.decode()
    named = "pass_rate 0.5 of predictions:answers.jsonl is below 1"
    assert told["warnings"] == [f"soft gate: {named}"]
    assert f"Hard gate MISSED: {named}." in out and f"Warning: soft gate: {named}." in out
    assert f"Shadow gate MISSED: {named}, counts for nothing." in out


def test_a_gate_does_not_hide_trouble_that_is_graver(ask: Run, judge_server: Any) -> None:
    judge_server.breaks(503)
    question = {"id": "judged", "criteria": "Kind.", "graders": ["judge:careful"]}
    config = {"judges": {"careful": {"endpoint": judge_server.endpoint, "model": "m"}}}

    code, _ = ask([*GATED, question], {**ANSWERS, "judged": "x"}, config=config, gates=[
        {"metric": "pass_rate", "at_least": 0.1}
    ])  # fmt: skip

    assert code == 3


def test_show_tells_every_grade(ask: Run, capfdbinary: Any) -> None:
    ask(GATED, ANSWERS)

    finish(build(), ["show", "out", "bad"])

    out = capfdbinary.readouterr().out.decode()
    assert "grades (0 to 5), question score 0" in out and "  format: 0\n    not JSON" in out


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"gates": [{"metric": "pass_rate", "at_least": 3}]}, b"gates[0].at_least: pass_rate is at most 1"),
        ({"gates": [{"metric": "speed", "at_least": 1}]}, b"question_score or rubric:<id>"),
        ({"scoring": {"question_pass_threshold": 6}}, b"scoring.question_pass_threshold"),
        (
            {"config": {"panels": {"p": {"judges": ["x"], "aggregation": "median"}}}},
            b'"x" is none of the judges',
        ),
        ({"config": {"judges": {"j": {"endpoint": "http://u:p@h/v1", "model": "m"}}}}, b"URL without user"),
        (
            {"config": {"judges": {"j": {"endpoint": "http://h", "model": "m", "key": "k"}}}},
            b'unknown field "key"',
        ),
        (
            {"config": {"judges": {"j": {"endpoint": "http://h", "model": "m", "timeout": "0s"}}}},
            b"is not a time",
        ),
    ],
)
def test_mistakes_are_told_by_file_and_line(ask: Run, document: Any, words: bytes, capfdbinary: Any) -> None:
    folder = Path("quiz")
    document = {"id": "quiz", "version": "1.0", "questions": [{"id": "q"}], **document}
    (folder / "proctor.yaml").write_text(json.dumps(document.pop("config", {})))
    (folder / "benchmark.yaml").write_text(json.dumps(document))

    code = finish(build(), ["run", "quiz", "--agent", "noop"])

    assert code == 2 and words in capfdbinary.readouterr().err


def test_graders_that_read_words_do_not_outvote_a_verdict_from_the_rooms(bench: Callable[..., Any]) -> None:
    talk = {"id": "mend", "graders": ["rubric_checks", "format", "fact_match"]}
    made = bench({**talk, "expected": {"format": "json", "facts": ["done"]}})
    (made.folder / "benchmark.yaml").write_text(
        json.dumps(
            {
                **json.loads((made.folder / "benchmark.yaml").read_text()),
                "scoring": {"question_pass_threshold": 3},
            }
        )
    )
    patch = (made.folder / "fix.patch").read_text()
    for name, change in (("real", patch), ("boast", patch.replace("+right", "+still wrong"))):
        row = {
            "instance_id": "mend",
            "model_name_or_path": name,
            "model_patch": change,
            "response": '["done"]',
        }
        (made.folder / f"{name}.jsonl").write_text(json.dumps(row))

    made.run(*(f"predictions:{made.folder / name}.jsonl" for name in ("real", "boast")))

    ends = {Path(r.agent.name).stem: (r.status, r.question_score) for r in made.records}
    assert ends["real"] == ("passed", 5.0)
    assert ends["boast"] == ("failed", pytest.approx(10 / 3))


def test_words_alone_do_not_pass_a_task_whose_rubric_is_not_there(bench: Callable[..., Any]) -> None:
    talk = {"id": "mend", "rubric_ref": "rubric/rigth@1.0", "graders": ["rubric_checks", "fact_match"]}
    made = bench({**talk, "expected": {"facts": ["done"], "response": "done"}})

    made.run("gold")

    (record,) = made.records
    assert (record.status, record.score, record.question_score) == ("unscored", None, None)
    assert record.ref_unresolved and "no check of the rubric looked at the work" in record.reason


def test_stopping_a_run_ends_a_question_that_waits_for_its_judge(
    bench: Callable[..., Any], judge_server: Any
) -> None:
    judge_server.hold = threading.Event()
    judge_server.grades(5)
    made = bench(questions=("q",))
    question = {"id": "q", "criteria": "Kind.", "graders": ["judge:careful"]}
    (made.folder / "benchmark.yaml").write_text(
        json.dumps({"id": "small", "version": "1.0", "tasks": [question]})
    )
    judges = {"judges": {"careful": {"endpoint": judge_server.endpoint, "model": "m"}}}
    (made.folder / "proctor.yaml").write_text(json.dumps(judges))
    stop = Stop()
    stopper = threading.Thread(target=lambda: judge_server.asked.wait(20) and stop.request())
    stopper.start()

    summary = made.run("noop", stop=stop)
    stopper.join()

    assert summary.exit_code == 130 and summary.counts["not_run"] == 1
    assert [(r.status, r.end) for r in made.records] == [("not_run", "interrupted")]


@pytest.mark.parametrize(("answers", "code", "passed"), [("careful", 0, 3), ("hasty", 1, 1)])
def test_the_questions_that_come_along_tell_careful_answers_from_hasty_ones(
    tmp_path: Path, capfdbinary: Any, answers: str, code: int, passed: int
) -> None:
    demo = shipped() / "questions_demo"
    agent = f"predictions:{demo / 'answers' / answers}.jsonl"

    ended = finish(
        build(), ["run", str(demo), "--agent", agent, "--json", "-q", "--out", str(tmp_path / "out")]
    )

    told = json.loads(capfdbinary.readouterr().out)
    assert (ended, told["counts"]["passed"]) == (code, passed)


def test_validate_names_what_nobody_grades_and_gates_on_nothing(ask: Run) -> None:
    room = {"environment": {"host": True}, "rubric_ref": "rubric/polite@1.0"}
    tasks = [{"id": "idle"}, {"id": "words", **room, "graders": ["fact_match"]}, {"id": "work", **room}]
    document = {"id": "quiz", "version": "1.0", "tasks": tasks}
    gates = [{"metric": f"rubric:{name}", "at_least": 1} for name in ("polite", "polit")]
    Path("quiz/benchmark.yaml").write_text(json.dumps({**document, "gates": gates}))

    said = [str(warning) for warning in validate.look([Path("quiz")], [], None).warnings]

    assert [line.partition(": ")[2] for line in said if "rubrics" not in line] == [
        "task idle: is a question without graders: nothing is scored; add graders, such as [rubric_checks]",
        "task words: none of its graders looks at the work, only at words; add rubric_checks to graders",
        "gates[1].metric: no task attaches the rubric polit: the gate can only be missed; "
        'did you mean "polite"?',
    ]


def test_an_agent_that_needs_a_room_is_refused_before_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "quiz"
    (folder / "rubrics").mkdir(parents=True)
    (folder / "rubrics" / "polite.yaml").write_text(RUBRIC)
    question = {"id": "hello", "input": "Greet me.", "rubric_ref": "rubric/polite@1.0"}
    (folder / "benchmark.yaml").write_text(
        json.dumps({"id": "quiz", "version": "1.0", "questions": [question]})
    )
    monkeypatch.chdir(tmp_path)

    code = finish(build(), ["run", "quiz", "--agent", "command:echo\nthanks", "--out", "out"])

    said = capsys.readouterr().err
    assert code == 2
    assert said.count("\n") == 1
    assert "agent command:echo thanks works in a room, but there is no environment for hello" in said
    assert not (tmp_path / "out").exists()
