"""A hop between client and worker that can be cut, silenced and closed."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time


class Proxy:
    """Forwards bytes of TCP connections to a port of this machine, each `delay_s` later than it came."""

    def __init__(self, port: int, *, delay_s: float = 0.0) -> None:
        self._to, self._delay_s = port, delay_s
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self._is_shut = False
        self.carried_bytes = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """All connections break now; new ones are let through."""
        open_now, self._open = self._open, []
        for sock in open_now:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def shut(self, is_shut: bool) -> None:
        """Whether new connections are dropped at once."""
        self._is_shut = is_shut
        if is_shut:
            self.cut()

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                near, _address = self._listener.accept()
            except OSError:
                return
            if self._is_shut:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self._to))
            self._open += [near, far]
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(one, other), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        late: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
        if self._delay_s:
            threading.Thread(target=self._deliver, args=(late, sink), daemon=True).start()
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.carried_bytes += len(data)
                if self._delay_s:
                    late.put((time.monotonic() + self._delay_s, data))
                else:
                    sink.sendall(data)
            if not self._delay_s:
                sink.shutdown(socket.SHUT_WR)
        late.put((time.monotonic() + self._delay_s, b""))

    @staticmethod
    def _deliver(late: queue.SimpleQueue[tuple[float, bytes]], sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                due, data = late.get()
                time.sleep(max(due - time.monotonic(), 0))
                if not data:
                    sink.shutdown(socket.SHUT_WR)
                    return
                sink.sendall(data)
