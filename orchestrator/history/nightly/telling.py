"""Who hears of a night: shell commands and webhooks, each with the same message as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.documents.nightly import Night, Notify

TIMEOUT = 30.0
"""Seconds a command or an answer may take."""
TRIES = 3
"""A webhook that does not answer, or answers 5xx or 429, is asked so often."""
PAUSE = 1.0
"""Seconds before the second try; doubled each time."""


def notify(
    whom: Sequence[Notify],
    night: Night,
    before: Night | None,
    environment: Mapping[str, str] = os.environ,
    pause: float = PAUSE,
) -> tuple[str, ...]:
    """Tell everybody who wants to hear of this night; a sentence for each who could not be told."""
    body = json.dumps(message(night)).encode("ascii")
    told = (
        _command(one.command, body) if one.command else _webhook(one, body, environment, pause)
        for one in whom
        if _wanted(one, night, before)
    )
    return tuple(sentence for sentence in told if sentence)


def message(night: Night) -> dict[str, Any]:
    """What is told: the ledger's line, and `text` for people (chat services show it)."""
    return {"text": "\n".join(summary(night)), **night.model_dump(mode="json")}


def summary(night: Night) -> list[str]:
    """The night in a few lines, what matters first."""
    fate = "passed" if night.passed else f"did not pass (exit {night.exit_code})"
    lines = [f"{night.nightly} {night.night}: {fate}"]
    for gate in sorted(night.gates, key=lambda gate: gate.met):
        word = "met" if gate.met else "MISSED"
        lines.append(f"{gate.kind} gate {word}: {gate.agent} on {gate.benchmark}: {gate.reason}")
    return [*lines, *night.problems]


def _wanted(one: Notify, night: Night, before: Night | None) -> bool:
    if one.when == "change":
        return before is None or before.exit_code != night.exit_code
    return one.when == "always" or night.exit_code != 0


def _command(line: str, body: bytes) -> str:
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", line], input=body, capture_output=True, timeout=TIMEOUT, start_new_session=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"the notify command could not be run: {error}"
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return f"the notify command ended with exit code {done.returncode}: {said[-1] if said else 'silent'}"
    return ""


def _webhook(one: Notify, body: bytes, environment: Mapping[str, str], pause: float) -> str:
    import httpx

    headers = {"Content-Type": "application/json"}
    if one.token_env:
        token = environment.get(one.token_env, "")
        if not token:
            return f"the webhook was not called: {one.token_env} is not set"
        headers["Authorization"] = f"Bearer {token}"
    said = ""
    for attempt in range(TRIES):
        if attempt:
            time.sleep(pause * 2 ** (attempt - 1))
        try:
            answer = httpx.post(one.webhook or "", content=body, headers=headers, timeout=TIMEOUT)
        except httpx.HTTPError as error:
            said = f"the webhook did not answer: {type(error).__name__}"
            continue
        if answer.is_success:
            return ""
        said = f"the webhook answered {answer.status_code}"
        if answer.status_code < 500 and answer.status_code != 429:
            break
    return said
