"""Answers from the before state, so that equal questions are asked once.

In memory for one run: one thread computes, the others wait. On disk (`home()/befores`) across runs: one
file for each question, written whole or not at all, with a checksum over its content. Never kept: an
infrastructure error (it is raised, and the next thread asks again) and an answer that ended at a limit.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from orchestrator.contract import StepResult
from orchestrator.regular import read_regular
from sandboxes import drafts
from sandboxes.protocol import Done, Output, Usage

Answer = tuple[StepResult, ...]

STREAM_KEPT = 128 * 1024
"""Bytes of each stream kept on disk: half from the head, half from the tail."""
ANSWER_KEPT = 32 * 1024 * 1024
"""Bytes of files beyond which an answer is not kept on disk."""
MEMORY_KEPT = 256
"""Answers kept in memory; the least recently used go first."""


class BeforeCache:
    """Thread-safe. `folder` None keeps answers in memory only."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.hits = 0
        self.asked = 0
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._turns: dict[str, tuple[threading.Lock, int]] = {}
        self._lock = threading.Lock()

    def get(self, question: str, compute: Callable[[], Answer]) -> tuple[Answer, bool]:
        """The answer, and whether it was known. `question` is a hex digest of everything that matters."""
        turn = self._take_turn(question)
        try:
            with turn:
                known = self._known(question)
                with self._lock:
                    self.asked += 1
                    self.hits += known is not None
                if known is not None:
                    return known, True
                answer = compute()
                self._keep(question, answer)
                return answer, False
        finally:
            self._end_turn(question)

    def _take_turn(self, question: str) -> threading.Lock:
        with self._lock:
            lock, waiting = self._turns.get(question, (threading.Lock(), 0))
            self._turns[question] = (lock, waiting + 1)
            return lock

    def _end_turn(self, question: str) -> None:
        with self._lock:
            lock, waiting = self._turns.pop(question)
            if waiting > 1:
                self._turns[question] = (lock, waiting - 1)

    def _known(self, question: str) -> Answer | None:
        with self._lock:
            if question in self._answers:
                self._answers.move_to_end(question)
                return self._answers[question]
        answer = None if self.folder is None else _load(self.folder / f"{question}.json")
        if answer is not None:
            self._remember(question, answer)
        return answer

    def _keep(self, question: str, answer: Answer) -> None:
        if any(result.done.limit or result.unread for result in answer):
            return
        self._remember(question, answer)
        if self.folder is not None and _weight(answer) <= ANSWER_KEPT:
            try:
                _store(self.folder / f"{question}.json", answer)
            except OSError:
                # A full or read-only disk costs the next run some time, never this run its verdict.
                pass

    def _remember(self, question: str, answer: Answer) -> None:
        with self._lock:
            self._answers[question] = answer
            while len(self._answers) > MEMORY_KEPT:
                self._answers.popitem(last=False)


def _weight(answer: Answer) -> int:
    return sum(len(data or b"") for result in answer for data in result.files.values())


def _store(path: Path, answer: Answer) -> None:
    body = json.dumps([_result_to_json(result) for result in answer])
    text = json.dumps({"sha256": hashlib.sha256(body.encode()).hexdigest(), "answer": body})
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with drafts.whole(path) as part:
        part.write_text(text, encoding="utf-8")


def _load(path: Path) -> Answer | None:
    """None when there is none, or when it is not exactly what was written."""
    try:
        document = json.loads(read_regular(path))
        body = document["answer"]
        if hashlib.sha256(body.encode()).hexdigest() != document["sha256"]:
            return None
        return tuple(_result_from_json(result) for result in json.loads(body))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zlib.error):
        return None


def _result_to_json(result: StepResult) -> dict[str, Any]:
    done = result.done
    return {
        "end": done.end,
        "exit_code": done.exit_code,
        "signal": done.signal,
        "stdout": _output_to_json(done.stdout),
        "stderr": _output_to_json(done.stderr),
        "seconds": done.seconds,
        "usage": asdict(done.usage),
        "files": {path: None if data is None else _packed(data) for path, data in result.files.items()},
    }


def _result_from_json(facts: Mapping[str, Any]) -> StepResult:
    done = Done(
        facts["end"],
        facts["exit_code"],
        facts["signal"],
        _output_from_json(facts["stdout"]),
        _output_from_json(facts["stderr"]),
        facts["seconds"],
        Usage(**facts["usage"]),
    )
    files = {path: None if text is None else _unpacked(text) for path, text in facts["files"].items()}
    return StepResult(done, files)


def _output_to_json(output: Output) -> dict[str, Any]:
    head, tail = output.head, output.tail
    if len(head) + len(tail) > STREAM_KEPT:
        half = STREAM_KEPT // 2
        joined = (head + tail) if not output.truncated else b""
        head, tail = (joined or head)[:half], (joined or tail or head)[-half:]
    return {"head": _packed(head), "tail": _packed(tail), "total": output.total}


def _output_from_json(facts: Mapping[str, Any]) -> Output:
    return Output(_unpacked(facts["head"]), _unpacked(facts["tail"]), facts["total"])


def _packed(data: bytes) -> str:
    return base64.b85encode(zlib.compress(data, 1)).decode("ascii")


def _unpacked(text: str) -> bytes:
    return zlib.decompress(base64.b85decode(text))
