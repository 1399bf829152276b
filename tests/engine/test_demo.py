"""The first thing a newcomer sees, on every engine: right fixes pass, nothing and wrong ones fail."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROCTOR = Path(sys.executable).with_name("proctor")


@pytest.mark.parametrize(
    "engine", [pytest.param("oci", marks=pytest.mark.oci), pytest.param("docker", marks=pytest.mark.docker)]
)
def test_the_demo_ends_as_it_must(engine: str, tmp_path: Path) -> None:
    run = tmp_path / "run"

    done = subprocess.run(
        [PROCTOR, "demo", "--sandbox", engine, "--out", run], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 trials: 4 passed, 8 failed" in done.stdout
    records = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    assert {(r["agent"]["name"].partition(":")[0], r["status"]) for r in records} == {
        ("gold", "passed"),
        ("noop", "failed"),
        ("predictions", "failed"),
    }
    assert {r["end"] for r in records if r["agent"]["name"] == "noop"} == {"change_empty"}
    assert not [r for r in records for o in r["verdict"]["outcomes"] if "exception" in o["details"]]
