"""Real suites that hang, crash, lose or rename their tests: each comes to its own end, and none to a pass."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ENGINES = [pytest.param("oci", marks=pytest.mark.oci), pytest.param("docker", marks=pytest.mark.docker)]
PYTEST = ["iniconfig==2.0.0", "packaging==24.2", "pluggy==1.5.0", "pytest==8.3.4"]
RUN_TESTS = "python3 -m pytest -q -p no:cacheprovider tests"
Run = Callable[..., dict[str, Any]]

pytestmark = [pytest.mark.network, pytest.mark.parametrize("engine", ENGINES)]


def pair(package: str, fixed: str, broken: str, hashes: tuple[str, str], swap: str) -> dict[str, Any]:
    sha256 = dict(zip(("fixed", "broken"), hashes, strict=True))
    facts = {"package": package, "fixed": fixed, "broken": broken, "sha256": sha256, "swap": [swap]}
    return {"kind": "release_pair", "ecosystem": "pypi", **facts}


CACHETOOLS = pair(
    "cachetools",
    "8.0.2",
    "8.0.1",
    (
        "30ac523adfc118b51d2b2e7bad8a0ddb31370dfe2700c7f10ca224f36ccf81e0",
        "deb1d376d4d28c2f33f3e3058043b005e0af75c35c094bd54053e27d2906ad95",
    ),
    "src/cachetools",
)
BOLTONS = pair(
    "boltons",
    "25.0.0",
    "24.1.0",
    (
        "e110fbdc30b7b9868cb604e3f71d4722dd8f4dcb4a5ddd06028ba8f1ab0b5ace",
        "4a49b7d57ee055b83a458c8682a2a6f199d263a8aa517098bda9bab813554b87",
    ),
    "boltons",
)
HUMANIZE = pair(
    "humanize",
    "4.2.3",
    "4.2.2",
    (
        "2bc1fdd831cd00557d3010abdd84d3e41b4a96703a3eaf6c24ee290b26b75a44",
        "a45cb64bb7387b3f0f5d69c2d74376ecc1549eb89bc619dfb22c7e98b6e8c164",
    ),
    "src/humanize",
)
CJSON = {
    "kind": "debian",
    "package": "cjson",
    "version": "1.7.15-1+deb12u4",
    "sha256": {
        "cjson_1.7.15-1+deb12u4.debian.tar.xz": (
            "afd19a970966cf534ff1e9ec077d710a5e7e78eb4ec9b499c8bdc32e55da12cb"
        ),
        "cjson_1.7.15.orig.tar.gz": "5308fd4bd90cef7aa060558514de6a1a4a0819974a26e6ed13973c5f624c24b2",
    },
    "revert": ["0001-add-null-checkings.patch", "0002-add-null-check-to-cjson-setvaluestring.patch"],
}
COMPILE = "gcc -O0 -g -w -Itests/unity/src -Itests -o /tmp/t tests/misc_tests.c tests/unity/src/unity.c -lm"
"""Then `cd tests && /tmp/t`."""
HANGING = [
    *(f"tests/test_tlru.py::TLRUCacheTest::test_{name}" for name in ("iter_update", "tlru_deepcopy_timer")),
    "tests/test_tlru.py::TLRUCacheTest::test_tlru_iter_modify",
    *(f"tests/test_ttl.py::TTLCacheTest::test_{name}" for name in ("iter_update", "ttl_deepcopy_timer")),
    *(
        f"tests/test_ttl.py::TTLCacheTest::test_{name}"
        for name in ("ttl_iter_modify", "ttl_lru", "ttl_timer")
    ),
    *(f"tests/test_ttl.py::TTLCacheTest::test_{name}" for name in ("ttl_tuple_key", "update")),
]
"""Five of them fail before; the other five come after the hang."""
VANISHED = [
    f"tests/test_fileutils.py::test_{name}"
    for name in (
        "fileperms",
        "iter_find_files",
        "rotate_file_no_rotation",
        "rotate_file_one_rotation",
        "rotate_file_full_rotation",
        "rotate_file_full_rotation_no_ext",
    )
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fetched once for both engines."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def run(tmp_path: Path, home: Path) -> Run:
    """run(engine, source, expected, ...) -> the two trials by agent, or with `validate=True` the findings."""

    def run_task(
        engine: str,
        source: dict[str, Any],
        expected: dict[str, Any],
        *,
        check: dict[str, Any] | None = None,
        path: str = "/workspace",
        pip: list[str] | None = None,
        seconds: int = 120,
        validate: bool = False,
    ) -> dict[str, Any]:
        _write(tmp_path / "bench", source, expected, check or {"command": RUN_TESTS}, path, pip, seconds)
        words = ["validate", "--execute", "2"] if validate else ["run", "--agent", "gold", "--agent", "noop"]
        answer = _proctor(
            [words[0], str(tmp_path / "bench"), *words[1:], "--sandbox", engine], home, tmp_path
        )
        return answer if validate else {trial["agent"]: trial for trial in answer["trials"]}

    return run_task


def _write(
    folder: Path,
    source: dict[str, Any],
    expected: dict[str, Any],
    check: dict[str, Any],
    path: str,
    pip: list[str] | None,
    seconds: int,
) -> None:
    """A benchmark of one task. JSON is YAML."""
    task = {
        "id": "nasty",
        "setup": "revert_fix",
        "environment": {"host": True},
        "rubric_ref": "rubric/turns@1.0",
        "source": source,
        "dependencies": {"pip": PYTEST if pip is None else pip},
        "env": {"PYTHONPATH": path},
        "limits": {"oracle_time": f"{seconds}s"},
        "expected": expected,
    }
    rubric = {
        "id": "turns",
        "version": "1.0",
        "checks": [{"kind": "command", "id": "tests", "expect": "test_transitions", **check}],
        "scoring": {"combine": "all_pass"},
    }
    (folder / "rubrics").mkdir(parents=True)
    (folder / "benchmark.yaml").write_text(json.dumps({"id": "nasty", "version": "1.0", "tasks": [task]}))
    (folder / "rubrics" / "turns.yaml").write_text(json.dumps(rubric))


def _proctor(words: list[str], home: Path, cwd: Path) -> dict[str, Any]:
    """One command's JSON; afterwards nothing that it started may be left."""
    program = "from orchestrator.cli import main; raise SystemExit(main())"
    env = {**os.environ, "PROCTOR_HOME": str(home)}
    command = [sys.executable, "-c", program, *words, "-q", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=cwd) as child:
        out, err = child.communicate(timeout=1800)
    assert out, err.decode()[-2000:]
    assert _left_behind(child.pid, home) == []
    answer: dict[str, Any] = json.loads(out)
    return answer


