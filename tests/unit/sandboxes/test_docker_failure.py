"""Foreign failures become ours at one seam."""

from __future__ import annotations

import base64
import io
import json

import docker.errors
import pytest
import requests
import urllib3.exceptions

from sandboxes.docker.engine import Engine, refuse_other_words
from sandboxes.docker.failure import CREATING, STARTING, CannotExecute, translated
from sandboxes.errors import (
    EngineGone,
    Evicted,
    ImageUnavailable,
    ProvisionFailed,
    SandboxError,
    SandboxLost,
    StreamBroken,
)


def answer(status: int, said: str) -> docker.errors.APIError:
    response = requests.Response()
    response.status_code = status
    return docker.errors.APIError(said, response=response, explanation=said)


@pytest.mark.parametrize(
    "silence",
    [
        requests.exceptions.ConnectionError("refused"),
        requests.exceptions.ReadTimeout("slow"),
        urllib3.exceptions.ProtocolError("cut"),
        ConnectionRefusedError(111, "refused"),
        FileNotFoundError(2, "no socket"),
        PermissionError(13, "not in the group"),
        docker.errors.DockerException("cannot fetch the version"),
        json.JSONDecodeError("no JSON", "", 0),
    ],
)
def test_an_engine_that_does_not_answer_is_gone(silence: Exception) -> None:
    with pytest.raises(EngineGone, match="while looking"), translated("looking"):
        raise silence


@pytest.mark.parametrize("kept", range(1, 52))
def test_an_answer_that_breaks_off_anywhere_is_no_bug_of_ours(kept: int) -> None:
    whole = base64.b64encode(json.dumps({"name": "wörk", "mode": 2147484141}, ensure_ascii=False).encode())

    with pytest.raises(EngineGone, match="no readable answer while looking"), translated("looking"):
        json.loads(base64.b64decode(whole[:kept]))


@pytest.mark.parametrize(
    ("status", "kind", "streams"),
    [
        (101, "", True),
        (200, "application/vnd.docker.raw-stream", True),
        (200, "application/vnd.docker.multiplexed-stream", True),
        (200, "application/json", False),
        (204, "", False),
    ],
)
def test_only_what_says_so_is_a_containers_streams(status: int, kind: str, streams: bool) -> None:
    said = requests.Response()
    said.status_code, said.raw = status, io.BytesIO()
    said.headers["Content-Type"] = kind

    if streams:
        refuse_other_words(said)
    else:
        with pytest.raises(SandboxLost, match=f"no streams of a container .HTTP {status}"):
            refuse_other_words(said)


@pytest.mark.parametrize("status", [400, 404, 409, 500])
def test_a_container_the_engine_will_not_show_is_lost(status: int) -> None:
    with pytest.raises(SandboxLost, match=f"HTTP {status}: no"), translated("looking"):
        raise answer(status, "no")


@pytest.mark.parametrize("status", [502, 503, 504])
def test_an_engine_that_is_not_ready_is_gone(status: int) -> None:
    with pytest.raises(EngineGone), translated("looking"):
        raise answer(status, "starting up")


def test_a_missing_image_is_no_lost_room() -> None:
    with pytest.raises(ImageUnavailable), translated(CREATING, ProvisionFailed):
        raise answer(404, "No such image: nope:1")


def test_a_name_taken_twice_is_a_failed_provision() -> None:
    with pytest.raises(ProvisionFailed), translated(CREATING, ProvisionFailed):
        raise answer(409, "Conflict. The container name is already in use")


def test_a_command_that_cannot_start_is_told_apart_from_a_room_that_cannot() -> None:
    with pytest.raises(CannotExecute), translated(STARTING, ProvisionFailed):
        raise answer(400, 'OCI runtime create failed: chdir to cwd ("/x") set in config.json failed')
    with pytest.raises(ProvisionFailed), translated(STARTING, ProvisionFailed):
        raise answer(500, "OCI runtime create failed: cannot set memory limit")


@pytest.mark.parametrize("ours", [Evicted("x"), StreamBroken("x"), ImageUnavailable("x")])
def test_our_own_errors_pass_untouched(ours: SandboxError) -> None:
    with pytest.raises(type(ours)), translated("looking"):
        raise ours


def test_a_bug_of_ours_is_not_dressed_up_as_infrastructure() -> None:
    with pytest.raises(ValueError), translated("looking"):
        raise ValueError("x")


def test_a_socket_that_is_not_there_is_an_engine_gone() -> None:
    with pytest.raises(EngineGone):
        Engine("unix:///nonexistent/docker.sock").containers("x")
