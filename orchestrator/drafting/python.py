"""Python projects: pytest or unittest, and the wheels their tests need."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterable
from dataclasses import replace

from packaging.utils import canonicalize_name

from orchestrator.drafting import imports, pins
from orchestrator.drafting.origin import Pair
from orchestrator.drafting.sketch import Sketch
from orchestrator.drafting.split import Split, folders_of_tests
from orchestrator.drafting.wanted import Releases
from orchestrator.errors import AuthoringError

PYTEST = "python3 -m pytest -q -p no:cacheprovider"
FIXTURES = {"mocker": "pytest-mock", "benchmark": "pytest-benchmark", "subtests": "pytest-subtests"}
WORKDIR = "/workspace"


class PythonProject:
    """One pair's tests. Keeps what it has learnt of the packages that are needed."""

    def __init__(self, pair: Pair, split: Split, resolver: pins.Resolver) -> None:
        self._pair = pair
        self._resolver = resolver
        self._split = split
        self._texts = [pair.text(path) for path in split.tests if path.endswith(".py")]
        self._own = _own_modules(pair.files)
        self._extra: set[str] = set()
        self._runner = "pytest<9"
        self._others = ["pytest", "pytest<8", "pytest<7"]
        self._declared: dict[str, str] = {}
        self._base: list[str] | None = None

    def first(self) -> Sketch:
        plain = all(_plain_unittest(text) for text in self._texts) and self._folder_is_enough()
        command = self._unittest() if plain else self._pytest(self._targets())
        source = "src" if any(path.startswith("src/") for path in self._split.swap) else ""
        path = f"{WORKDIR}/{source}".rstrip("/")
        self._extra |= imports.plugins(self._texts)
        try:
            found = self._pins([] if plain else [self._runner])
        except AuthoringError:
            self._runner = self._others.pop(0)  # it asks for a pytest of its own
            found = self._pins([] if plain else [self._runner])
        return Sketch(command, {"PYTHONPATH": path}, {"pip": found})

    def mended(self, sketch: Sketch, output: str, end: str) -> Sketch | None:
        if end == "limit_hit:time":
            return self._narrower(sketch)
        if sketch.command.startswith("python3 -m unittest"):
            return Sketch(self._pytest(self._targets()), sketch.env, {"pip": self._pins([self._runner])})
        wanted = {imports.distribution(m) for m in imports.missing(output) - self._own}
        wanted |= {FIXTURES[f] for f in re.findall(r"fixture '(\w+)' not found", output) if f in FIXTURES}
        if wanted - self._extra:
            self._extra |= wanted
            return replace(sketch, dependencies={"pip": self._pins([self._runner])})
        if _OTHER_PYTEST.search(output) and self._others:
            self._runner = self._others.pop(0)
            return replace(sketch, dependencies={"pip": self._pins([self._runner])})
        for symptom, option in ((r"unrecognized arguments|error: argument", "-o addopts="), _BROKEN_FILES):
            if re.search(symptom, output) and option not in sketch.command:
                return replace(sketch, command=sketch.command.replace(PYTEST, f"{PYTEST} {option}", 1))
        return None

    def _pins(self, runner: Iterable[str]) -> tuple[str, ...]:
        """Exact versions of what the project, its tests and their runner need."""
        if self._base is None:
            self._base, self._declared = self._requirements()
        foreign = imports.foreign(self._texts, self._own)
        foreign |= {m for m in self._imported_by_source() if self._is_declared(m)}
        named = {imports.distribution(module) for module in foreign} | self._extra
        wanted = [*self._base, *runner, *(self._declared.get(canonicalize_name(n), n) for n in named)]
        return pins.without(self._resolver.pip(wanted).pins, self._pair.wanted.name) if wanted else ()

    def _requirements(self) -> tuple[list[str], dict[str, str]]:
        """What the package itself requires, and all it declares, for its extras, too."""
        wanted = self._pair.wanted
        if isinstance(wanted, Releases):
            itself = itself_of(wanted)
            try:
                found = self._resolver.pip([itself], alone=True).metadata
                return [itself], pins.declared(found.get(canonicalize_name(wanted.package), ()))
            except AuthoringError:
                pass  # no wheel of it: its own words are read instead
        written = _requirements(self._pair)
        declared = pins.declared(written)
        return [declared[n] for n in pins.declared(w for w in written if "extra ==" not in w)], declared

    def _imported_by_source(self) -> set[str]:
        tops = self._split.swap
        source = [p for p in self._pair.files if p.endswith(".py") and p.startswith(tops)]
        return imports.foreign((self._pair.text(path) for path in source[:400]), self._own)

    def _is_declared(self, module: str) -> bool:
        return canonicalize_name(imports.distribution(module)) in self._declared

    def _targets(self) -> tuple[str, ...]:
        return folders_of_tests(path for path in self._split.tests if path.endswith(".py"))

    def _pytest(self, targets: Iterable[str]) -> str:
        return f"{PYTEST} {shlex.join(targets)}"

    def _folder_is_enough(self) -> bool:
        """Whether unittest finds every test below one folder by its usual names."""
        targets = self._targets()
        names = [path.rpartition("/")[2] for path in self._split.tests if path.endswith(".py")]
        return (
            len(targets) == 1 and not targets[0].endswith(".py") and any(n.startswith("test") for n in names)
        )

    def _unittest(self) -> str:
        (folder,) = self._targets()
        top = " -t ." if f"{folder}/__init__.py" in self._pair.files else ""
        return f"python3 -m unittest discover -s {shlex.quote(folder)}{top}"

    def _narrower(self, sketch: Sketch) -> Sketch | None:
        """Only the test files that changed."""
        files = [p for p in self._split.changed_tests if p.endswith(".py") and not p.endswith("__init__.py")]
        files = [path for path in files if not path.endswith("conftest.py")]
        command = self._pytest(files)
        return replace(sketch, command=command) if files and command != sketch.command else None