def _left_behind(pid: int, home: Path) -> list[str]:
    """Rooms, mounts and containers of a process that has ended."""
    rooms = [str(path) for path in (home / "rooms").glob(f"{pid}-*")]
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if f"{home}/rooms" in line]
    listing = ["docker", "ps", "-aq", "--filter", f"label=proctor.pid={pid}"]
    try:
        containers = subprocess.run(listing, capture_output=True, text=True).stdout.split()
    except FileNotFoundError:
        containers = []
    return rooms + mounts + containers


def test_a_state_that_hangs_hits_its_time_limit_and_leaves_nothing(run: Run, engine: str) -> None:
    expected = {"fail_to_pass": HANGING, "pass_to_pass_count": 466, "missing_before_ok": True}

    trials = run(engine, CACHETOOLS, expected, path="/workspace/src", seconds=30)

    assert trials["gold"]["status"] == "passed", trials
    assert trials["noop"]["status"] == "failed", trials
    assert "hit its time limit" in trials["noop"]["reason"]


def test_a_hang_without_leave_is_a_task_to_mend(run: Run, engine: str) -> None:
    trials = run(engine, CACHETOOLS, {"fail_to_pass": HANGING}, path="/workspace/src", seconds=20)

    for trial in trials.values():
        assert trial["status"] == "invalid"
        assert "before the change: the command hit its time limit" in trial["reason"]


def test_tests_that_vanish_in_a_collection_error_are_missing_and_never_passed(run: Run, engine: str) -> None:
    expected = {"fail_to_pass": VANISHED, "missing_before_ok": True}

    trials = run(engine, BOLTONS, expected)

    assert trials["gold"]["status"] == "passed", trials
    assert trials["noop"]["status"] == "failed", trials
    assert "collection error" in trials["noop"]["reason"]
    assert "6 missing" in trials["noop"]["reason"]


def test_the_other_modules_still_count_when_the_runner_goes_on(run: Run, engine: str) -> None:
    check = {"command": f"{RUN_TESTS} --continue-on-collection-errors"}
    expected = {"fail_to_pass": VANISHED, "pass_to_pass_count": 417, "missing_before_ok": True}

    trials = run(engine, BOLTONS, expected, check=check)

    assert {agent: trial["status"] for agent, trial in trials.items()} == {"gold": "passed", "noop": "failed"}
    assert "of 6 listed tests 6 missing" in trials["noop"]["reason"]


def test_a_crash_before_any_line_is_a_crash_and_no_empty_success(run: Run, engine: str) -> None:
    check = {"command": f"{COMPILE} && cd tests && /tmp/t", "report": "unity"}
    tests = {"fail_to_pass": ["misc_tests.c::cjson_array_foreach_should_loop_over_arrays"]}

    judged = run(engine, CJSON, tests | {"missing_before_ok": True}, check=check, pip=[])

    assert judged["gold"]["status"] == "passed", judged
    assert judged["noop"]["status"] == "failed", judged
    assert "SIGSEGV" in judged["noop"]["reason"]
    assert "1 missing" in judged["noop"]["reason"]


def test_ids_that_change_with_each_run_are_refused_by_validation(run: Run, engine: str) -> None:
    phantom = (
        "tests/test_time.py::test_naturalday[test_args8-<tests.test_time.FakeDate object at 0x7efc7e66fc90>]"
    )
    more = ["freezegun==1.5.1", "python-dateutil==2.9.0.post0", "six==1.17.0"]

    findings = run(
        engine, HUMANIZE, {"fail_to_pass": [phantom]}, path="/workspace/src", pip=PYTEST + more, validate=True
    )

    assert "missing before the change, should fail" in json.dumps(findings)
    assert '"invalid"' in json.dumps(findings)
