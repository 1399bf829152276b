"""Real PHP and real analysers: honest work passes, and nothing that only looks like it does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parents[2] / "benchmarks" / "php_quality"
CANDIDATES = FOLDER / "candidates"
TASKS = ("till", "till_unguarded", "shelf")
ENGINES = [pytest.param("oci", marks=pytest.mark.oci), pytest.param("docker", marks=pytest.mark.docker)]
pytestmark = pytest.mark.network


@pytest.mark.parametrize("engine", ENGINES)
def test_gold_passes_and_no_candidate_does_on_any_task(engine: str, tmp_path: Path) -> None:
    files = sorted(CANDIDATES.glob("*.jsonl"))
    agents = ["gold", "noop", *(f"predictions:{file}" for file in files)]

    records = _run(engine, agents, tmp_path / "run", TASKS)

    status = {(r["task"], _name(r)): r["status"] for r in records}
    assert {key for key, word in status.items() if word != "failed"} == {(task, "gold") for task in TASKS}
    assert {status[task, "gold"] for task in TASKS} == {"passed"}
    expected = yaml.safe_load((CANDIDATES / "expected.yaml").read_text())
    seen = {(_name(r), r["task"]): r["verdict"]["outcomes"][0]["details"]["cause"] for r in records[:]
            if _name(r) in expected and r["task"] in expected[_name(r)]}  # fmt: skip
    wanted = {(n, task): words[task] for n, words in expected.items() for task in TASKS if task in words}
    assert seen == wanted


@pytest.mark.parametrize("engine", ENGINES)
def test_a_released_package_is_mended_by_its_next_release_and_by_no_trick(
    engine: str, tmp_path: Path
) -> None:
    tried = yaml.safe_load((CANDIDATES / "commands.yaml").read_text())
    commands = [f"command:{entry['command']}" for entry in tried.values()]

    records = _run(engine, ["gold", "noop", *commands], tmp_path / "run", ("parser_5",))

    names = {f"command:{entry['command']}": name for name, entry in tried.items()}
    seen = {names.get(name := r["agent"]["name"], name): _cause(r) for r in records}
    assert seen == {
        "gold": None,
        "noop": "delta_too_small",
        **{name: entry.get("cause") for name, entry in tried.items()},
    }
    gold = next(r for r in records if r["agent"]["name"] == "gold")
    details = gold["verdict"]["outcomes"][0]["details"]
    assert (details["before"], details["after"], details["delta"]) == (1502, 1198, 304)


def _cause(record: Any) -> str | None:
    details = record["verdict"]["outcomes"][0]["details"]
    assert (record["status"] == "passed") == ("cause" not in details)
    cause: str | None = details.get("cause")
    return cause


def test_every_candidate_says_what_it_is_and_how_it_must_end() -> None:
    expected = yaml.safe_load((CANDIDATES / "expected.yaml").read_text())

    for file in CANDIDATES.glob("*.jsonl"):
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        assert expected[file.stem].keys() - {"why"} == {row["instance_id"] for row in rows}
        assert all(row["response"] == expected[file.stem]["why"] for row in rows)
    assert len(expected) >= 12


def _name(record: Any) -> str:
    return Path(record["agent"]["name"].removeprefix("predictions:")).stem


def _run(engine: str, agents: list[str], out: Path, tasks: Sequence[str]) -> list[Any]:
    program = "from orchestrator.cli import main; raise SystemExit(main())"
    command = [
        sys.executable,
        "-c",
        program,
        "run",
        str(FOLDER),
        "--sandbox",
        engine,
        "--out",
        str(out),
        "-q",
        "--tasks",
        ",".join(tasks),
    ]
    command += [word for agent in agents for word in ("--agent", agent)]
    done = subprocess.run(command, capture_output=True, env=os.environ, timeout=1800)
    assert done.returncode == 1, done.stderr.decode()[-2000:]
    return [json.loads(line) for line in (out / "records.jsonl").read_text().splitlines()]
