"""The sandbox providers, for tests that need one; what is missing fails in CI and skips elsewhere."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sandboxes.protocol import Provider
from sandboxes.spec import Owner

PLACES = {
    "fake": "sandboxes.fake:FakeProvider",
    "oci": "sandboxes.oci:OciProvider",
    "docker": "sandboxes.docker:DockerProvider",
}


def each(*names: str) -> list[Any]:
    """Parameters for a fixture; `-m oci` and `-m docker` choose among them."""
    marks = {"docker": (pytest.mark.docker,), "oci": (pytest.mark.oci,), "fake": ()}
    return [pytest.param(name, marks=marks[name]) for name in names]


REAL = each("oci", "docker")


def made(name: str, **options: Any) -> Provider:
    """A provider of this process, by name."""
    module, _, attribute = PLACES[name].partition(":")
    provider: Provider = getattr(importlib.import_module(module), attribute)(
        Owner.current("tests"), **options
    )
    return provider


def able(name: str, **options: Any) -> Provider:
    """The same, when its engine answers here."""
    provider = made(name, **options)
    problem = provider.capabilities().problem
    if problem and os.environ.get("CI"):
        pytest.fail(f"{name}: {problem}")
    if problem:
        pytest.skip(f"{name}: {problem}")
    return provider


@contextmanager
def opened(name: str) -> Iterator[Provider]:
    """`able`, closed at the end."""
    provider = able(name)
    try:
        yield provider
    finally:
        provider.close()
