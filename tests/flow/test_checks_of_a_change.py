"""Whole trials whose rubric looks at the change itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

RUBRIC = """id: right
version: "1.0"
checks:
  - {kind: must_not_contain, id: no_eval, subject: patch, values: ["eval("]}
  - {kind: regex, id: ends_well, subject: {file: answer.txt}, patterns: ['\\n\\z'], flags: ""}
  - {kind: json_schema, id: answer_is_list, schema_ref: answer}
scoring: {combine: all_pass}
"""
PATCH = """diff --git a/answer.txt b/answer.txt
--- a/answer.txt
+++ b/answer.txt
@@ -1 +1 @@
-wrong
+{line}
"""


def test_the_change_must_not_contain_eval(bench: Callable[..., Any]) -> None:
    made = bench("mend")
    (made.folder / "rubrics" / "right.yaml").write_text(RUBRIC)
    (made.folder / "schemas").mkdir()
    (made.folder / "schemas" / "answer.json").write_text('{"type": "array"}')
    answers = {"good": "right", "bad": "eval(right)"}
    for name, line in answers.items():
        row = {"instance_id": "mend", "model_name_or_path": name, "model_patch": PATCH.format(line=line)}
        (made.folder / f"{name}.jsonl").write_text(json.dumps({**row, "response": "[]"}) + "\n")

    made.run(*(f"predictions:{made.folder / name}.jsonl" for name in answers), "noop")

    by_agent = {r.agent.name.rpartition("/")[2]: r for r in made.records}
    outcomes = {
        name: {o.id: o.status for o in record.verdict.outcomes}
        for name, record in by_agent.items()
        if record.verdict
    }
    assert set(outcomes["good.jsonl"].values()) == {"passed"}
    assert outcomes["bad.jsonl"] == {**outcomes["good.jsonl"], "no_eval": "failed"}
    assert (by_agent["noop"].status, by_agent["noop"].end) == ("failed", "change_empty")


def test_a_changed_schema_is_a_changed_input(bench: Callable[..., Any]) -> None:
    made = bench("mend")
    (made.folder / "rubrics" / "right.yaml").write_text(RUBRIC)
    schemas = made.folder / "schemas"
    schemas.mkdir()
    (schemas / "answer.json").write_text('{"type": "array"}')
    made.run("gold")
    (schemas / "answer.json").write_text("true")
    made.run("gold")

    digests = [record.digests["inputs"] for record in made.records]

    assert len(digests) == 2 and digests[0] != digests[1]
