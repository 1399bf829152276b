"""C packages of Debian whose tests are programs of Unity: compiled and run in one command."""

from __future__ import annotations

import re
import shlex

from orchestrator.drafting.origin import Pair
from orchestrator.drafting.sketch import Sketch
from orchestrator.drafting.split import Split
from orchestrator.errors import AuthoringError


class UnityProject:
    """One package's changed test program. A compile error, or a crash, is no result of any test."""

    def __init__(self, pair: Pair, split: Split) -> None:
        self._pair = pair
        self._unity = next((path for path in pair.files if path.endswith("/unity.c")), "")
        changed = [path for path in split.changed_tests if path.endswith(".c")]
        every = [path for path in split.tests if path.endswith(".c")]
        self._programs = [path for path in dict.fromkeys((*changed, *every)) if self._is_program(path)]
        self._next = 0

    def first(self) -> Sketch:
        if not self._unity or not self._programs:
            raise AuthoringError(f"no reader knows the tests of {self._pair.wanted.name}: only Unity's, in C")
        return self._sketch(self._programs[0])

    def mended(self, sketch: Sketch, output: str, end: str) -> Sketch | None:
        """The next test program."""
        self._next += 1
        return self._sketch(self._programs[self._next]) if self._next < len(self._programs) else None

    def _sketch(self, program: str) -> Sketch:
        folder = program.rpartition("/")[0] or "."
        unity = self._unity.rpartition("/")[0]
        includes = " ".join(f"-I{shlex.quote(place)}" for place in dict.fromkeys((unity, folder, ".")))
        sources = shlex.join([program, *self._beside(program), self._unity])
        build = f"gcc -O0 -g -w {includes} -o /tmp/unity {sources} -lm"
        return Sketch(f"{build} && cd {shlex.quote(folder)} && /tmp/unity", report="unity")

    def _beside(self, program: str) -> list[str]:
        """Source files that the program needs linked: none where it includes the source itself."""
        text = self._pair.text(program)
        headers = [
            self._pair.text(path)
            for path in self._pair.files
            if path.endswith(".h") and path.rpartition("/")[0] == program.rpartition("/")[0]
        ]
        if any(re.search(r'#include "[^"]*\.c"', part) for part in (text, *headers)):
            return []
        return [path for path in self._pair.files if path.endswith(".c") and "/" not in path]

    def _is_program(self, path: str) -> bool:
        text = self._pair.text(path)
        return "UNITY_BEGIN" in text and re.search(r"\bmain\s*\(", text) is not None
