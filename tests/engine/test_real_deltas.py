"""The figures of real packages, old release against new, come out as they were measured by hand."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analyzers.source import code_lines
from orchestrator.tasks.clients import HOST
from orchestrator.tasks.releases import ECOSYSTEMS
from sandboxes.images.debian import sources_for

pytestmark = [pytest.mark.network, pytest.mark.oci]
PAIRS = json.loads((Path(__file__).parents[1] / "data/oracles/real/debian_pairs.json").read_text())
SUITES = ("bookworm", "trixie")
LOOSE = [word for name in ("parse", "code_lines", "deletions", "suppressions") for word in ("--allow", name)]
"""Releases may do what a change to be graded may not; these tests are about the figures."""


@pytest.fixture(scope="module")
def debs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every package's unpacked files by "name_version", by way of package lists of our own."""
    home = tmp_path_factory.mktemp("debs")
    for number, suite in enumerate(SUITES):
        wanted = [f"{pair['package']}={pair['versions'][number]}" for pair in PAIRS]
        _apt(home / suite, suite, "update")
        _apt(home / suite, suite, "download", *wanted)
    found = {}
    for pair in PAIRS:
        for suite, version, sha256 in zip(SUITES, pair["versions"], pair["sha256"], strict=True):
            name = f"{pair['package']}_{version}"
            deb = home / suite / f"{name}_all.deb"
            assert hashlib.sha256(deb.read_bytes()).hexdigest() == sha256, f"{name} is another file by now"
            subprocess.run(["dpkg", "-x", deb, home / name], check=True)
            found[name] = home / name
    return found


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair["package"])
def test_phpcs_on_two_releases_of_a_debian_package(pair: Any, debs: dict[str, Path]) -> None:
    old, new = (debs[f"{pair['package']}_{version}"] for version in pair["versions"])

    # As measured: what comments suppress stays suppressed, and renamed files are not followed.
    delta = _delta(old, new, "--tool", "phpcs", "--no-renames", "--option", "annotations=obey", *LOOSE)

    counts = [delta["counts"][side] for side in ("before", "after")]
    assert [[c["errors"], c["warnings"]] for c in counts] == pair["errors_warnings"]
    assert [c["fixable"] for c in counts] == pair["fixable"]
    assert [delta["fixed"] + delta["gone"], delta["introduced"]] == pair["by_content"]
    assert delta["before"] - delta["fixed"] - delta["gone"] + delta["introduced"] == delta["after"]
    assert _by_line(delta["findings"]) == pair["by_line"]
    lines = [_code_lines(folder) for folder in (old, new)]
    assert lines == pair["code_lines"]
    totals = (delta["before"], delta["after"])
    assert [round(1000 * n / k, 2) for n, k in zip(totals, lines, strict=True)] == pair["per_kloc"]


@pytest.mark.parametrize("pair", [p for p in PAIRS if "phpmd" in p], ids=lambda pair: pair["package"])
def test_phpmd_on_two_releases_of_a_debian_package(pair: Any, debs: dict[str, Path]) -> None:
    old, new = (debs[f"{pair['package']}_{version}"] for version in pair["versions"])

    delta = _delta(old, new, "--tool", "phpmd", "--option", "annotations=obey", *LOOSE)

    assert [delta["before"], delta["after"]] == pair["phpmd"]


def _by_line(findings: Sequence[Any]) -> list[int]:
    """[fixed, new] when the line's number is the identity: what others report."""
    old = Counter(_place(f.get("was", f), f["rule"]) for f in findings if f["state"] != "introduced")
    new = Counter(_place(f, f["rule"]) for f in findings if f["state"] in ("introduced", "unchanged"))
    return [(old - new).total(), (new - old).total()]


def _place(where: Any, rule: str) -> tuple[str, str, int]:
    return rule, where["path"], where["line"]


def _code_lines(folder: Path) -> int:
    files = (f for f in folder.rglob("*.php") if f.is_file() and not f.is_symlink())
    return sum(code_lines(file.name, file.read_bytes()) for file in files)


