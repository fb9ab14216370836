"""One question after a service's health: an HTTP request that is never waited for."""

from __future__ import annotations

import re
import socket
from contextlib import suppress

from node_agent.runtime.records.meter import NS
from node_agent.web.service_place import ServicePlace
from node_agent.web.work_socket import NotListening, TooBusy

_STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})[ \r\n]")
_STATUS_BYTES = 64
_FINE = range(200, 400)
HEALTHY = ""


class HealthCheck:
    """`look` gives None until there is an answer, then `HEALTHY` or what is wrong."""

    def __init__(self, place: ServicePlace, path: str, timeout_s: int, now_ns: int) -> None:
        self._path, self._timeout_s = path, timeout_s
        self._due_ns = now_ns + timeout_s * NS
        self._heard = b""
        self._connection: socket.socket | None = None
        self._result: str | None = None
        request = (
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: weir-health\r\nConnection: close\r\n\r\n"
        )
        try:
            self._connection = place.connect()
            self._connection.sendall(request.encode())
        except NotListening as error:
            self._end(str(error))
        except (TooBusy, OSError) as error:
            self._end(f"it takes no connections: {error}")

    def look(self, now_ns: int) -> str | None:
        if self._result is None and self._connection is not None:
            self._read(self._connection)
        if self._result is None and now_ns >= self._due_ns:
            self._end(f"GET {self._path} was not answered within {self._timeout_s} s")
        return self._result

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _read(self, connection: socket.socket) -> None:
        try:
            piece = connection.recv(_STATUS_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(f"GET {self._path} broke off: {error.strerror}")
            return
        self._heard = (self._heard + piece)[:_STATUS_BYTES]
        found = _STATUS.match(self._heard)
        if found is not None:
            code = int(found[1])
            self._end(HEALTHY if code in _FINE else f"GET {self._path} answered {code}")
        elif not piece or len(self._heard) == _STATUS_BYTES:
            self._end(f"GET {self._path} was answered with no HTTP")

    def _end(self, result: str) -> None:
        self._result = result
        with suppress(OSError):
            self.close()
