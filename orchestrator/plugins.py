"""Which checks, agents, sandboxes, setups, analyzers and graders there are, found by entry point.

The built-ins come through the same door. Nothing is imported before it is asked for.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from importlib.metadata import Distribution, EntryPoint, entry_points
from typing import Any

from orchestrator.contract import Check, CheckExecutor, Context
from orchestrator.documents.benchmark import AnalyzerTool
from orchestrator.errors import AuthoringError, Problem
from orchestrator.outcomes import CheckOutcome

CORE = "proctor"
"""The distribution whose plug-ins always come first (rule 154, C-47)."""
_AT_ONCE = ("text", "command")
"""Executors of ours that nearly every run needs. Each of the others bears the name of its one kind."""
GROUPS = ("checks", "agents", "sandboxes", "setups", "analyzers", "graders")


@dataclass(frozen=True)
class Plugin:
    """One named thing that a distribution offers. `load` imports it."""

    group: str
    name: str
    """The word an author writes, except for checks, whose executors say themselves what they apply to."""
    distribution: str
    load: Callable[[], Any] = field(repr=False, compare=False)
    target: str = ""
    """Where it lies, "module:attribute"."""

    def get(self) -> Any:
        """The object itself. Raises AuthoringError naming the plug-in when it cannot be imported."""
        try:
            return self.load()
        except Exception as cause:
            raise self.broken(f"cannot be loaded: {type(cause).__name__}: {cause}") from cause

    def broken(self, what: str) -> AuthoringError:
        place = f"plug-in {self.name!r} of orchestrator.{self.group}"
        hint = f"mend or uninstall the distribution {self.distribution!r} that brings it"
        return AuthoringError(Problem(place, 0, self.target, what, hint))


class Group(Mapping[str, Any]):
    """The plug-ins of one group by name; each is loaded when it is looked up, and then kept.

    Of two with one name the first counts; the other is in `shadowed`.
    """

    def __init__(self, plugins: Iterable[Plugin] = ()) -> None:
        self.plugins: dict[str, Plugin] = {}
        self.shadowed: list[Plugin] = []
        self._loaded: dict[str, Any] = {}
        for plugin in plugins:
            if self.plugins.setdefault(plugin.name, plugin) is not plugin:
                self.shadowed.append(plugin)

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = self.plugins[name].get()
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self.plugins

    def __iter__(self) -> Iterator[str]:
        return iter(self.plugins)

    def __len__(self) -> int:
        return len(self.plugins)


class Instances(Mapping[str, Any]):
    """The plug-ins of a group, each built from its class when it is first looked up, and then kept."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            thing = self._group[name]
            self._built[name] = thing() if inspect.isclass(thing) else thing
        return self._built[name]

    def __contains__(self, name: object) -> bool:
        return name in self._group

    def __iter__(self) -> Iterator[str]:
        return iter(self._group)

    def __len__(self) -> int:
        return len(self._group)


class Deferred:
    """An executor of ours for one kind, imported when the first check of that kind comes: most rubrics need
    two or three, and a run is to start soon."""

    schemas: Mapping[str, Mapping[str, Any]] = {}
    """What ours check is in the static schema."""

    def __init__(self, kind: str, build: Callable[[], CheckExecutor]) -> None:
        self._kind = kind
        self._build = build

    @cached_property
    def _executor(self) -> CheckExecutor:
        return self._build()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)

    def applies(self, check: Check) -> bool:
        return check.get("kind") == self._kind

    def execute(self, check: Check, response: str | bytes, context: Context) -> CheckOutcome:
        return self._executor.execute(check, response, context)


