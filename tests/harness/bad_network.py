"""A proxy of the tests before a centre's HTTP interface: it cuts answers, holds them back, changes them, lets them
trickle, and loses them after what was asked has arrived."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_CHUNKED = re.compile(rb"transfer-encoding:\s*chunked", re.IGNORECASE)
_LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)


@dataclass
class Fault:
    """What happens to answers of requests whose first line has `only` in it; the first `after` of them are spared."""

    only: str = ""
    after: int = 0
    # So many bytes of the answer come, then the connection ends.
    cut_at: int | None = None
    # The centre is asked and answers, and nothing of it comes.
    is_lost: bool = False
    # The centre is not asked.
    is_kept_off: bool = False
    delay_s: float = 0.0
    # Seconds between bytes.
    trickle_s: float = 0.0
    # Makes another body of the answer's.
    body: Callable[[bytes], bytes] | None = None
    # Makes another answer of the answer, head and all.
    whole: Callable[[bytes], bytes] | None = None


@dataclass
class BadNetwork:
    """A proxy at `address`, well as long as there is no fault. `asked` are the first lines of what it carried."""

    upstream: tuple[str, int]
    address: str = ""
    fault: Fault | None = None
    asked: list[str] = field(default_factory=list)
    answers: list[bytes] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def bad(self, fault: Fault) -> Iterator[Fault]:
        """The network with a fault, for a while."""
        self.fault, before = fault, self.fault
        self.asked.clear()
        self.answers.clear()
        try:
            yield fault
        finally:
            self.fault = before

    def serve(self, listener: socket.socket) -> None:
        """Carry connections until the listener is closed."""
        while not self._ended.is_set():
            try:
                client, _peer = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._carried, args=(client,), daemon=True).start()

    def end(self) -> None:
        """Let go of whoever waits."""
        self._ended.set()

    def _carried(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            client.settimeout(60)
            asked = _message(client)
            if not asked:
                return
            line = asked.partition(b"\r\n")[0].decode("latin-1")
            self.asked.append(line)
            fault = self._fault_of(line)
            if fault is not None and fault.is_kept_off:
                return
            with socket.create_connection(self.upstream, 60) as server:
                server.sendall(asked)
                answer = _message(server)
            self.answers.append(answer)
            self._answered(client, answer, fault)

    def _fault_of(self, line: str) -> Fault | None:
        fault = self.fault
        if fault is None or fault.only not in line:
            return None
        if fault.after:
            fault.after -= 1
            return None
        return fault

    def _answered(self, client: socket.socket, answer: bytes, fault: Fault | None) -> None:
        if fault is None:
            client.sendall(answer)
            return
        if fault.is_lost:
            # Whoever asked gives up first.
            with suppress(OSError):
                client.recv(1)
            return
        if fault.body is not None:
            answer = with_body(answer, fault.body(answer.partition(b"\r\n\r\n")[2]))
        if fault.whole is not None:
            answer = fault.whole(answer)
        if fault.cut_at is not None:
            answer = answer[: fault.cut_at]
        if self._ended.wait(fault.delay_s):
            return
        if not fault.trickle_s:
            client.sendall(answer)
            return
        for at in range(len(answer)):
            client.sendall(answer[at : at + 1])
            time.sleep(fault.trickle_s)


def with_body(answer: bytes, body: bytes) -> bytes:
    """An answer with another body, whose length its head tells."""
    head = answer.partition(b"\r\n\r\n")[0]
    return _LENGTH.sub(b"Content-Length: %d" % len(body), head) + b"\r\n\r\n" + body


@contextmanager
def bad_network(upstream: str) -> Iterator[BadNetwork]:
    """A proxy before an HTTP address, on a port of its own."""
    parts = urlsplit(upstream)
    assert parts.hostname
    assert parts.port
    made = BadNetwork((parts.hostname, parts.port))
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:
        made.address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread = threading.Thread(target=made.serve, args=(listener,), daemon=True)
        thread.start()
        yield made
        made.end()
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def _message(peer: socket.socket) -> bytes:
    """One message with its body; b"" where none comes."""
    read = b""
    while b"\r\n\r\n" not in read:
        block = peer.recv(65536)
        if not block:
            return read
        read += block
    head, _end, body = read.partition(b"\r\n\r\n")
    told = _LENGTH.search(head)
    parts, size = [body], len(body)
    while told is not None and size < int(told[1]) and (block := peer.recv(2**20)):
        parts.append(block)
        size += len(block)
    whole = b"".join(parts)
    return head + b"\r\n\r\n" + (_chunks(peer, whole) if _CHUNKED.search(head) else whole)


def _chunks(peer: socket.socket, begun: bytes) -> bytes:
    """A body in chunks, as it comes, to the last of them."""
    data, at = bytearray(begun), 0
    while True:
        line = data.find(b"\r\n", at)
        end = line + 4 + int(data[at:line], 16) if line >= 0 else 0
        if line < 0 or len(data) < end:
            if not (block := peer.recv(2**20)):
                return bytes(data)
            data += block
        elif end == line + 4:
            return bytes(data)
        else:
            at = end
