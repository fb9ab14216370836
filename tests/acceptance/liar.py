"""A portal that tells something else than it has: it stands before the real one and changes its answers."""

import itertools
import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

from apps.conformance.harness.people import caller_name

Change = Callable[[str], str]
_DROPPED = ("host", "content-length", "accept-encoding")
_COUNT = itertools.count()


@dataclass(frozen=True)
class Lie:
    """In answers to addresses that hold `path`, the text becomes what `change` makes of it."""

    path: str
    change: Change


class Liar:
    """Passes every request on, and tells each test of a run its own lie.

    Args:
        port: of the real portal.
        lies: by the number of the test that is lied to; the one of `EVERYBODY` is told to whoever asks.
    """

    EVERYBODY = "*"

    def __init__(self, port: int, lies: Mapping[str, Lie]) -> None:
        liar = self
        self._lies = {caller_name(number): lie for number, lie in lies.items() if number != self.EVERYBODY}
        self._to_all = lies.get(self.EVERYBODY)
        self._real = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=240)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                liar.answer(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *_arguments: object) -> None:
                """It keeps silent about what it does."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Liar":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._real.close()

    def answer(self, asked: BaseHTTPRequestHandler) -> None:
        """Ask the real portal and tell what it says, changed."""
        body = asked.rfile.read(int(asked.headers.get("Content-Length") or 0))
        kept = {name: value for name, value in asked.headers.items() if name.lower() not in _DROPPED}
        real = self._real.request(asked.command, asked.path, content=body, headers=kept)
        lie = self._lies.get(asked.headers.get("User-Agent", "")) or self._to_all
        is_lied_to = lie is not None and lie.path in asked.path
        told = lie.change(real.text).encode() if lie is not None and is_lied_to else real.content
        asked.send_response(real.status_code)
        asked.send_header("Content-Type", real.headers.get("Content-Type", "application/json"))
        asked.send_header("Content-Length", str(len(told)))
        asked.end_headers()
        asked.wfile.write(told)


def instead(old: str, new: str) -> Change:
    """`new` for `old`."""
    return lambda text: text.replace(old, new)


def never_the_same(name: str) -> Change:
    """A text field with another value in each answer."""
    return lambda text: re.sub(rf'"{name}":"[^"]*"', f'"{name}":"lie-{next(_COUNT)}"', text)


def rows(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Change:
    """Other rows of a list."""

    def changed(text: str) -> str:
        found = json.loads(text)
        if isinstance(found, dict) and "results" in found:
            found["results"] = change(found["results"])
        return json.dumps(found, separators=(",", ":"))

    return changed
