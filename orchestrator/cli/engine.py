"""Which sandbox provider a command uses: the one asked for, else the first that works here."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandboxes.protocol import Capabilities, Provider, Reaped, Sandbox
    from sandboxes.spec import Image, Layer, Owner, RoomSpec

PREFERRED = ("oci", "docker")
"""Tried in this order when nobody asks for one."""

Kinds = Mapping[str, Callable[..., Any]]
"""Provider classes by name, as the registry holds them."""


@contextmanager
def opened(
    kinds: Kinds, asked: str | None, owner: Owner, *, allow_unlimited: bool = False
) -> Iterator[Provider]:
    """A provider that works on this machine, with what dead runs left behind removed; closed at the end.

    Raises AuthoringError for an unknown name, sandboxes.errors.EngineGone when it (or, without a name,
    none) works here.
    """
    provider = choose(kinds, asked, owner, allow_unlimited=allow_unlimited)
    try:
        provider.reap()
        yield provider
    finally:
        provider.close()


def choose(kinds: Kinds, asked: str | None, owner: Owner, *, allow_unlimited: bool = False) -> Provider:
    """As `opened`, without cleaning up."""
    from sandboxes.errors import EngineGone

    if shutil.which("git") is None:
        raise EngineGone("git is not installed, and every task needs it; install git (apt-get install git)")
    refuse_unknown(kinds, asked)
    problems = []
    for name in (asked,) if asked is not None else PREFERRED:
        provider: Provider = kinds[name](owner, allow_unlimited=allow_unlimited)
        found = provider.capabilities()
        if found.available:
            return provider
        provider.close()
        problems.append(f"{name}: {found.problem or 'does not work here'}")
    raise EngineGone("no sandbox can be opened here. " + "; ".join(problems))


def refuse_unknown(kinds: Kinds, asked: str | None) -> None:
    """Raises AuthoringError when there is no sandbox of the name that was asked for."""
    if asked is None or asked in kinds:
        return
    from orchestrator.agents import shown
    from orchestrator.errors import AuthoringError

    raise AuthoringError(f'there is no sandbox "{shown(asked)}"; known: {", ".join(sorted(kinds))}')


def survey(kinds: Kinds, owner: Owner) -> dict[str, Capabilities]:
    """What every provider says of this machine; a plug-in that cannot even be made is told, too."""
    from sandboxes.protocol import Capabilities

    found = {}
    for name in sorted(kinds, key=lambda n: (PREFERRED.index(n) if n in PREFERRED else len(PREFERRED), n)):
        try:
            provider = kinds[name](owner)
            try:
                found[name] = provider.capabilities()
            finally:
                provider.close()
        except Exception as error:  # a plug-in of anybody's
            found[name] = Capabilities(
                name, False, problem=f"cannot be loaded: {type(error).__name__}: {error}"
            )
    return found


class NoRooms:
    """The provider of a run that opens no room: nothing but text is graded in it."""

    name = "none"

    def capabilities(self) -> Capabilities:
        from sandboxes.protocol import Capabilities

        return Capabilities(self.name, True)

    def prepare(self, image: Image, layers: tuple[Layer, ...] = ()) -> str:
        raise AssertionError("a run without rooms was asked for an image")

    def provision(self, spec: RoomSpec) -> AbstractContextManager[Sandbox]:
        raise AssertionError("a run without rooms was asked for one")

    def reap(self) -> Reaped:
        from sandboxes.protocol import Reaped

        return Reaped()

    def evict_all(self) -> None: ...
    def close(self) -> None: ...
