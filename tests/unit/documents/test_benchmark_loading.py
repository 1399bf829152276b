"""Benchmarks and configuration: defaults, units, files beside the document, references between documents."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from orchestrator.documents.benchmark import Benchmark, PathSource
from orchestrator.errors import AuthoringError
from orchestrator.loading import (
    check_references,
    lint_references,
    load_benchmark,
    load_config,
    load_task,
    parse_rubric,
)
from orchestrator.rubrics import RubricStore

HEAD = 'id: demo\nversion: "1.0"\n'
ROOM = "    environment: {host: true}\n"


def write(folder: Path, text: str, name: str = "benchmark.yaml") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def load(folder: Path, text: str) -> Benchmark:
    write(folder, text)
    return load_benchmark(folder)


def refused(folder: Path, text: str) -> str:
    with pytest.raises(AuthoringError) as caught:
        load(folder, text)
    return str(caught.value)


def test_defaults_merge_one_level_deep_and_lists_are_replaced(tmp_path: Path) -> None:
    text = HEAD + (
        "defaults:\n"
        "  environment: {host: true}\n"
        "  env: {A: x, B: x}\n"
        "  protected: [a, b]\n"
        "  limits: {memory: 512M, agent_time: 10m}\n"
        "  metadata: {deep: {one: 1}}\n"
        "tasks:\n"
        "  - id: plain\n"
        "  - id: own\n"
        "    environment: {image: debian}\n"
        "    env: {B: y}\n"
        "    protected: [c]\n"
        "    limits: {memory: 1G}\n"
        "    metadata: {deep: {two: 2}}\n"
    )

    plain, own = load(tmp_path, text).tasks

    assert (plain.env, plain.protected, plain.limits.memory) == ({"A": "x", "B": "x"}, ("a", "b"), 512 << 20)
    assert own.environment and (own.environment.image, own.environment.host) == ("debian", False)
    assert own.env == {"A": "x", "B": "y"}
    assert own.protected == ("c",)
    assert (own.limits.memory, own.limits.agent_time) == (1 << 30, 600)
    assert own.metadata == {"deep": {"two": 2}}


def test_questions_is_another_word_for_tasks(tmp_path: Path) -> None:
    benchmark = load(tmp_path, HEAD + "questions:\n  - id: Q01\n    input: Hello?\n")

    assert [task.id for task in benchmark.tasks] == ["Q01"]
    assert not benchmark.tasks[0].has_environment
    assert benchmark.root == tmp_path


def test_a_mistake_in_the_defaults_is_named_once_and_at_its_own_line(tmp_path: Path) -> None:
    text = (
        HEAD
        + "defaults:\n  environment: {host: true}\n  fix_patch: gone.patch\ntasks:\n  - id: a\n  - id: b\n"
    )

    assert refused(tmp_path, text).splitlines() == [
        f"{tmp_path}/benchmark.yaml:5: defaults.fix_patch: there is no gone.patch; "
        "paths are relative to the benchmark's folder"
    ]


def test_files_beside_the_benchmark_are_found_and_kept_relative(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    for name in ("fix.patch", "hidden.py"):
        (tmp_path / name).write_text("")
    text = (
        HEAD
        + f"tasks:\n  - id: a\n{ROOM}"
        + (
            "    source: {kind: path, path: repo}\n"
            "    setup: revert_fix\n"
            "    fix_patch: fix.patch\n"
            "    hidden_files: {tests/hidden.py: hidden.py}\n"
        )
    )

    (task,) = load(tmp_path, text).tasks

    assert task.source == PathSource(kind="path", path="repo")
    assert task.fix_patch == "fix.patch"


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("memory: 512", "less than the 6M of memory that a room needs"),
        ("disk: 3M", "less than the 4M of disk that a room needs"),
        ("cpus: 0.001", "0.001 is less than 0.01; write 0.01 or more"),
        ("cpus: 1e-03", "write the plain number 0.001, without quotes"),
        ("pids: 99999999", "99999999 is more than 4194304"),
    ],
)
def test_a_limit_that_no_room_can_have_is_the_authors(tmp_path: Path, limit: str, said: str) -> None:
    task = f"tasks:\n  - id: a\n{ROOM}    limits: {{{limit}}}\n"

    message = refused(tmp_path, HEAD + task)

    assert said in message


def test_a_link_cannot_lead_out_of_the_benchmark(tmp_path: Path) -> None:
    folder = tmp_path / "benchmark"
    folder.mkdir()
    (tmp_path / "secret").write_text("")
    (folder / "fix.patch").symlink_to("../secret")

    message = refused(folder, HEAD + f"tasks:\n  - id: a\n{ROOM}    fix_patch: fix.patch\n")

    assert "fix.patch leads out of the benchmark's folder" in message


def test_a_folder_is_no_patch_and_a_file_no_source(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "file").write_text("")
    source = "    source: {kind: path, path: file}\n"

    message = refused(tmp_path, HEAD + f"tasks:\n  - id: a\n{ROOM}    fix_patch: dir\n{source}")

    assert "fix_patch: dir is not a file" in message
    assert "source.path: file is not a folder" in message


def test_a_dockerfile_folder_needs_its_dockerfile(tmp_path: Path) -> None:
    (tmp_path / "image").mkdir()
    text = HEAD + "tasks:\n  - id: a\n    environment: {dockerfile: image}\n"

    assert "there is no Dockerfile in image" in refused(tmp_path, text)
    (tmp_path / "image" / "Dockerfile").write_text("FROM scratch\n")
    assert load(tmp_path, text)


@pytest.mark.parametrize("url", ["https://example.invalid/a.git", "git@example.invalid:a.git", "/srv/a.git"])
def test_a_remote_or_absolute_repository_is_not_looked_for(tmp_path: Path, url: str) -> None:
    text = HEAD + f"tasks:\n  - id: a\n{ROOM}    source: {{kind: git, url: '{url}', ref: main}}\n"

    assert load(tmp_path, text)
    assert "there is no" in refused(tmp_path, text.replace(url, "repos/a"))


def test_a_folder_without_a_benchmark_and_one_that_is_not_there_say_so(tmp_path: Path) -> None:
    with pytest.raises(AuthoringError, match=r"there is no benchmark\.yaml in this folder"):
        load_benchmark(tmp_path)
    with pytest.raises(AuthoringError, match="there is no such file"):
        load_benchmark(tmp_path / "gone")


def test_where_a_task_stands_is_no_part_of_what_it_is(tmp_path: Path) -> None:
    benchmark = load(tmp_path, HEAD + "tasks:\n  - id: a\n")

    assert benchmark.tasks[0].line == 4
    assert "line" not in benchmark.tasks[0].model_dump()
    assert "file" not in benchmark.model_dump()


def test_500_tasks_with_long_test_lists_load_in_two_seconds(tmp_path: Path) -> None:
    tests = "".join(f"    - tests/test_a.py::test_{n}\n" for n in range(200))
    tasks = "".join(f"- id: t{n}\n  expected:\n    pass_to_pass:\n{tests}" for n in range(500))
    write(tmp_path, HEAD + "tasks:\n" + tasks)
    began = time.process_time()

    assert len(load_benchmark(tmp_path).tasks) == 500
    assert time.process_time() - began < 2


def test_a_task_alone_is_context_for_a_text_check(tmp_path: Path) -> None:
    file = write(tmp_path, "id: a\ninput: Hi\nexpected: {references: [Hello]}\n", "task.yaml")

    assert load_task(file).expected == {"references": ["Hello"]}
    with pytest.raises(AuthoringError, match="was read as false"):
        load_task(write(tmp_path, "id: a\nexpected: {references: [no]}\n", "task.yaml"))


def test_profiles_are_read_from_proctor_yaml_and_absent_means_none(tmp_path: Path) -> None:
    assert load_config(tmp_path).profiles == {}
    (tmp_path / "php").mkdir()
    (tmp_path / "php" / "Dockerfile").write_text("FROM scratch\n")
    text = (
        "profiles:\n  php82:\n    environment: {dockerfile: php}\n    limits: {memory: 2G, oracle_time: 5m}\n"
    )
    write(tmp_path, text, "proctor.yaml")

    profile = load_config(tmp_path).profiles["php82"]

    assert profile.environment.dockerfile == str(tmp_path / "php")
    assert (profile.limits.memory, profile.limits.oracle_time) == (2 << 30, 300)


def test_a_wrong_configuration_is_named_whole(tmp_path: Path) -> None:
    text = "profile: {}\nprofiles:\n  a: {limits: {memory: lots}}\n  b: {environment: {dockerfile: gone}}\n"
    file = write(tmp_path, text, "proctor.yaml")

    with pytest.raises(AuthoringError) as caught:
        load_config(file)

    assert [(p.line, p.path) for p in caught.value.problems] == [
        (1, "profile"),
        (3, "profiles.a"),
        (3, "profiles.a.limits.memory"),
        (4, "profiles.b.environment.dockerfile"),
    ]


def test_an_empty_configuration_is_none_and_a_missing_one_an_error(tmp_path: Path) -> None:
    assert load_config(write(tmp_path, "# nothing yet\n", "proctor.yaml")).profiles == {}
    with pytest.raises(AuthoringError, match="there is no such file"):
        load_config(tmp_path / "other.yaml")


def store(*checks: str, bundles: str = "[]", inner: str = "") -> RubricStore:
    listed = "".join(f"  - {check}\n" for check in checks)
    head = 'id: r\nversion: "1.0"\nscoring: {combine: all_pass}\n'
    text = f"{head}applicable_bundles: {bundles}\nchecks:\n{listed}"
    rubrics = [parse_rubric(text)]
    if inner:
        head = 'id: inner\nversion: "1.0"\nscoring: {combine: all_pass}\n'
        rubrics.append(parse_rubric(f"{head}checks:\n  - {inner}\n"))
    return RubricStore(rubrics)


def one_task(folder: Path, more: str = "") -> Benchmark:
    return load(folder, HEAD + f"tasks:\n  - id: a\n{ROOM}    rubric_ref: rubric/r@1.0\n{more}")


def test_a_check_that_asks_for_another_setup_is_an_authoring_error(tmp_path: Path) -> None:
    rubrics = store("{kind: command, command: make, setup: revert_fix}")

    (problem,) = check_references(one_task(tmp_path), rubrics)

    assert (problem.file, problem.line, problem.path) == (f"{tmp_path}/benchmark.yaml", 4, "task a")
    assert problem.message == "rubric/r@1.0 checks[0] wants setup revert_fix, but the task's is none"


def test_a_check_inside_a_composite_is_looked_at_too(tmp_path: Path) -> None:
    rubrics = store(
        "{kind: composite, rubric_ref: rubric/inner@1.0}",
        "{kind: composite, rubric_ref: rubric/r@1.0}",
        inner="{kind: command, command: make, sandbox: php83}",
    )
    write(tmp_path, "profiles: {php82: {environment: {host: true}}}\n", "proctor.yaml")

    (problem,) = check_references(one_task(tmp_path), rubrics, load_config(tmp_path))

    assert 'rubric/inner@1.0 checks[0] wants the sandbox "php83"' in str(problem)
    assert 'did you mean "php82"?' in str(problem)


def test_ddev_and_known_profiles_need_nothing_more(tmp_path: Path) -> None:
    write(tmp_path, "profiles: {php82: {environment: {host: true}}}\n", "proctor.yaml")
    rubrics = store(
        "{kind: command, command: make, sandbox: ddev}", "{kind: command, command: make, sandbox: php82}"
    )

    assert check_references(one_task(tmp_path), rubrics, load_config(tmp_path)) == []


def test_a_tool_that_is_not_installed_is_named_when_the_tools_are_known(tmp_path: Path) -> None:
    rubrics = store("{kind: score_delta, tool: audit, min_delta: 1}")

    assert check_references(one_task(tmp_path), rubrics) == []
    (problem,) = check_references(one_task(tmp_path), rubrics, tools=["phpcs"])
    assert 'wants the tool "audit", which is not installed; known: phpcs' in str(problem)


def test_a_ref_that_names_nothing_stops_validate_but_not_a_run(tmp_path: Path) -> None:
    benchmark = load(tmp_path, HEAD + "tasks:\n  - id: a\n    rubric_ref: rubric/r@2.0\n")
    rubrics = store("{kind: must_contain_any, values: [x]}")

    assert check_references(benchmark, rubrics) == []
    (error,) = lint_references(benchmark, rubrics).errors
    assert "rubric/r@2.0 is not there or is disabled" in str(error)
    assert "there is r in version 1.0" in str(error)


def test_a_rubric_for_another_bundle_is_a_warning(tmp_path: Path) -> None:
    rubrics = store("{kind: must_contain_any, values: [x]}", bundles="[php]")

    (warning,) = lint_references(one_task(tmp_path), rubrics).warnings

    assert "rubric/r@1.0 is for php, not for no bundle" in str(warning)
