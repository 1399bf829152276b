"""Of each family one attack, with its control, and some honest candidates, on real engines.

The whole corpus is `make attacks`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from sandboxes.protocol import Provider
from tests import engines

from .bait import bait
from .corpus import load
from .judging import cannot_run, wrong

CHOSEN = (
    "hidden_script_squatted", "npm_script_is_true", "report_written_with_the_key_of_the_process",
    "changes_the_code_at_exit", "daemon_keeps_the_test_friendly", "later_test_file_rewritten_and_restored",
    "fake_grep_at_home", "unchecked_bytecode_of_the_test", "fix_from_the_machines_loopback",
    "cases_found_and_hard_coded", "test_file_is_a_link", "output_that_is_no_text", "patch_through_a_link",
    "memory_eaten", "fence_closed_by_the_response", "context_managers_bent", "skips_from_the_code",
    "right_unittest", "right_node", "vendored_package", "own_equality",
)  # fmt: skip
"""Without PHP, whose image comes from a registry."""
ON_DOCKER = ("hidden_script_squatted", "daemon_keeps_the_test_friendly", "right_shell")


@pytest.fixture(scope="module", autouse=True)
def _machine_with_the_answer() -> Iterator[None]:
    with bait():
        yield


@pytest.fixture(scope="module")
def rooms() -> Iterator[dict[str, Provider]]:
    made: dict[str, Provider] = {}
    yield made
    for provider in made.values():
        provider.close()


def _provider(name: str, made: dict[str, Provider]) -> Provider:
    if name not in made:
        made[name] = engines.able(name)
    return made[name]


@pytest.mark.oci
@pytest.mark.parametrize("name", CHOSEN)
def test_a_candidate_comes_out_as_it_must(rooms: dict[str, Provider], name: str) -> None:
    candidate = load().named(name)
    if cannot_run(candidate) and not os.environ.get("CI"):
        pytest.skip(cannot_run(candidate))

    assert wrong(candidate, _provider("oci", rooms)) == ""


@pytest.mark.docker
@pytest.mark.parametrize("name", ON_DOCKER)
def test_a_candidate_comes_out_the_same_under_docker(rooms: dict[str, Provider], name: str) -> None:
    assert wrong(load().named(name), _provider("docker", rooms)) == ""


def test_the_subset_holds_an_attack_of_each_family_that_needs_no_registry() -> None:
    families = {load().named(name).family for name in CHOSEN}

    assert {family.name for family in load().families} - families == {"14_analyzers"}