SDISTS = {
    "requests": [("2.20.0", "requests", "99dcfdaa"), ("2.32.3", "src/requests", "55365417")],
    "tabulate": [("0.8.9", "tabulate.py", "eb1d13f2"), ("0.9.0", "tabulate", "0095b12b")],
    "itsdangerous": [("1.1.0", "src/itsdangerous", "321b033d"), ("2.2.0", "src/itsdangerous", "e0050c0b")],
}
RUFF = ["ruff==0.17.6"]
BANDIT = ["bandit==1.9.4", "markdown-it-py==4.0.0", "mdurl==0.1.2", "Pygments==2.19.2", "PyYAML==6.0.3",
          "rich==14.2.0", "stevedore==5.5.0"]  # fmt: skip
RADON = ["radon==6.0.1", "colorama==0.4.6", "mando==0.7.1", "six==1.17.0"]
BESIDE = ["urllib3==2.8.0", "certifi==2026.10.19.post1", "charset-normalizer==3.5.3", "idna==3.20"]
"""pylint and mypy look at what is installed. The figures were taken where these were: without them requests
2.20.0 has one pylint error and two mypy errors less, requests 2.32.3 eleven mypy errors less; without
typing_extensions itsdangerous 2.2.0 has three pylint warnings less and a convention more."""
PYLINT = ["pylint==4.1.4", "astroid==4.3.4", "dill==0.4.1", "isort==9.0.2", "mypy_extensions==1.1.0",
          "mccabe==0.7.0", "platformdirs==4.14.9", "tomlkit==0.15.2", "typing_extensions==4.16.0",
          *BESIDE]  # fmt: skip
MYPY = ["mypy==2.4.1", "mypy_extensions==1.2.0", "typing_extensions==4.16.0", "pathspec==1.1.1", *BESIDE,
        "librt==0.17.0", "ast_serialize==0.13.1"]  # fmt: skip
OBEY = ["--option", "annotations=obey"]
PYTHON = [
    ("ruff", RUFF, OBEY, "requests", [179, 159]),
    ("ruff", RUFF, OBEY, "tabulate", [33, 51]),
    ("ruff", RUFF, OBEY, "itsdangerous", [30, 0]),
    ("bandit", BANDIT, OBEY, "requests", [11, 9]),
    ("bandit", BANDIT, OBEY, "tabulate", [1, 1]),
    ("bandit", BANDIT, OBEY, "itsdangerous", [0, 2]),
    ("mypy", MYPY, [], "requests", [32, 22]),
    ("mypy", MYPY, [], "tabulate", [2, 0]),
    ("mypy", MYPY, [], "itsdangerous", [0, 0]),
]
MESSAGES = {
    "requests": [([36, 119, 71, 150], 7.52), ([18, 115, 52, 98], 8.38)],
    "tabulate": [([4, 21, 43, 32], 8.08), ([0, 21, 56, 28], 8.68)],
    "itsdangerous": [([3, 18, 17, 29], 8.49), ([0, 9, 14, 37], 8.67)],
}
COMPLEXITY = {
    "requests": [(266, 3.31), (277, 3.28)],
    "tabulate": [(55, 5.73), (69, 6.14)],
    "itsdangerous": [(82, 2.35), (80, 2.17)],
}


