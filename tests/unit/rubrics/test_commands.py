"""proctor rubric, from the command line (rules 170 to 173, 178, 179, 192 to 194; C-44)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import build
from orchestrator.cli.ending import finish
from orchestrator.cli.rubric import COMMANDS

ROOT = Path(__file__).parents[3]
ODD = """# kept
id: odd
version: "1.0"   # kept, too
checks:
  - {kind: must_contain_any,   id: says, values: ["yes"]}
scoring: {combine: weighted_avg, threshold: 0.5, weights: {says: 1}}
"""


def call(*arguments: object) -> int:
    return finish(build(), ["rubric", *map(str, arguments)])


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with one rubric in ./rubrics."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    (tmp_path / "rubrics").mkdir()
    (tmp_path / "rubrics/odd.yaml").write_text(ODD)
    return tmp_path


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run(*arguments: object) -> tuple[int, str, str]:
        code = call(*arguments)
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.mark.parametrize("name", COMMANDS)
def test_every_sub_command_explains_itself_and_is_in_the_documentation(name: str, told: Any) -> None:
    code, out, _ = told(name, "--help")

    page = (ROOT / "docs/rubrics.md").read_text(encoding="utf-8")
    assert code == 0 and "Example" in out and f"proctor rubric {name}" in out
    assert f"proctor rubric {name}" in page


def test_own_rubrics_are_listed_before_the_built_in_ones(told: Any) -> None:
    code, out, _ = told("list", "--json")

    rows = json.loads(out)["rubrics"]
    assert code == 0
    assert (rows[0]["ref"], rows[0]["built_in"], rows[0]["file"]) == (
        "rubric/odd@1.0",
        False,
        "rubrics/odd.yaml",
    )
    assert {"rubric/bug_fix@1.0", "rubric/translation@1.0"} <= {r["ref"] for r in rows if r["built_in"]}
    assert all(r["threshold"] is not None or r["combine"] == "all_pass" for r in rows)


def test_the_list_is_a_table_for_people(told: Any) -> None:
    _, out, _ = told("list")

    assert any(line.split()[:4] == ["odd@1.0", "weighted_avg", "0.5", "1"] for line in out.splitlines())


def test_a_file_that_does_not_load_is_named_and_the_others_are_listed(here: Path, told: Any) -> None:
    (here / "rubrics/broken.yaml").write_text(ODD.replace("id: odd", "id: bad").replace("values", "valuez"))

    (here / "rubrics/torn.yaml").write_text("id: [")
    (here / "rubrics/benchmark.yaml").write_text("id: b\ntasks: []\n")

    code, out, err = told("list")

    assert code == 2 and "odd@1.0" in out
    assert "rubrics/broken.yaml:5" in err and "rubrics/torn.yaml" in err and "benchmark.yaml" not in err


def test_a_folder_that_is_not_there_is_named(told: Any) -> None:
    assert "nowhere: there is no such folder" in told("list", "nowhere")[2]
    assert told("show", "odd", "--rubrics", "nowhere")[0] == 2


def test_a_rubric_is_shown_with_shares_and_what_judges_read(told: Any) -> None:
    code, out, _ = told("show", "bug_fix")

    assert code == 0
    assert "at least 0.9" in out and "90%" in out and "sandbox" in out
    assert "What judges read of it:\n- the project's pytest suite fails before" in out


def test_the_file_itself_is_shown_byte_for_byte(
    capfdbinary: pytest.CaptureFixture[bytes], here: Path
) -> None:
    assert call("show", "odd", "--yaml") == 0

    assert capfdbinary.readouterr().out == (here / "rubrics/odd.yaml").read_bytes()


def test_a_rubric_can_be_called_by_file_id_and_version_or_ref(told: Any) -> None:
    names = ["rubrics/odd.yaml", "odd", "odd@1.0", "rubric/odd@1.0"]

    refs = [json.loads(told("show", name, "--json")[1])["ref"] for name in names]

    assert refs == ["rubric/odd@1.0"] * 4


def test_of_an_id_alone_the_newest_version_is_meant(here: Path, told: Any) -> None:
    for version in ("1.9", "1.10"):
        text = ODD.replace('"1.0"', f'"{version}"')
        (here / f"rubrics/odd-{version}.yaml").write_text(text)

    assert json.loads(told("show", "odd", "--json")[1])["ref"] == "rubric/odd@1.10"


def test_an_own_rubric_goes_before_a_built_in_one_of_its_name(here: Path, told: Any) -> None:
    (here / "rubrics/mine.yaml").write_text(ODD.replace("id: odd", "id: bug_fix"))

    assert json.loads(told("show", "bug_fix", "--json")[1])["file"] == "rubrics/mine.yaml"


def test_a_name_that_means_nothing_gets_a_hint(told: Any) -> None:
    code, _, err = told("show", "bugfix")

    assert code == 2 and 'did you mean "bug_fix"?' in err


def test_a_new_rubric_loads_and_gives_no_cause_for_advice(here: Path, told: Any) -> None:
    assert told("new", "support_tone")[0] == 0

    code, out, err = told("lint", "rubrics/support_tone.yaml", "--strict")

    assert (code, err) == (0, "") and "nothing to say" in out
    assert told("new", "support_tone")[0] == 2
    assert "write support_tone_2" in told("new", "Support tone 2")[2]


def test_a_copy_keeps_everything_but_the_id(here: Path, told: Any) -> None:
    assert told("new", "mine", "--from", "odd", "--out", "deep/mine.yaml")[0] == 0

    assert (here / "deep/mine.yaml").read_text() == ODD.replace("id: odd", "id: mine")


def test_lint_exits_2_for_errors_and_for_warnings_only_when_strict(here: Path, told: Any) -> None:
    (here / "rubrics/odd.yaml").write_text(ODD.replace("threshold: 0.5, ", ""))

    assert told("lint", "odd")[0] == 0
    assert told("lint", "odd", "--strict")[0] == 2

    (here / "rubrics/odd.yaml").write_text(ODD.replace("weights: {says", "weights: {sais"))
    code, out, _ = told("lint", "odd", "--json")
    found = json.loads(out)
    assert code == 2 and not found["valid"]
    assert found["errors"][0]["line"] == 6 and 'did you mean "says"' in found["errors"][0]["hint"]


def test_disable_and_enable_change_one_line(here: Path, told: Any) -> None:
    file = here / "rubrics/odd.yaml"

    assert told("disable", "odd")[0] == 0
    assert file.read_text() == ODD.replace("kept, too\n", "kept, too\nenabled: false\n")
    assert "was already disabled" in told("disable", "rubrics/odd.yaml")[1]
    assert told("enable", "odd")[0] == 0

    assert file.read_text() == ODD.replace("kept, too\n", "kept, too\nenabled: true\n")


def test_a_built_in_rubric_is_not_switched(told: Any) -> None:
    code, _, err = told("disable", "bug_fix")

    assert code == 2 and "proctor rubric new my_bug_fix --from bug_fix" in err


def test_what_is_no_rubric_is_not_switched(here: Path, told: Any) -> None:
    (here / "notes.yaml").write_text("version: '1'\n")

    assert told("disable", "notes.yaml")[0] == 2
    assert (here / "notes.yaml").read_text() == "version: '1'\n"


def test_convert_prints_the_rubric_and_warns_on_stderr(here: Path, told: Any) -> None:
    (here / "old.yaml").write_text(
        "name: old one\npass_threshold: 0.6\nchecks: [{check: sharpness, weight: 1}]\n"
    )

    code, out, err = told("convert", "old.yaml")

    assert code == 0
    assert "kind: sharpness" in out and "label: old one" in out
    assert "the plug-in kind 'sharpness'" in err and "needs plug-ins for: sharpness" in err
    assert told("convert", "old.yaml", "--out", "new.yaml")[0] == 0
    assert (here / "new.yaml").read_text() == out
    assert told("convert", "old.yaml", "--out", "new.yaml")[0] == 2
    assert json.loads(told("convert", "old.yaml", "--json")[1])["plugin_kinds"] == ["sharpness"]


def test_where_there_is_no_folder_of_rubrics_those_here_are_meant(here: Path, told: Any) -> None:
    (here / "rubrics/odd.yaml").rename(here / "odd.yaml")
    (here / "rubrics").rmdir()
    (here / "other.yaml").write_text("no: rubric\n")

    assert json.loads(told("list", "--json")[1])["rubrics"][0]["file"] == "odd.yaml"
    assert told("show", "odd")[0] == 0
    assert told("disable", "odd")[0] == 0 and "enabled: false" in (here / "odd.yaml").read_text()


def test_the_schema_for_editors_may_lie_beside_the_rubrics(here: Path, told: Any) -> None:
    shutil.copy(ROOT / "schema/rubric.schema.json", here / "rubrics/rubric.schema.json")

    code, out, err = told("list", "--json")

    assert (code, err) == (0, "")
    assert json.loads(out)["rubrics"][0]["ref"] == "rubric/odd@1.0"


def benchmark(here: Path, version: str, rubric: str, answers: list[str], metadata: str = "{}") -> Path:
    """A run of as many questions as there are answers, graded by the rubric odd of that version."""
    folder = here / f"bench-{version}"
    (folder / "rubrics").mkdir(parents=True)
    (folder / "rubrics/odd.yaml").write_text(rubric.replace('"1.0"', f'"{version}"'))
    questions = "".join(
        f"  - {{id: q{n}, input: Say yes., rubric_ref: rubric/odd@{version}, graders: [rubric_checks],\n"
        f"     metadata: {metadata}}}\n"
        for n in range(len(answers))
    )
    (folder / "benchmark.yaml").write_text(f'id: talk\nversion: "1.0"\nquestions:\n{questions}')
    lines = [
        json.dumps({"instance_id": f"q{n}", "model_patch": "", "response": a}) for n, a in enumerate(answers)
    ]
    (folder / "answers.jsonl").write_text("\n".join(lines) + "\n")
    out = here / f"run-{version}"
    agent = f"predictions:{folder / 'answers.jsonl'}"
    code = finish(build(), ["run", str(folder), "--agent", agent, "--out", str(out), "--json"])
    assert code in (0, 1)
    return out


TWO = ODD.replace("scoring:", '  - {kind: must_not_contain, id: calm, values: ["!"]}\nscoring:').replace(
    "weights: {says: 1}", "weights: {says: 0.8, calm: 0.2}"
)


def test_a_threshold_is_proposed_from_stored_runs(here: Path, told: Any) -> None:
    run = benchmark(here, "1.0", TWO, ["yes"] * 30 + ["yes!"] * 6 + ["no"] * 4)
    told("list")

    code, out, err = told("calibrate", "odd@1.0", run, "--rubrics", here / "bench-1.0/rubrics", "--json")

    found = json.loads(out)
    assert (code, err) == (0, "")
    assert (found["sample_size"], found["passed"], found["current_threshold"]) == (40, 36, 0.5)
    assert found["proposed_threshold"] == 0.74  # a place of 3.9: nine tenths of the way from 0.2 to 0.8
    assert found["passing_at_proposed"] == 36
    assert found["histogram"] == [0, 0, 4, 0, 0, 0, 0, 0, 6, 30]
    rates = {check["id"]: check["rate"] for check in found["checks"]}
    assert rates == {"says": 0.9, "calm": 34 / 40}


def test_a_small_sample_is_warned_of_and_shown_to_people(here: Path, told: Any) -> None:
    run = benchmark(here, "1.0", TWO, ["yes", "no", "yes!"])
    told("list")

    code, out, err = told("calibrate", "rubric/odd@1.0", run)

    assert code == 0
    assert "3 scores are fewer than 30" in err
    assert "says: passed 2 of 3 (67%)" in out and "proposed threshold: 0.32 (10th percentile" in out


def test_what_moved_since_the_version_before_is_told(here: Path, told: Any) -> None:
    before = benchmark(here, "1.0", TWO, ["yes"] * 38 + ["no"] * 2)
    heavier = TWO.replace("says: 0.8, calm: 0.2", "says: 0.5, calm: 0.5")
    after = benchmark(here, "1.1", heavier, ["yes"] * 20 + ["no"] * 20)
    told("list")
    for version in ("1.0", "1.1"):
        (here / f"bench-{version}/rubrics/odd.yaml").unlink()  # the runs have kept what they applied

    code, _, err = told("calibrate", "odd@1.1", before, after)

    assert code == 0
    assert "since rubric/odd@1.0: says went from 80% to 50% of the weight" in err
    assert "since rubric/odd@1.0: says: the pass rate went from 95% to 50%" in err


def test_two_texts_under_one_version_are_told(here: Path, told: Any) -> None:
    first = benchmark(here, "1.0", TWO, ["yes"] * 2)
    first.rename(here / "first")
    shutil.rmtree(here / "bench-1.0")
    second = benchmark(here, "1.0", TWO.replace("says: 0.8", "says: 0.5").replace("[yes]", "[aye]"), ["yes"])
    told("list")

    code, out, _ = told("calibrate", "odd@1.0", here / "first", second, "--json")

    (warning,) = (w for w in json.loads(out)["warnings"] if "different texts" in w)
    assert code == 0
    assert f"first and {second} applied different texts of rubric/odd@1.0" in warning
    assert "says went from 80% to 71% of the weight" in warning


def test_a_checks_scores_are_shown_by_tenths(here: Path, told: Any) -> None:
    close = "{kind: target_match, id: says, mode: chrf, threshold: 0.5, reference_path: metadata.a}"
    part = ODD.replace('{kind: must_contain_any,   id: says, values: ["yes"]}', close)
    run = benchmark(here, "1.0", part, ["yes"], metadata="{a: yes indeed}")
    told("list")

    code, out, _ = told("calibrate", "odd@1.0", run, "--json")

    (check,) = json.loads(out)["checks"]
    assert (code, sum(check["histogram"])) == (0, 1)
    assert ", by tenths 0 0 " in told("calibrate", "odd@1.0", run)[1]


def test_a_run_that_is_named_twice_counts_once(here: Path, told: Any) -> None:
    run = benchmark(here, "1.0", TWO, ["yes", "no"])
    (here / "LATEST").symlink_to(run.name)
    (here / "index.sqlite").write_text("")
    told("list")

    code, out, _ = told("calibrate", "odd", run, here / "LATEST", here / "index.sqlite", "--json")

    assert code == 0
    assert (json.loads(out)["rubric"], json.loads(out)["sample_size"]) == ("rubric/odd@1.0", 2)


def test_what_was_forgotten_is_asked_for(here: Path, told: Any) -> None:
    run = benchmark(here, "1.0", TWO, ["yes"])
    told("list")

    assert "proctor rubric calibrate odd runs/*" in told("calibrate", "odd")[2]
    assert f"{run} is a run; name the rubric before the runs: they hold odd@1.0" in told("calibrate", run)[2]


def test_without_a_score_there_is_nothing_to_calibrate_on(here: Path, told: Any) -> None:
    run = benchmark(here, "1.0", TWO, ["yes"])
    told("list")

    code, _, err = told("calibrate", "other@1.0", run)
    assert code == 2 and "has no scored trial" in err and "they hold odd@1.0" in err
    assert told("calibrate", "odd@1.0", here)[0] == 2
