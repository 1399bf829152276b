"""The engine's calls we need, each with its failures translated. A client serves one call at a time."""

from __future__ import annotations

import base64
import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import docker
from docker.errors import NotFound
from docker.utils import kwargs_from_env

from sandboxes.docker.failure import CREATING, STARTING, TOO_MANY, PullRefused, translated
from sandboxes.errors import EngineGone, ImageUnavailable, ProvisionFailed, SandboxError, SandboxLost

ANSWER_WITHIN = 120
"""Seconds the engine may take to answer one call before it counts as gone."""
VERSION_WITHIN = 30
"""Seconds for the first question, its version: nothing has to be done for it."""
SILENT_WITHIN = 1800
"""Seconds in which a pull or a build may say nothing."""
DEFAULT_SOCKET = "unix:///var/run/docker.sock"


class Engine:
    """A Docker-compatible engine at `address` (default: $DOCKER_HOST, else the usual socket; Podman's works).

    Every method raises EngineGone when nobody answers, and what its docstring names when it says no.
    """

    def __init__(self, address: str | None = None) -> None:
        self.address = address or os.environ.get("DOCKER_HOST") or DEFAULT_SOCKET
        self.answering = True
        """Whether it answered when it was asked last, if only with a no."""
        self._idle: list[docker.APIClient] = []
        self._lock = threading.Lock()

    @property
    def on_this_machine(self) -> bool:
        """Whether the engine listens on a unix socket here, so that paths of ours are paths of its own."""
        return urlsplit(self.address).scheme == "unix"

    @contextmanager
    def _asking(
        self, doing: str, otherwise: type[SandboxError], within: float | None = None
    ) -> Iterator[Any]:
        """A client that is nobody else's meanwhile (a `docker.APIClient`, whose published types lack half of
        what we call), with its failures translated. `within`: seconds of silence that are still an answer."""
        try:
            with translated(doing, otherwise), self._borrowed(within) as client:
                client.within = within or ANSWER_WITHIN
                yield client
        except EngineGone:
            self.answering = False
            raise
        except SandboxError:
            self.answering = True
            raise
        self.answering = True

    @contextmanager
    def _borrowed(self, within: float | None) -> Iterator[Any]:
        client = self._borrow(within)
        try:
            yield client
        finally:
            if self.address.startswith("unix:"):
                # the SDK (7.2) never uses such a connection again for another address, and keeps 25
                client.close()
            with self._lock:
                self._idle.append(client)

    def _borrow(self, within: float | None) -> Any:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._connect(min(ANSWER_WITHIN, VERSION_WITHIN, within or VERSION_WITHIN))

    def _connect(self, within: float) -> docker.APIClient:
        settings: dict[str, Any] = {}
        if os.environ.get("DOCKER_HOST") == self.address:
            settings.update(kwargs_from_env())
        settings["base_url"] = settings.get("base_url") or self.address
        return _Client(**settings, version="auto", timeout=within)  # type: ignore[arg-type]

    def close(self) -> None:
        """Give back all clients. Idempotent."""
        with self._lock:
            clients, self._idle = self._idle, []
        for client in clients:
            client.close()

    def answers_within(self, seconds: float) -> bool:
        """Whether it answers now, whatever it did before."""
        try:
            with self._asking("asking whether it is there", EngineGone, seconds) as client:
                client.ping()
        except SandboxError:
            pass
        return self.answering

    @cached_property
    def info(self) -> Mapping[str, Any]:
        """What the engine says about itself (asked once)."""
        with self._asking("asking for its version", EngineGone) as client:
            return dict(client.info())

    # containers

    def create(self, name: str, config: Mapping[str, Any]) -> str:
        """Make a container; its id. Raises ImageUnavailable, ProvisionFailed."""
        with self._asking(CREATING, ProvisionFailed) as client:
            return str(_part(client.create_container_from_config(dict(config), name), "Id", CREATING))

    def start(self, container: str) -> None:
        """Raises failure.CannotExecute when only this command cannot be started; ProvisionFailed."""
        with self._asking(STARTING, ProvisionFailed) as client:
            client.start(container)

    @contextmanager
    def attached(self, container: str, stdin: bool) -> Iterator[Any]:
        """The raw socket of the container's streams, open before it starts so that nothing is missed."""
        with self._asking("attaching to a container", SandboxLost) as client:
            # the SDK's own attach_socket waits for ever
            url = client._url("/containers/{0}/attach", container)
            wanted = {"stdout": 1, "stderr": 1, "stream": 1, "stdin": int(stdin)}
            upgrade = {"Connection": "Upgrade", "Upgrade": "tcp"}
            answer = client.post(
                url, None, params=wanted, headers=upgrade, stream=True, timeout=ANSWER_WITHIN
            )
            client._raise_for_status(answer)
            refuse_other_words(answer)
            wrapper = client._get_raw_response_socket(answer)
        try:
            yield getattr(wrapper, "_sock", wrapper)
        finally:
            parts: tuple[Any, ...] = (wrapper, getattr(wrapper, "_response", None))
            for part in parts:
                with suppress(OSError, ValueError, AttributeError):  # the second finds its socket closed
                    part.close()

    def inspect(self, container: str) -> Mapping[str, Any]:
        """The container's state and settings. Raises SandboxLost when it is not there any more."""
        with self._asking("looking at a container", SandboxLost) as client:
            told = client.inspect_container(container)
            _part(told, "State", "looking at a container")
            return dict(told)

    def kill(self, container: str) -> None:
        """Kill PID 1, and with it all. A container that is not running any more is no error."""
        with self._asking("killing a container", _NotRunning) as client:
            try:
                client.kill(container)
            except NotFound:
                return

    def remove(self, container: str) -> None:
        """Remove it with its anonymous volumes, killing it if need be. One that is gone is no error."""
        with self._asking("removing a container", _NotRunning) as client:
            try:
                client.remove_container(container, v=True, force=True)
            except NotFound:
                return

    def containers(self, label: str) -> list[Mapping[str, Any]]:
        """All containers, running or not, that carry a label ("name" or "name=value")."""
        with self._asking("listing containers", EngineGone) as client:
            return list(client.containers(all=True, filters={"label": [label]}))

    def events(self, container: str, since: float, until: float) -> frozenset[str]:
        """What befell it between two times (Unix seconds), as the engine tells: "start", "kill", "die"."""
        with self._asking("asking what happened to a container", SandboxLost) as client:
            stream = client.events(
                since=f"{since:.9f}", until=f"{until:.9f}", filters={"container": [container]}, decode=True
            )
            try:
                return frozenset(str(event.get("Action") or event.get("status")) for event in stream)
            finally:
                stream.close()

    # files, for engines whose disks we cannot reach

    def put_archive(self, container: str, path: str, data: IO[bytes] | bytes) -> None:
        """Unpack a tar below `path`. Raises SandboxLost."""
        with self._asking("writing files", SandboxLost) as client:
            client.put_archive(container, path, data)

    @contextmanager
    def get_archive(self, container: str, path: str) -> Iterator[Iterable[bytes] | None]:
        """The tar of what is at `path`, in chunks; None when nothing is there. Raises SandboxLost."""
        with self._asking("reading files", SandboxLost) as client:
            try:
                stream, _ = client.get_archive(container, path)
            except NotFound:
                stream = None
        try:
            yield None if stream is None else _translated_chunks(stream)
        finally:
            if stream is not None:
                stream.close()

    def stat(self, container: str, path: str | bytes) -> Mapping[str, Any] | None:
        """Name, mode (Go's bits) and size of what is at `path`, its last link not followed; or None."""
        with self._asking("looking at a file", SandboxLost) as client:
            url = client._url("/containers/{0}/archive", container)
            answer = client.head(url, params={"path": path}, timeout=ANSWER_WITHIN)
            if answer.status_code == 404:
                return None
            client._raise_for_status(answer)
            told = _part(answer.headers, "X-Docker-Container-Path-Stat", "looking at a file")
            return dict(json.loads(base64.b64decode(told)))

    def create_volume(self, name: str, labels: Mapping[str, str]) -> None:
        """Raises ProvisionFailed."""
        with self._asking("making a volume", ProvisionFailed) as client:
            client.create_volume(name, labels=dict(labels))

    def remove_volume(self, name: str) -> None:
        """One that is gone is no error."""
        with self._asking("removing a volume", SandboxLost) as client:
            try:
                client.remove_volume(name, force=True)
            except NotFound:
                return

    def volumes(self, label: str) -> list[Mapping[str, Any]]:
        with self._asking("listing volumes", EngineGone) as client:
            return list(client.volumes(filters={"label": [label]})["Volumes"] or [])

    def networks(self, label: str) -> list[Mapping[str, Any]]:
        with self._asking("listing networks", EngineGone) as client:
            return list(client.networks(filters={"label": [label]}))

    def remove_network(self, network: str) -> None:
        with self._asking("removing a network", SandboxLost) as client:
            try:
                client.remove_network(network)
            except NotFound:
                return

    # images

    def image(self, ref: str) -> Mapping[str, Any] | None:
        """An image the engine holds; None when it does not."""
        with self._asking("looking for an image", EngineGone) as client:
            try:
                return dict(client.inspect_image(ref))
            except NotFound:
                return None

    def pull(self, ref: str) -> None:
        """Raises ImageUnavailable; PullRefused when the registry wants to be left alone for a while."""
        with self._asking(f"pulling {ref}", ImageUnavailable, SILENT_WITHIN) as client:
            for event in client.pull(ref, tag=None if _tagged(ref) else "latest", stream=True, decode=True):
                _refuse_if_failed(event, f"{ref} cannot be pulled")

    def import_image(self, tar: IO[bytes], ref: str, changes: Iterable[str] = ()) -> None:
        """Make an image of one layer from a tar. Raises ImageUnavailable."""
        name, _, tag = ref.rpartition(":")
        with self._asking(f"importing {ref}", ImageUnavailable, SILENT_WITHIN) as client:
            url = client._url("/images/create")
            wanted = {"fromSrc": "-", "repo": name, "tag": tag, "changes": list(changes)}
            headers = {"Content-Type": "application/tar"}
            answer = client._post(url, data=tar, params=wanted, headers=headers, timeout=SILENT_WITHIN)
            client._raise_for_status(answer)
            for line in answer.text.splitlines():
                _refuse_if_failed(json.loads(line), f"{ref} cannot be imported")

    def build(self, folder: Path, ref: str, labels: Mapping[str, str]) -> None:
        """Build a Dockerfile's folder. Raises ImageUnavailable with the builder's last words."""
        with self._asking(f"building {folder}", ImageUnavailable, SILENT_WITHIN) as client:
            for event in client.build(
                path=str(folder), tag=ref, rm=True, forcerm=True, decode=True, labels=dict(labels)
            ):
                _refuse_if_failed(event, f"{folder} cannot be built")


