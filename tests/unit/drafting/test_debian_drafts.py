"""A Debian source package becomes the two states of a draft, and its tests a command."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from orchestrator.documents.benchmark import Benchmark, DebianSource, Task
from orchestrator.drafting import draft as drafting
from orchestrator.drafting.origin import Pair
from orchestrator.drafting.php import LOADER, PhpProject
from orchestrator.drafting.pins import Resolver
from orchestrator.drafting.proof import Lists
from orchestrator.drafting.quilt import Quilt
from orchestrator.drafting.split import NATIVE, Split, split
from orchestrator.drafting.unity import UnityProject
from orchestrator.drafting.wanted import Patches, parse
from orchestrator.drafting.writing import Draft
from orchestrator.errors import AuthoringError
from orchestrator.loading import load_benchmark, load_rubric
from orchestrator.tasks.debian import Package
from orchestrator.tasks.place import Place
from orchestrator.worktree.trees import TreeStore

Tree = Callable[[Mapping[str, str]], str]
UNITY = (
    '#include "unity/src/unity.h"\n#include "../m.c"\nint main(void) { UNITY_BEGIN(); return UNITY_END(); }\n'
)
FILES = {
    "m.c": "int one(void) { return 1; }\n",
    "README": "mended\n",
    "tests/other.c": UNITY,
    "tests/t.c": UNITY,
    "tests/unity/src/unity.c": "/* the runner */\n",
}
WORDS = "--- a/README\n+++ b/README\n@@ -1 +1 @@\n-broken\n+mended\n"
SOURCE = "--- a/m.c\n+++ b/m.c\n@@ -1 +1 @@\n-int one(void) { return 2; }\n+int one(void) { return 1; }\n"
WITH_TEST = f"{SOURCE}--- a/tests/t.c\n+++ b/tests/t.c\n@@ -1,2 +1,3 @@\n" + "".join(
    f"{sign}{line}\n" for sign, line in zip("+  ", UNITY.splitlines(), strict=True)
)
STALE = "--- a/m.c\n+++ b/m.c\n@@ -1 +1 @@\n-never\n+was there\n"


@pytest.fixture
def quilt(store: TreeStore, tree: Tree, tmp_path: Path) -> Callable[..., Quilt]:
    """quilt(patches..., named=()) of a package whose patches are all applied."""

    def make(named: tuple[str, ...] = (), **series: str) -> Quilt:
        place = Place(Benchmark(id="d", version="1.0", tasks=(), root=tmp_path), Task(id="d"))
        source = DebianSource(
            kind="debian", package="pp", version="1-1", sha256={"pp_1.orig.tar.xz": "0" * 64}
        )
        held = {name: text.encode() for name, text in series.items()}
        package = Package(tree(FILES), held, "Build-Depends: php-xml\n")
        return Quilt(Patches("p", "1-1", named), source, package, store, place)

    return make


def test_patches_that_bring_tests_are_tried_first_then_the_newest_and_never_those_without_source(
    quilt: Callable[..., Quilt],
) -> None:
    made = quilt(words=WORDS, tested=WITH_TEST, older=SOURCE, newer=SOURCE)

    assert made.candidates == (("tested",), ("newer",), ("older",))
    assert quilt(named=("older", "words"), words=WORDS, older=SOURCE).candidates == (("older", "words"),)


def test_the_faulty_state_lacks_the_patchs_source_and_keeps_its_tests(
    quilt: Callable[..., Quilt], store: TreeStore
) -> None:
    wanted = Patches("p", "1-1", ("tested",))

    pair = quilt(tested=WITH_TEST).pair(wanted)
    parts = split(pair.files, pair.changed, NATIVE)

    assert [d.path for d in store.differences(pair.fixed, pair.broken)] == [b"m.c"]
    assert (parts.source, parts.changed_tests) == (("m.c",), ("tests/t.c",))
    assert pair.source["revert"] == ("tested",)


def test_a_patch_that_cannot_be_taken_out_and_one_that_is_not_there_are_named(
    quilt: Callable[..., Quilt],
) -> None:
    with pytest.raises(AuthoringError, match="the patch stale cannot be taken out"):
        quilt(stale=STALE).pair(Patches("p", "1-1", ("stale",)))
    with pytest.raises(AuthoringError, match="the package has no patch other; it has: stale"):
        quilt(stale=STALE).pair(Patches("p", "1-1", ("other",)))


def test_the_changed_test_program_is_compiled_alone_where_it_includes_the_source(
    quilt: Callable[..., Quilt],
) -> None:
    pair = quilt(tested=WITH_TEST).pair(Patches("p", "1-1", ("tested",)))
    project = UnityProject(pair, split(pair.files, pair.changed, NATIVE))

    sketch = project.first()
    second = project.mended(sketch, "", "exited")

    assert sketch.report == "unity"
    assert " tests/t.c tests/unity/src/unity.c -lm && cd tests && /tmp/unity" in sketch.command
    assert second is not None and " tests/other.c " in second.command
    assert project.mended(second, "", "exited") is None


def test_a_c_package_without_unity_says_what_is_known(
    store: TreeStore, tree: Tree, quilt: Callable[..., Quilt]
) -> None:
    plain = tree({"m.c": "1", "tests/t.c": "int main(void) { return 0; }"})
    pair = Pair(Patches("p", "1"), store, plain, plain, {"suite": "bookworm"})

    with pytest.raises(AuthoringError, match="only Unity's, in C"):
        UnityProject(pair, Split(("m.c",), (), ("tests/t.c",), ("m.c",), ())).first()


PHP = {
    "composer.json": '{"autoload": {"psr-4": {"A\\\\": "src/"}}, '
    '"autoload-dev": {"psr-4": {"A\\\\T\\\\": ["tests"]}}}',
    "src/B.php": "<?php",
    "tests/BTest.php": "<?php",
}


def test_a_php_package_runs_where_debian_builds_it_with_a_loader_of_the_judges(
    store: TreeStore, tree: Tree
) -> None:
    made = tree(PHP)
    control = "Source: a\nBuild-Depends: debhelper (>= 13),\n php-intl,\n phpunit\n\nPackage: php-a\n"
    pair = Pair(Patches("a", "1"), store, made, made, {"suite": "bookworm"}, control)

    sketch = PhpProject(pair, Split(("src/B.php",), (), ("tests/BTest.php",), ("src",), ())).first()

    assert sketch.command == f"phpunit --bootstrap {LOADER} --no-configuration tests"
    assert sketch.debian == ("php-cli", "php-intl", "php-mbstring", "php-xml", "phpunit")
    loader = sketch.own[LOADER]
    assert loader.index(r"'A\\T\\' => '/tests/'") < loader.index(r"'A\\' => '/src/'")


def test_the_documents_of_such_a_draft_load(
    quilt: Callable[..., Quilt], store: TreeStore, tree: Tree, tmp_path: Path
) -> None:
    made = tree(PHP)
    facts = {**quilt(tested=WITH_TEST).pair(Patches("p", "1-1", ("tested",))).source}
    pair = Pair(Patches("a", "1"), store, made, made, facts)
    parts = Split(("src/B.php",), (), ("tests/BTest.php",), ("src",), ())
    sketch = PhpProject(pair, parts).first()
    folder = tmp_path / "out"
    folder.mkdir()

    wanted = parse("debian:package==1-1#tested")
    drafting.write(Draft("b", "p-1-1", wanted, facts, parts, sketch, Lists(("t",), ("u",))), folder)
    (task,) = load_benchmark(folder).tasks
    rubric = load_rubric(folder / "rubrics" / "listed_tests_turn.yaml")

    assert isinstance(task.source, DebianSource) and task.source.revert == ("tested",)
    assert task.environment is not None and task.environment.debian is not None
    assert (folder / task.hidden_files[LOADER]).read_text() == sketch.own[LOADER]
    assert "report" not in rubric.checks[0]


def test_what_was_begun_ahead_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    class Clients:
        def told(self) -> str:
            return ""

        def call(
            self, program: str, words: list[str], folder: Path, *, inside: str = ""
        ) -> subprocess.CompletedProcess[bytes]:
            asked.append(tuple(words[words.index("--") + 1 :]))
            (folder / "report.json").write_text('{"install": [{"metadata": {"name": "A", "version": "1"}}]}')
            return subprocess.CompletedProcess([], 0, b"", b"")

    resolver = Resolver(Clients())
    resolver.begin(["b", "a"], alone=True)

    first, again = resolver.pip(["a", "b"], alone=True), resolver.pip(["b", "a"], alone=True)
    resolver.close()

    assert first == again and first.pins == ("A==1",)
    assert asked == [("a", "b")]
