"""Providers under the contract: each test runs once for every one of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandboxes.protocol import Provider
from sandboxes.spec import MIB, Entry, Layer, Limits, RoomSpec
from tests import engines

SMALL = Limits(cpus=1.0, memory=128 * MIB, pids=64, disk=32 * MIB, time=20.0, output=100_000)


@pytest.fixture(scope="session", autouse=True)
def proctor_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("home")
    before = os.environ.get("PROCTOR_HOME")
    os.environ["PROCTOR_HOME"] = str(folder)
    yield folder
    if before is None:
        del os.environ["PROCTOR_HOME"]
    else:
        os.environ["PROCTOR_HOME"] = before


@pytest.fixture(scope="module", params=engines.each("fake", "oci", "docker"))
def provider(request: pytest.FixtureRequest) -> Iterator[Provider]:
    with engines.opened(request.param) as made:
        yield made


@pytest.fixture(scope="module", params=engines.REAL)
def engine(request: pytest.FixtureRequest) -> Iterator[Provider]:
    """A provider whose rooms are real."""
    with engines.opened(request.param) as made:
        yield made


@pytest.fixture
def fresh(request: pytest.FixtureRequest) -> Iterator[Callable[..., Provider]]:
    """Makes further providers, closed at the end."""
    made: list[Provider] = []

    def make(name: str, **options: Any) -> Provider:
        made.append(engines.able(name, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


def room_spec(*layers: Layer, **changes: Any) -> RoomSpec:
    return RoomSpec(**{"layers": layers, "limits": SMALL, **changes})


def layer(digest: str, target: str, *entries: Entry, writable: bool = False) -> Layer:
    return Layer(digest, target, lambda: entries, writable)


def file(path: str | bytes, data: bytes = b"", mode: int = 0o100644) -> Entry:
    return Entry(path.encode() if isinstance(path, str) else path, mode, data)
