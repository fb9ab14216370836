"""A portal that tells something else than it has: it stands before the real one and changes its answers."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx


class Liar:
    """Passes every request on; in answers to addresses that hold `path`, `old` becomes `new`.

    Args:
        only: of lists, the rows of this node alone are told.
    """

    def __init__(self, port: int, path: str, old: str, new: str, *, only: str = "") -> None:
        liar = self
        self._real, self._lie, self._only = f"http://127.0.0.1:{port}", (path, old, new), only

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                liar.answer(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *_arguments: object) -> None:
                """It keeps silent about what it does."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Liar":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, asked: BaseHTTPRequestHandler) -> None:
        """Ask the real portal and tell what it says, changed."""
        body = asked.rfile.read(int(asked.headers.get("Content-Length") or 0))
        kept = {
            name: value
            for name, value in asked.headers.items()
            if name.lower() not in ("host", "content-length")
        }
        real = httpx.request(asked.command, self._real + asked.path, content=body, headers=kept, timeout=240)
        told = self._changed(asked.path, real.text).encode()
        asked.send_response(real.status_code)
        asked.send_header("Content-Type", real.headers.get("Content-Type", "application/json"))
        asked.send_header("Content-Length", str(len(told)))
        asked.end_headers()
        asked.wfile.write(told)

    def _changed(self, path: str, text: str) -> str:
        where, old, new = self._lie
        if where not in path:
            return text
        if self._only:
            found = json.loads(text)
            if isinstance(found, dict) and "results" in found:
                found["results"] = [row for row in found["results"] if row["node"] == self._only]
            return json.dumps(found)
        return text.replace(old, new)
