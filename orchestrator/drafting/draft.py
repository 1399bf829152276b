"""From two states to a task that is proven: fetch, split, sketch, try, list. Start reading here."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from orchestrator.documents.validation import Proposal, TaskValidation
from orchestrator.drafting import origin, proof, quilt, writing
from orchestrator.drafting.node import NodeProject
from orchestrator.drafting.origin import Pair
from orchestrator.drafting.php import PhpProject
from orchestrator.drafting.pins import Resolver
from orchestrator.drafting.proof import Lists, Seen
from orchestrator.drafting.python import PythonProject, itself_of
from orchestrator.drafting.sketch import Language, Sketch
from orchestrator.drafting.split import NATIVE, Split, split
from orchestrator.drafting.unity import UnityProject
from orchestrator.drafting.wanted import Commits, Patches, Releases, Wanted
from orchestrator.drafting.writing import Draft
from orchestrator.errors import AuthoringError
from orchestrator.tasks import interpreter
from orchestrator.tasks.clients import Clients
from orchestrator.tasks.fetchroom import RoomClients
from orchestrator.tasks.interpreter import HOST_PYTHON
from orchestrator.worktree.globs import matcher
from orchestrator.worktree.trees import TreeStore
from sandboxes.protocol import Provider
from sandboxes.spec import Image

CANDIDATES = 8
"""Patches of a Debian package that are tried before giving up."""
TRIES = 6
"""Ways to run the tests that are tried before giving up."""
LEAST_MEMORY = 256
"""MiB; less is never proposed."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Workshop:
    """Where a draft is made. `folder` is empty, and ours alone until the draft is done."""

    folder: Path
    home: Path
    provider: Provider
    tell: Tell
    """Hears what is going on, a line at a time."""


def draft(wanted: Wanted, benchmark: str, shop: Workshop) -> Draft:
    """A task whose lists are what both states showed once; written to `shop.folder`.

    Raises AuthoringError when it cannot be made: no such release, no tests, nothing that fails before.
    """
    shop.tell(f"fetching both states of {wanted.name}")
    clients = RoomClients(shop.provider)
    python = interpreter.of_room(Image(), shop.provider, TreeStore(shop.home / "trees"))
    resolver = Resolver(clients, python or HOST_PYTHON)
    try:
        if isinstance(wanted, Patches):
            return _of_patches(wanted, benchmark, shop, clients, resolver)
        if isinstance(wanted, Releases) and wanted.ecosystem == "pypi":
            resolver.begin([itself_of(wanted)], alone=True)
        pair = origin.fetch(wanted, shop.home, shop.folder, clients)
        return _drafted(wanted, pair, benchmark, shop, resolver)
    finally:
        resolver.close()


def _of_patches(
    wanted: Patches, benchmark: str, shop: Workshop, clients: Clients, resolver: Resolver
) -> Draft:
    """With the first patch that makes a task; with those that were named, if any were."""
    package = quilt.fetch(wanted, shop.home, shop.folder, clients)
    failed = []
    for chosen in package.candidates[:CANDIDATES]:
        shop.tell(f"without {', '.join(chosen)}")
        try:
            named = replace(wanted, patches=chosen)
            return _drafted(named, package.pair(named), benchmark, shop, resolver)
        except AuthoringError as error:
            failed.append(f"{', '.join(chosen)}: {error.problems[0].message}")
    said = " | ".join(failed) or "none of its patches changes source"
    raise AuthoringError(f"no task can be made of {wanted.package} {wanted.version}: {said}")


def _drafted(wanted: Wanted, pair: Pair, benchmark: str, shop: Workshop, resolver: Resolver) -> Draft:
    parts = split(pair.files, pair.changed, NATIVE if isinstance(wanted, Patches) else ())
    _refuse_hopeless(wanted, parts)
    language = _language(pair, parts, resolver)
    shop.tell("resolving what the tests need")
    made = Draft(benchmark, task_id(wanted), wanted, pair.source, parts, language.first())
    if isinstance(wanted, Commits):
        _write_fix(pair, parts, shop.folder)
    made, before, after = _running(made, language, shop)
    found = _turning(before, after, wanted)
    count = len(found.fail_to_pass)
    shop.tell(f"{count} turn{'s' * (count == 1)}, {len(found.pass_to_pass)} stay")
    return write(replace(made, lists=found, seconds=after.seconds), shop.folder)