class _Client(docker.APIClient):
    """The SDK's, without its calls that wait for ever (7.2: events, pulls, builds, imports), and without its
    trust in whatever says yes: many calls of it look at nothing else."""

    within: float | None = None
    """Seconds of silence that the call being made may take; None, while it is made: as it was made."""

    def _set_request_timeout(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        if kwargs.get("timeout") is None:
            kwargs["timeout"] = self.within or self.timeout
        return kwargs

    def request(self, method: Any, url: Any, *more: Any, **options: Any) -> Any:
        """Raises EngineGone for a yes of something else than an engine: all of them name their API."""
        answer = super().request(method, url, *more, **options)
        if answer.status_code in _YES and "Api-Version" not in answer.headers:
            answer.close()
            raise EngineGone(f"something else than a container engine answers at {self.base_url}")
        return answer


_YES = range(200, 400)


class _NotRunning(SandboxLost):
    """The engine will not kill or remove what has ended already."""


def _part(answer: Any, name: str, doing: str) -> Any:
    """A part of an answer that every engine gives. Raises EngineGone: something else listens there."""
    if not isinstance(answer, Mapping) or name not in answer:
        raise EngineGone(f"the container engine gave an answer without {name} while {doing}")
    return answer[name]


def refuse_other_words(answer: Any) -> None:
    """Raises SandboxLost unless what follows is a container's streams: engines change the protocol (101), or
    name theirs (200). Anything else that says yes would be read as a command without output."""
    kind = str(answer.headers.get("Content-Type", ""))
    if answer.status_code != 101 and not kind.startswith("application/vnd.docker."):
        answer.close()
        raise SandboxLost(f"the container engine gave no streams of a container (HTTP {answer.status_code})")


def _translated_chunks(stream: Iterable[bytes]) -> Iterator[bytes]:
    chunks = iter(stream)
    while True:
        with translated("reading files"):
            chunk = next(chunks, None)
        if chunk is None:
            return
        yield chunk


def _tagged(ref: str) -> bool:
    return "@" in ref or ":" in ref.rpartition("/")[2]


def _refuse_if_failed(event: Mapping[str, Any], what: str) -> None:
    if "error" in event:
        said = str(event["error"])
        raise (PullRefused if TOO_MANY.search(said) else ImageUnavailable)(f"{what}: {said}")