@dataclass(frozen=True)
class Registry:
    """Everything that is installed. Made once by the command, then passed along; tests build their own."""

    checks: Group = field(default_factory=Group)
    agents: Group = field(default_factory=Group)
    sandboxes: Group = field(default_factory=Group)
    setups: Group = field(default_factory=Group)
    analyzers: Group = field(default_factory=Group)
    graders: Group = field(default_factory=Group)

    @classmethod
    def load(cls) -> Registry:
        """What is installed in this Python, core first, then by distribution and name."""
        offered: Any = entry_points()  # once: each call reads what every distribution on the path offers
        return cls(**{group: Group(_installed(group, offered)) for group in GROUPS})

    @classmethod
    def of(cls, **groups: Mapping[str, Any]) -> Registry:
        """A registry of given things: `Registry.of(checks={"text": TextExecutor})`."""
        return cls(**{group: Group(_given(group, things)) for group, things in groups.items()})

    def with_analyzers(self, tools: Mapping[str, AnalyzerTool]) -> Registry:
        """The same with analyzers that a benchmark defines (proctor.yaml). Raises AuthoringError for a name
        that is taken."""
        taken = sorted(set(tools) & set(self.analyzers))
        if taken:
            hint = "choose another name"
            raise AuthoringError(
                Problem("", 0, f"analyzers.{taken[0]}", "is an installed analyzer's name", hint)
            )
        if not tools:
            return self
        from orchestrator.analyzers.declared import Declared

        made = {name: Declared(name, tool) for name, tool in tools.items()}
        kept = (*self.analyzers.plugins.values(), *_given("analyzers", made))
        return replace(self, analyzers=Group(kept))

    @cached_property
    def executors(self) -> tuple[CheckExecutor, ...]:
        """Every check executor, built, in the order in which checks are offered to them (rule 49).

        An executor whose constructor has a parameter named `analyzers` is given them, by tool (rule 149).
        Raises AuthoringError naming the plug-in that cannot be built.
        """
        services = {"analyzers": Instances(self.analyzers)}
        plugins = self.checks.plugins
        return tuple(
            Deferred(name, partial(self._executor, name, services))
            if plugin.distribution == CORE and name not in _AT_ONCE
            else self._executor(name, services)
            for name, plugin in plugins.items()
        )

    def _executor(self, name: str, services: Mapping[str, Any]) -> CheckExecutor:
        return _built(self.checks.plugins[name], self.checks[name], services)

    @property
    def schemas(self) -> tuple[Mapping[str, Mapping[str, Any]], ...]:
        """The JSON Schema definitions that executors bring, by kind, in the same order (rule 151)."""
        return tuple(brought for e in self.executors if (brought := getattr(e, "schemas", None)))


def _installed(group: str, offered: Any) -> list[Plugin]:
    found = [_of_entry_point(group, e) for e in offered.select(group=f"orchestrator.{group}")]
    # sorted() is stable: within one distribution the order of its own list is kept.
    return sorted(found, key=lambda p: (p.distribution != CORE, p.distribution))


def _of_entry_point(group: str, entry: EntryPoint) -> Plugin:
    return Plugin(group, entry.name, _name(entry.dist), entry.load, entry.value)


@cache
def _name(distribution: Distribution | None) -> str:
    """Asked once per distribution: the answer is read from the whole of its metadata."""
    return distribution.name.lower() if distribution is not None else "(unknown)"


def _given(group: str, things: Mapping[str, Any]) -> list[Plugin]:
    return [Plugin(group, name, "(given)", partial(_itself, thing)) for name, thing in things.items()]


def _itself(thing: Any) -> Any:
    return thing


def _built(plugin: Plugin, thing: Any, services: Mapping[str, Any]) -> CheckExecutor:
    """An executor from its class, or the thing itself when it is one already."""
    if inspect.isclass(thing) and issubclass(thing, CheckExecutor):
        try:
            wanted = inspect.signature(thing).parameters
            thing = thing(**{name: service for name, service in services.items() if name in wanted})
        except Exception as cause:
            raise plugin.broken(f"cannot be built: {type(cause).__name__}: {cause}") from cause
    if not isinstance(thing, CheckExecutor):
        raise plugin.broken("is no check executor: it needs the methods applies and execute")
    return thing
