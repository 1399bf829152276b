"""A benchmark of sixty trials that cost next to nothing, whose right verdicts are known beforehand.

Half of its tasks are decided by an exit code, half by what a command prints: lost output must show.
"""

from __future__ import annotations

import json
from pathlib import Path

TASKS = 10
REPEATS = 2
"""Ten tasks, three agents, two repeats: sixty trials."""
FIX = """diff --git a/answer.txt b/answer.txt
--- a/answer.txt
+++ b/answer.txt
@@ -1 +1 @@
-wrong
+{word}
"""
TELL = """echo 1..3
echo ok 1 - begins
grep -q right answer.txt && echo ok 2 - answers || echo not ok 2 - answers
echo ok 3 - ends
grep -q right answer.txt
"""
RUBRICS = {
    "exits": {"command": "grep -q right answer.txt", "expect": "test_transitions"},
    "tells": {"command": "sh tests/tell.sh", "expect": "test_transitions", "report": "tap"},
}
TESTS = {"fail_to_pass": ["answers"], "pass_to_pass": ["begins", "ends"]}


def write(folder: Path, tasks: int = TASKS) -> tuple[Path, tuple[str, ...]]:
    """The benchmark below `folder`, and the specs of its three agents: right, idle and wrong."""
    for name, check in RUBRICS.items():
        document = {
            "id": name,
            "version": "1.0",
            "checks": [{"kind": "command", "id": "tests", **check}],
            "scoring": {"combine": "all_pass"},
        }
        _put(folder / "rubrics" / f"{name}.yaml", json.dumps(document))
    _put(folder / "repo" / "answer.txt", "wrong\n")
    _put(folder / "repo" / "tests" / "tell.sh", TELL)
    _put(folder / "fix.patch", FIX.format(word="right"))
    whole = [_task(number) for number in range(tasks)]
    _put(folder / "benchmark.yaml", json.dumps({"id": "faults", "version": "1.0", "tasks": whole}))
    wrong = [{"instance_id": task["id"], "model_patch": FIX.format(word="left")} for task in whole]
    _put(folder / "wrong.jsonl", "".join(json.dumps(line) + "\n" for line in wrong))
    return folder, ("gold", "noop", f"predictions:{folder / 'wrong.jsonl'}")


def right_status(agent: str) -> str:
    """What a trial of this agent must end with, wherever it ends with a verdict."""
    return "passed" if agent == "gold" else "failed"


def _task(number: int) -> dict[str, object]:
    tells = number % 2 == 1
    task: dict[str, object] = {
        "id": f"t{number}",
        "rubric_ref": "rubric/tells@1.0" if tells else "rubric/exits@1.0",
        "environment": {"host": True},
        "source": {"kind": "path", "path": "repo"},
        "fix_patch": "fix.patch",
        "protected": ["tests/**"],
        "limits": {"oracle_time": "20s"},
    }
    return {**task, "expected": TESTS} if tells else task


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