@pytest.fixture(scope="module")
def sdists(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """The package's own source of both releases of each."""
    home = tmp_path_factory.mktemp("sdists")
    found: dict[str, list[Path]] = {}
    for name, releases in SDISTS.items():
        for version, inside, sha256 in releases:
            archive = home / f"{name}-{version}.tar.gz"
            ECOSYSTEMS["pypi"](name, version, archive, HOST)
            assert hashlib.sha256(archive.read_bytes()).hexdigest().startswith(sha256)
            with tarfile.open(archive) as tar:
                tar.extractall(home / "all", filter="data")
            folder = home / "only" / f"{name}-{version}"
            folder.mkdir(parents=True)
            (home / "all" / f"{name}-{version}" / inside).rename(folder / Path(inside).name)
            found.setdefault(name, []).append(folder)
    return found


@pytest.mark.parametrize(("tool", "packages", "options", "name", "totals"), PYTHON)
def test_python_tools_on_two_releases_of_a_package(
    tool: str, packages: list[str], options: list[str], name: str, totals: list[int], sdists: Any
) -> None:
    delta = _delta(*sdists[name], "--tool", tool, *_pip(packages), *options, *LOOSE)

    assert [delta["before"], delta["after"]] == totals


@pytest.mark.parametrize("name", MESSAGES)
def test_pylint_on_two_releases_of_a_package(name: str, sdists: Any) -> None:
    counted = _delta(*sdists[name], "--tool", "pylint", *_pip(PYLINT), *LOOSE)
    marked = _delta(*sdists[name], "--tool", "pylint", *_pip(PYLINT), "--option", "value=score", *LOOSE)

    kinds = ("errors", "warnings", "refactor", "convention")
    counts = [[counted["counts"][side].get(kind, 0) for kind in kinds] for side in ("before", "after")]
    marks = [round(marked[side], 2) for side in ("before", "after")]
    assert list(zip(counts, marks, strict=True)) == MESSAGES[name]


@pytest.mark.parametrize("name", COMPLEXITY)
def test_radon_on_two_releases_of_a_package(name: str, sdists: Any) -> None:
    delta = _delta(*sdists[name], "--tool", "radon", *_pip(RADON), *LOOSE)

    counts = [delta["counts"][side] for side in ("before", "after")]
    seen = [(c["blocks"], c["complexity"] / c["blocks"]) for c in counts]
    assert [(blocks, round(mean - 1e-9, 2)) for blocks, mean in seen] == COMPLEXITY[name]


ESLINT = """\
import { createRequire } from "node:module";
const js = createRequire("/opt/deps/node/")("@eslint/js");
export default [js.configs.recommended, { rules: { eqeqeq: "warn" } }];
"""


def test_eslint_on_two_releases_of_a_package(tmp_path: Path) -> None:
    sides = []
    for version in ("1.8.3", "1.13.6"):
        archive = tmp_path / f"underscore-{version}.tgz"
        ECOSYSTEMS["npm"]("underscore", version, archive)
        with tarfile.open(archive) as tar:
            tar.extractall(tmp_path / "all" / version, filter="data")
        sides.append(tmp_path / version)
        sides[-1].mkdir()
        (tmp_path / "all" / version / "package/underscore.js").rename(sides[-1] / "underscore.js")

    packages = ("--npm", "eslint@10.15.0", "--npm", "@eslint/js@10.0.1")
    delta = _delta(*sides, "--tool", "eslint", *packages, "--option", f"config={ESLINT}", *LOOSE)

    counts = [delta["counts"][side] for side in ("before", "after")]
    assert [(c["errors"], c["warnings"]) for c in counts] == [(14, 37), (20, 59)]


def _pip(packages: list[str]) -> list[str]:
    return [word for package in packages for word in ("--pip", package)]


def _delta(*words: Any) -> Any:
    program = "from orchestrator.cli import main; raise SystemExit(main())"
    command = [sys.executable, "-c", program, "delta", *map(str, words), "--json"]
    done = subprocess.run(command, capture_output=True, env=os.environ, timeout=900)
    assert done.returncode in (0, 1), done.stderr.decode()[-2000:]
    return json.loads(done.stdout)


def _apt(home: Path, suite: str, *words: str) -> None:
    for folder in ("lists/partial", "cache/archives/partial", "sources"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    (home / "sources/own.sources").write_text(sources_for(suite, Path("/etc/apt")))
    settings = {
        "Dir::State": home,
        "Dir::State::Lists": home / "lists",
        "Dir::State::status": "/dev/null",
        "Dir::Cache": home / "cache",
        "Dir::Etc::SourceList": "/dev/null",
        "Dir::Etc::SourceParts": home / "sources",
        "APT::Sandbox::User": "root",
    }
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    done = subprocess.run(["apt-get", "-q", *options, *words], cwd=home, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-1000:]
