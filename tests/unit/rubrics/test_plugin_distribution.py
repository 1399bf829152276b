"""A plug-in of somebody else, installed for real and used from the command line (rules 151 to 162)."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.schemas import load

EXAMPLE = Path(__file__).parents[2] / "data/plugins/proctor-word-count"
RUBRIC = """id: summary
version: "1.0.0"
checks:
  - {id: not_a_wall_of_text, kind: word_count, min: 3, max: 5}
  - {id: greets, kind: regex, patterns: [hello], flags: i}
scoring: {combine: all_pass}
"""

Done = subprocess.CompletedProcess[str]


def wheel(source: Path, folder: Path) -> Path:
    """The distribution in `source` as a wheel, from what its pyproject says: no build tool is asked for."""
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    name, version = project["name"].replace("-", "_"), project["version"]
    info = f"{name}-{version}.dist-info"
    entries = "".join(
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in points.items())
        for group, points in project["entry-points"].items()
    )
    files = {
        f"{name}.py": (source / f"{name}.py").read_text(),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": entries,
    }
    listed = "".join(f"{path},sha256={_digest(text)},{len(text.encode())}\n" for path, text in files.items())
    made = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for path, text in {**files, f"{info}/RECORD": f"{listed}{info}/RECORD,,\n"}.items():
            archive.writestr(path, text)
    return made


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages into which pip has installed the example."""
    folder = tmp_path_factory.mktemp("plugin")
    target = folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-cache-dir"]
    asked = [*pip, "--disable-pip-version-check", "--target", str(target), str(wheel(EXAMPLE, folder))]
    subprocess.run(asked, check=True, capture_output=True, text=True)
    return target


@pytest.fixture
def proctor(site: Path, tmp_path: Path) -> Callable[..., Done]:
    """The command in a Python that has the plug-in, or, with `bare`, in one that has not."""

    def call(*arguments: str, bare: bool = False, stdin: str = "") -> Done:
        script = "from orchestrator.cli import main; main()"
        env = {**os.environ, "PROCTOR_HOME": str(tmp_path / "home"), "PYTHONPATH": "" if bare else str(site)}
        argv = [sys.executable, "-c", script, *arguments]
        return subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, input=stdin)

    return call


@pytest.fixture
def rubric(tmp_path: Path) -> str:
    (tmp_path / "summary.yaml").write_text(RUBRIC)
    return "summary.yaml"


def test_pip_installed_it_with_its_entry_point(site: Path) -> None:
    (info,) = site.glob("proctor_word_count-*.dist-info")

    assert "word_count = proctor_word_count:WordCount" in (info / "entry_points.txt").read_text()
    assert (info / "INSTALLER").read_text().strip() == "pip"


def test_its_kind_is_in_the_exported_schema_and_the_core_kind_it_offers_is_not(
    proctor: Callable[..., Done],
) -> None:
    exported = json.loads(proctor("schema", "rubric", "--with-plugins").stdout)
    static = json.loads(proctor("schema", "rubric").stdout)

    assert {"$ref": "#/$defs/check_word_count"} in exported["$defs"]["check"]["oneOf"]
    assert exported["$defs"]["check_word_count"]["unevaluatedProperties"] is False
    assert exported["$defs"]["check_regex"] == static["$defs"]["check_regex"]
    assert static == load("rubric")


def test_check_executes_its_kind_and_regex_stays_the_cores(proctor: Callable[..., Done], rubric: str) -> None:
    good = proctor("check", rubric, "--response", "-", "--json", stdin="Hello to all of you")
    long = proctor("check", rubric, "--response", "-", "--json", stdin="hello, this text has too many words")
    rude = proctor("check", rubric, "--response", "-", "--json", stdin="go away now")

    assert (good.returncode, long.returncode, rude.returncode) == (0, 1, 1)
    outcomes = json.loads(long.stdout)["outcomes"]
    assert [(o["kind"], o["passed"]) for o in outcomes] == [("word_count", False), ("regex", True)]
    assert outcomes[0]["reason"] == "7 words, more than 5"
    assert "no match" in json.loads(rude.stdout)["outcomes"][1]["reason"]


def test_a_typo_in_its_kind_is_refused_like_any_other(proctor: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "typo.yaml").write_text(RUBRIC.replace("min: 3", "minimum: 3"))

    done = proctor("rubric", "lint", "typo.yaml")

    assert done.returncode == 2 and "minimum" in done.stderr


def test_without_it_the_kind_is_unknown(proctor: Callable[..., Done], rubric: str) -> None:
    done = proctor("check", rubric, "--response", "-", bare=True, stdin="x")

    assert done.returncode == 2 and 'unknown kind "word_count"' in done.stderr


def test_a_rubric_with_its_kind_is_retired_without_it_and_keeps_every_byte(
    proctor: Callable[..., Done], rubric: str, tmp_path: Path
) -> None:
    assert proctor("rubric", "disable", rubric, bare=True).returncode == 0

    text = (tmp_path / rubric).read_text()
    assert text == RUBRIC.replace('"1.0.0"\n', '"1.0.0"\nenabled: false\n')
