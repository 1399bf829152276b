"""What `--from` names: two releases of a package, or two commits of a repository."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from orchestrator.errors import AuthoringError

FORMS = (
    "pypi:NAME==FIXED..BROKEN, npm:NAME@FIXED..BROKEN, git:URL#GOOD..BAD or debian:NAME==VERSION[#PATCH,...]"
)
_VERSIONS = r"(?P<fixed>[^\s.]\S*?)\.\.(?P<broken>[^\s.]\S*)"
_PYPI = re.compile(rf"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)=={_VERSIONS}")
_NPM = re.compile(rf"(?P<name>(?:@[^\s@/]+/)?[^\s@/]+)@{_VERSIONS}")
_DEBIAN = re.compile(
    r"(?P<name>[a-z0-9][a-z0-9.+-]+)==(?P<version>[A-Za-z0-9.+:~-]+)(?:#(?P<patches>[^\s#]+))?"
)
_GIT = re.compile(r"(?P<url>\S+)#(?P<good>[^\s#]+?)\.\.(?P<bad>[^\s#]+)")


@dataclass(frozen=True)
class Releases:
    ecosystem: Literal["pypi", "npm"]
    package: str
    fixed: str
    broken: str

    @property
    def name(self) -> str:
        return self.package

    @property
    def title(self) -> str:
        """For people: the faulty side."""
        return f"{self.package} {self.broken}"


@dataclass(frozen=True)
class Commits:
    url: str
    good: str
    bad: str

    @property
    def name(self) -> str:
        return self.url.rstrip("/").rpartition("/")[2].removesuffix(".git") or "repository"

    @property
    def title(self) -> str:
        return f"{self.name} at {self.bad[:12]}"


@dataclass(frozen=True)
class Patches:
    """A Debian source package, and which of its patches are taken out; none named: one that can be."""

    package: str
    version: str
    patches: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.package

    @property
    def title(self) -> str:
        """For people: the faulty side."""
        which = " and ".join(self.patches) or "one of its patches"
        return f"{self.package} {self.version} without {which}"


Wanted = Releases | Commits | Patches


def parse(text: str) -> Wanted:
    """Raises AuthoringError for anything else than FORMS.

    >>> parse("pypi:bleach==6.1.0..6.0.0")
    Releases(ecosystem='pypi', package='bleach', fixed='6.1.0', broken='6.0.0')
    >>> parse("npm:@scope/a@2.0.1..2.0.0").package
    '@scope/a'
    >>> parse("debian:cjson==1.7.15-1#a.patch,b.patch").patches
    ('a.patch', 'b.patch')
    """
    kind, _, rest = text.partition(":")
    if kind == "pypi" and (match := _PYPI.fullmatch(rest)):
        return Releases("pypi", match["name"], match["fixed"], match["broken"])
    if kind == "npm" and (match := _NPM.fullmatch(rest)):
        return Releases("npm", match["name"], match["fixed"], match["broken"])
    if kind == "debian" and (match := _DEBIAN.fullmatch(rest)):
        return Patches(
            match["name"], match["version"], tuple(filter(None, (match["patches"] or "").split(",")))
        )
    if kind == "git" and (match := _GIT.fullmatch(rest)):
        return Commits(**match.groupdict())
    raise AuthoringError(f"--from {text}: cannot be read; write {FORMS}")
