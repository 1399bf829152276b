"""PHP packages of Debian: PHPUnit, in a room with the packages that Debian builds them with."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator

from orchestrator.drafting.origin import Pair
from orchestrator.drafting.sketch import Sketch
from orchestrator.drafting.split import Split, folders_of_tests
from orchestrator.errors import AuthoringError

BASE = ("php-cli", "php-mbstring", "php-xml", "phpunit")
LOADER = "vendor/autoload.php"
_AUTOLOADERS = "/usr/share/php"


class PhpProject:
    """One package's tests. Its classes are found as composer.json says, by a loader that the judge brings."""

    def __init__(self, pair: Pair, split: Split) -> None:
        self._pair = pair
        self._split = split

    def first(self) -> Sketch:
        tests = folders_of_tests(path for path in self._split.tests if path.endswith(".php"))
        spaces = dict(self._spaces())
        if not tests or not spaces:
            raise AuthoringError(
                f"composer.json of {self._pair.wanted.name} does not say where its classes are"
            )
        command = f"phpunit --bootstrap {LOADER} --no-configuration {shlex.join(tests)}"
        needed = tuple(sorted({*BASE, *build_depends(self._pair.control)}))
        return Sketch(
            command, debian=needed, suite=str(self._pair.source["suite"]), own={LOADER: _loader(spaces)}
        )

    def mended(self, sketch: Sketch, output: str, end: str) -> Sketch | None:
        """Only the changed tests, when all of them take too long."""
        changed = [path for path in self._split.changed_tests if path.endswith("Test.php")]
        command = f"phpunit --bootstrap {LOADER} --no-configuration {shlex.join(changed[:1])}"
        if end != "limit_hit:time" or not changed or command == sketch.command:
            return None
        return Sketch(command, debian=sketch.debian, suite=sketch.suite, own=sketch.own)

    def _spaces(self) -> Iterator[tuple[str, str]]:
        """Namespace prefix -> folder in the tree, those of tests too."""
        try:
            document = json.loads(self._pair.text("composer.json"))
        except ValueError:
            return
        for section in ("autoload", "autoload-dev"):
            for space, places in document.get(section, {}).get("psr-4", {}).items():
                place = places if isinstance(places, str) else next(iter(places), "")
                yield space, place.strip("/")


def build_depends(control: str) -> list[str]:
    """PHP packages that debian/control builds with, without versions and alternatives.

    >>> build_depends("Build-Depends: debhelper-compat (= 13), php-psr-log | php-log,\\n phpunit <!nocheck>")
    ['php-psr-log', 'phpunit']
    """
    found = re.findall(r"^Build-Depends(?:-Indep)?:((?:.*\n?)(?:[ \t].*\n?)*)", control, re.MULTILINE)
    words = [item.split("|")[0].split() for text in found for item in text.split(",")]
    return [word[0] for word in words if word and re.fullmatch(r"php[a-z0-9.+-]*", word[0])]


def _loader(spaces: dict[str, str]) -> str:
    """A file that loads the package's classes, and what Debian keeps of others."""
    longest = sorted(spaces.items(), key=lambda item: -len(item[0]))
    lines = [f"    {_php(space)} => {_php('/' + place + '/' if place else '/')}," for space, place in longest]
    return "\n".join(_LOADER).replace("@SPACES@", "\n".join(lines))


def _php(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_LOADER: Iterable[str] = (
    "<?php",
    "// Finds the package's classes as its composer.json maps them, and the libraries that Debian installs.",
    "$ours = [",
    "@SPACES@",
    "];",
    "spl_autoload_register(static function (string $class) use ($ours): void {",
    "    foreach ($ours as $space => $folder) {",
    "        if (strncmp($class, $space, strlen($space)) === 0) {",
    "            $below = str_replace('\\\\', '/', substr($class, strlen($space))) . '.php';",
    "            if (is_file($file = dirname(__DIR__) . $folder . $below)) {",
    "                require $file;",
    "                return;",
    "            }",
    "        }",
    "    }",
    f"    $file = '{_AUTOLOADERS}/' . str_replace('\\\\', '/', $class) . '.php';",
    "    if (is_file($file)) {",
    "        require $file;",
    "    }",
    "});",
    f"foreach (glob('{_AUTOLOADERS}/Symfony/Bridge/PhpUnit/autoload.php') as $file) {{",
    "    require_once $file;",
    "}",
    "",
)
