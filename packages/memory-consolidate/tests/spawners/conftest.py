"""Real programs, written by the tests, and a real HTTP server on this machine."""

import json
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., str]:
    """Write an executable program, in Python unless another interpreter is named, and return its path."""

    def write(source: str, name: str = "program", interpreter: str = sys.executable) -> str:
        file = tmp_path / name
        file.write_text(f"#!{interpreter}\n{source}\n", encoding="utf-8")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return str(file)

    return write


def is_running(pid: int) -> bool:
    """Whether a process exists and is not just waiting to be reaped."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"


@pytest.fixture
def gone() -> Callable[[Path], Any]:
    """Wait until every process whose id a file names has ended."""
    import asyncio

    async def wait(file: Path) -> None:
        async with asyncio.timeout(10):
            for pid in map(int, file.read_text().split()):
                while is_running(pid):
                    await asyncio.sleep(0.01)

    return wait


class Endpoint:
    """A server whose answers a test lays out: each is a function that gets the handler and the request's body."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.answers: list[Callable[[BaseHTTPRequestHandler], None]] = []
        self.released = threading.Event()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                endpoint.requests.append(json.loads(body))
                endpoint.headers.append(dict(self.headers))
                endpoint.paths.append(self.path)
                endpoint.answers.pop(0)(self)

            def log_message(self, *_arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def will(self, status: int, body: object, **headers: str) -> None:
        """Answer the next request so."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()

        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            for name, value in headers.items():
                handler.send_header(name.replace("_", "-"), value)
            handler.send_header("Content-Length", str(len(data)))
            handler.end_headers()
            handler.wfile.write(data)

        self.answers.append(answer)

    def will_complete(self, content: object, **choice: object) -> None:
        """Answer the next request with a chat completion."""
        message = {"role": "assistant", "content": content}
        self.will(
            200,
            {
                "model": "served-model",
                "choices": [{"message": message, "finish_reason": "stop", **choice}],
                "usage": {"prompt_tokens": 12, "completion_tokens": 3},
            },
        )

    def will_stall(self) -> None:
        """Leave the next request without an answer until the test is over."""
        self.answers.append(lambda _handler: self.released.wait(30) and None)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    served = Endpoint()
    thread = threading.Thread(target=served.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield served
    served.released.set()
    served.server.shutdown()
    served.server.server_close()
    thread.join()
