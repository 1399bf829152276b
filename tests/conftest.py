"""What tests of several kinds share."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Answer = tuple[int, dict[str, str], bytes]


@dataclass
class JudgeServer:
    """An OpenAI-compatible endpoint on loopback that says what a test wants: one answer after the other, the
    last one for good."""

    answers: list[Answer] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    hold: threading.Event | None = None
    """Answers only once it is set."""
    asked: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def says(self, *texts: str) -> None:
        """Chat completions with these texts."""
        for text in texts:
            body = {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": {"total": 7}}
            self.answers.append((200, {}, json.dumps(body).encode()))

    def grades(self, *scores: float) -> None:
        self.says(*(json.dumps({"score": score, "reason": f"worth {score}"}) for score in scores))

    def breaks(self, status: int, body: bytes = b"{}", **headers: str) -> None:
        self.answers.append((status, {name.replace("_", "-"): v for name, v in headers.items()}, body))

    def next_answer(self) -> Answer:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.fixture
def judge_server() -> Iterator[JudgeServer]:
    told = JudgeServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.requests.append({"path": self.path, **json.loads(body)})
            told.headers.append(dict(self.headers))
            told.asked.set()
            if told.hold is not None:
                told.hold.wait(60)
            status, headers, data = told.next_answer()
            try:
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)
            except OSError:
                pass  # whoever asked is gone

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    told.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield told
    finally:
        if told.hold is not None:
            told.hold.set()
        server.shutdown()
        thread.join()
        server.server_close()