def settled(made: Draft, seen: TaskValidation, folder: Path) -> Draft:
    """The draft after its validation: tests that flicker taken out, limits as gold's runs propose them.

    Raises AuthoringError when no test is left that turns.
    """
    shaky = frozenset(f.test for f in seen.flicker if f.listed)
    lists = made.lists.without(shaky)
    if not lists.fail_to_pass:
        raise AuthoringError(f"the tests that turn do so only sometimes: {', '.join(sorted(shaky)[:3])}")
    limits = _limits(seen.proposed) if seen.proposed else made.limits
    return write(replace(made, lists=lists, limits=limits), folder)


def write(made: Draft, folder: Path) -> Draft:
    """Put the draft's documents into `folder`."""
    (folder / "rubrics").mkdir(exist_ok=True)
    for path, text in made.sketch.own.items():
        (folder / "own").mkdir(exist_ok=True)
        (folder / writing.own_name(path)).write_text(text, encoding="utf-8")
    (folder / "benchmark.yaml").write_text(writing.benchmark(made), encoding="utf-8")
    (folder / "rubrics" / f"{writing.RUBRIC}.yaml").write_text(writing.rubric(made), encoding="utf-8")
    return made


def task_id(wanted: Wanted) -> str:
    """
    >>> from orchestrator.drafting.wanted import parse
    >>> task_id(parse("npm:@a/b@2.0.1..2.0.0"))
    'a-b-2.0.1'
    """
    if isinstance(wanted, Patches):
        version = wanted.version
    else:
        version = wanted.good[:12] if isinstance(wanted, Commits) else wanted.fixed
    return re.sub(r"[^A-Za-z0-9._-]+", "-", f"{wanted.name}-{version}").strip("-._")


def _language(pair: Pair, parts: Split, resolver: Resolver) -> Language:
    if any(path.endswith(".py") for path in parts.source):
        return PythonProject(pair, parts, resolver)
    if any(path.endswith(".php") for path in parts.source):
        return PhpProject(pair, parts)
    if any(path.endswith((".c", ".h")) for path in parts.source):
        return UnityProject(pair, parts)
    return NodeProject(pair, parts, resolver)


def _refuse_hopeless(wanted: Wanted, parts: Split) -> None:
    if not parts.source:
        raise AuthoringError(f"nothing that is source differs between the two states of {wanted.name}")
    if not parts.tests:
        hint = "try git:URL#GOOD..BAD with its repository"
        raise AuthoringError(f"this release of {wanted.name} brings no tests; {hint}")


def _running(made: Draft, language: Language, shop: Workshop) -> tuple[Draft, Seen, Seen]:
    """The first way to run the tests that gives a result on the mended state, and what both states gave."""
    sketch: Sketch | None = made.sketch
    seen = None
    for _ in range(TRIES):
        if sketch is None:
            break
        made = write(replace(made, sketch=sketch), shop.folder)
        shop.tell(f"trying {sketch.command}, with {sum(map(len, sketch.dependencies.values()))} packages")
        before, seen = _both(sketch, shop)
        if seen.good:
            return made, before, seen
        sketch = language.mended(sketch, seen.output, seen.end)
    said = " | ".join((seen.output if seen else "").strip().splitlines()[-4:])
    raise AuthoringError(f"its tests do not run on the mended state: {said[:600]}")


def _both(sketch: Sketch, shop: Workshop) -> tuple[Seen, Seen]:
    """The faulty state and the mended one, side by side."""

    def one(side: Literal["before", "after"]) -> Seen:
        return proof.run(proof.rooms(shop.folder, shop.provider, shop.home), sketch, side)

    with ThreadPoolExecutor(2) as pool:
        before, after = pool.submit(one, "before"), pool.submit(one, "after")
        return before.result(), after.result()


def _turning(before: Seen, after: Seen, wanted: Wanted) -> Lists:
    found = proof.lists(before.report, after.report)
    if not found.fail_to_pass:
        count = len(after.report.statuses)
        why = f"none of its {count} tests fails on {wanted.title}, so none would notice the fault"
        raise AuthoringError(f"{why}; nothing was written")
    return found


def _write_fix(pair: Pair, parts: Split, folder: Path) -> None:
    """The source part of what differs, as a patch from the faulty state to the mended one."""
    below, kept = matcher(f"/{top}" for top in parts.swap), matcher(parts.keep)
    base = pair.store.overlay(pair.fixed, pair.broken, lambda path: below(path) and not kept(path))
    (folder / writing.FIX).write_bytes(pair.store.diff(base, pair.fixed))


def _limits(proposed: Proposal) -> Proposal:
    megabytes = max(LEAST_MEMORY, int((proposed.memory or "0M").rstrip("M")))
    seconds = max(30, int((proposed.oracle_time or "0s").rstrip("s")))
    return Proposal(memory=f"{megabytes}M", oracle_time=f"{seconds}s")
