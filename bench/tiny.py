"""Two dozen tasks that cost next to nothing, so that what is measured is the harness around them."""

from __future__ import annotations

from pathlib import Path

TASKS = 24
WORK = 0.15
"""Seconds of processor time, as a test runner's own start takes; with Python's start-up a test takes about a
quarter of a second."""
COMMAND = "python3 -B -m unittest -q test_answer"

TEST = f"""import time
import unittest

from answer import answer


class Answer(unittest.TestCase):
    def test_it(self):
        while time.process_time() < {WORK}:
            pass
        self.assertEqual(answer(), NUMBER)
"""

FIX = """diff --git a/answer.py b/answer.py
--- a/answer.py
+++ b/answer.py
@@ -1,2 +1,2 @@
 def answer():
-    return None
+    return NUMBER
"""

RUBRIC = f"""id: tiny
version: "1.0"
checks:
  - kind: command
    id: test
    command: {COMMAND}
scoring:
  combine: all_pass
"""

TASK = """  - id: task_NUMBER
    rubric_ref: rubric/tiny@1.0
    environment: {host: true}
    source: {kind: path, path: task_NUMBER/repo}
    fix_patch: task_NUMBER/fix.patch
"""


def write(folder: Path) -> Path:
    """A benchmark of `TASKS` tasks in `folder`; what `solved` writes is the state gold leads to."""
    (folder / "rubrics").mkdir(parents=True)
    (folder / "rubrics" / "tiny.yaml").write_text(RUBRIC)
    lines = ['id: tiny\nversion: "1.0"\ntasks:\n']
    for number in range(TASKS):
        repo = folder / f"task_{number}" / "repo"
        repo.mkdir(parents=True)
        (repo / "answer.py").write_text("def answer():\n    return None\n")
        (repo / "test_answer.py").write_text(TEST.replace("NUMBER", str(number)))
        (repo.parent / "fix.patch").write_text(FIX.replace("NUMBER", str(number)))
        lines.append(TASK.replace("NUMBER", str(number)))
    (folder / "benchmark.yaml").write_text("".join(lines))
    return folder


def solved(folder: Path) -> list[Path]:
    """The same work trees with the fix in, for loops that only run the tests."""
    trees = []
    for number in range(TASKS):
        tree = folder / f"tree_{number}"
        tree.mkdir(parents=True)
        (tree / "answer.py").write_text(f"def answer():\n    return {number}\n")
        (tree / "test_answer.py").write_text(TEST.replace("NUMBER", str(number)))
        trees.append(tree)
    return trees