def itself_of(wanted: Releases) -> str:
    """The mended release, as pip is asked for it."""
    return f"{wanted.package}=={wanted.fixed}"


_OTHER_PYTEST = re.compile(
    r"PluginValidationError|PytestRemovedIn\d+Warning|is not supported anymore|requires pytest-\d"
)
"""What pytest says of test files that were written for another one."""
_BROKEN_FILES = (r"Interrupted: \d+ error", "--continue-on-collection-errors")


def _plain_unittest(text: str) -> bool:
    """Whether unittest alone runs all of a file's tests."""
    if "pytest" in text or re.search(r"^(?:async )?def test", text, re.MULTILINE):
        return False
    return "unittest" in text or not re.search(r"\bdef test", text)


def _own_modules(files: Iterable[str]) -> set[str]:
    """Names that import from the project itself: folders and modules at the top, in src, and among tests."""
    found = set()
    for path in files:
        parts = path.split("/")
        found.add(parts[0].removesuffix(".py"))
        if parts[0] == "src" and len(parts) > 1:
            found.add(parts[1].removesuffix(".py"))
        if any(part in ("tests", "test") for part in parts) and len(parts) > 1:
            found |= {parts[-1].removesuffix(".py"), *parts[:-1]}
    return found


def _requirements(pair: Pair) -> list[str]:
    """Requirement lines of pyproject.toml or PKG-INFO; setup.py would have to be run, and is not."""
    try:
        project = tomllib.loads(pair.text("pyproject.toml")).get("project", {})
    except tomllib.TOMLDecodeError:
        project = {}
    lines = list(project.get("dependencies", ()))
    for extra, more in project.get("optional-dependencies", {}).items():
        lines += (f'{line} ; extra == "{extra}"' for line in more if ";" not in line)
    if lines:
        return lines
    return re.findall(r"^Requires-Dist: (.+)$", pair.text("PKG-INFO"), re.MULTILINE)
