"""Defences of test reports, switched off: what proves a run, and who watches it."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest import mock

from orchestrator.contract import Step, StepResult
from orchestrator.testreports import Reporter, TestReport
from orchestrator.testreports.jsonlines import JUDGE_FOLDER, judge_layer, nonces
from sandboxes.spec import Entry, Layer

from .stage import Stage


class _Wrapped:
    """A reporter with something taken away."""

    def __init__(self, inner: Reporter) -> None:
        self.inner = inner
        self.name, self.names_tests = inner.name, inner.names_tests

    def recognises(self, command: str) -> bool:
        return self.inner.recognises(command)

    def step(self, command: str, env: Mapping[str, str], token: str) -> Step:
        return self.inner.step(command, env, token)

    def read(self, result: StepResult, token: str) -> TestReport:
        return self.inner.read(result, token)


class _Unwatched(_Wrapped):
    def read(self, result: StepResult, token: str) -> TestReport:
        return replace(super().read(result, token), changed=(), hooks=())


class _WithoutCanaries(_Wrapped):
    def read(self, result: StepResult, token: str) -> TestReport:
        report = super().read(result, token)
        return replace(report, changed=tuple(w for w in report.changed if not w.startswith("canary: ")))


class _Keyless(_Wrapped):
    """Believes every line it can read, whoever wrote it."""

    def read(self, result: StepResult, token: str) -> TestReport:
        files = {path: data and _signed(data, nonces(token)) for path, data in result.files.items()}
        return super().read(replace(result, files=files), token)


def _signed(data: bytes, keys: Iterable[str]) -> bytes:
    runs: dict[str, list[dict[str, Any]]] = {}
    for line in data.splitlines():
        try:
            facts = json.loads(line)
            runs.setdefault(facts["run"], []).append(facts)
        except (ValueError, KeyError, TypeError):
            continue
    out = b""
    for (run, lines), key in zip(runs.items(), keys, strict=False):
        mac = hmac.new(key.encode(), digestmod=hashlib.sha256)
        ended = any(line["kind"] == "end" for line in lines)
        body = [line for line in lines if line["kind"] != "end"]
        for line in body:
            text = json.dumps(line).encode() + b"\n"
            mac.update(text)
            out += text
        if ended:
            last = next(line for line in lines if line["kind"] == "end")
            ran = len({line["id"] for line in body if line["kind"] == "test"})
            last |= {"run": run, "lines": len(body), "ran": ran, "digest": mac.hexdigest()}
            out += json.dumps(last).encode() + b"\n"
    return out


def exit_codes_alone(stage: Stage, stack: ExitStack) -> None:
    stage.reading = False
    stage.task = stage.task.model_copy(update={"expected": {}})


def no_lists(stage: Stage, stack: ExitStack) -> None:
    stage.task = stage.task.model_copy(update={"expected": {}})
    stack.enter_context(mock.patch("orchestrator.checks.runs.dodged", lambda before, after: None))


def no_comparing(stage: Stage, stack: ExitStack) -> None:
    stack.enter_context(mock.patch("orchestrator.checks.runs.dodged", lambda before, after: None))


def unwatched(stage: Stage, stack: ExitStack) -> None:
    stage.wrap = _Unwatched


def no_canaries(stage: Stage, stack: ExitStack) -> None:
    stage.wrap = _WithoutCanaries


def keyless(stage: Stage, stack: ExitStack) -> None:
    stage.wrap = _Keyless


def known_token(stage: Stage, stack: ExitStack) -> None:
    known = SimpleNamespace(token_hex=lambda size: "known")
    stack.enter_context(mock.patch("orchestrator.checks.runs.secrets", known))


def key_in_the_environment(stage: Stage, stack: ExitStack) -> None:
    told = lambda step, token: step  # noqa: E731
    stack.enter_context(mock.patch("orchestrator.checks.runs.keys_in_files", told))


def work_tree_first(stage: Stage, stack: ExitStack) -> None:
    """The plug-ins are loaded as any module is, with the work tree first on the import path."""

    def entries() -> Iterator[Entry]:
        for entry in judge_layer().entries():
            if entry.path == b"start/sitecustomize.py":
                loose = b"import os\nsys.path.insert(0, os.getcwd())\n_take_post()\n"
                text = entry.data.replace(b"_with_our_library_only(_take_post)\n", loose)
                text = text.replace(b"        _load_what_pytest_needs()\n", b"")
                entry = replace(entry, data=text)
            yield entry

    layer = Layer("loose-judge", JUDGE_FOLDER, entries)
    for place in ("pytest_report", "unittest_report"):
        stack.enter_context(mock.patch(f"orchestrator.testreports.{place}.judge_layer", lambda: layer))
    stage.wrap = _Unwatched


def loose_modules(stage: Stage, stack: ExitStack) -> None:
    from orchestrator.testreports import node_report

    real = node_report._options
    loose = lambda command: real(command).replace(f"--require={JUDGE_FOLDER}/proctor_fixed.cjs ", "")  # noqa: E731
    stack.enter_context(mock.patch.object(node_report, "_options", loose))


def failures_uncounted(stage: Stage, stack: ExitStack) -> None:
    from orchestrator.testreports import phpunit_report

    stack.enter_context(mock.patch.object(phpunit_report, "contradiction", lambda *given: ""))


def tail_is_enough(stage: Stage, stack: ExitStack) -> None:
    stack.enter_context(
        mock.patch("orchestrator.testreports.printed.printed_text", lambda result: result.done.stdout.text)
    )


def totals_do_not_matter(stage: Stage, stack: ExitStack) -> None:
    from orchestrator.testreports import tap_report

    real = tap_report.read_points
    loose = lambda text: replace(real(text), end="graded", problems=())  # noqa: E731
    stack.enter_context(mock.patch.object(tap_report, "read_points", loose))
