"""Machines beside this one, as network namespaces: to be reached by addresses that no work may be kept from."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

_numbers = itertools.count(os.getpid() % 120)
# Answers every connection, on any port that is named, with its port.
ANSWERER = """
import socketserver, sys, threading
class Answer(socketserver.BaseRequestHandler):
    def handle(self): self.request.sendall(b"port %d" % self.server.server_address[1])
for port in map(int, sys.argv[1:]):
    server = socketserver.ThreadingTCPServer(("0.0.0.0", port), Answer)
    threading.Thread(target=server.serve_forever).start()
print("up", flush=True)
"""


def run(*words: str) -> None:
    """Raises CalledProcessError where this machine does not allow it."""
    subprocess.run(words, check=True, capture_output=True, timeout=120)


class Machine:
    """One, joined by a cable to `beside` (None: this machine), with `address` here and `peer` there."""

    def __init__(self, beside: Machine | None = None) -> None:
        number = next(_numbers)
        self.address, self.peer = f"198.18.{number}.2", f"198.18.{number}.1"
        self._held: list[subprocess.Popen[str]] = [
            subprocess.Popen(["unshare", "-n", "sleep", "1000"], stdout=subprocess.PIPE, text=True)
        ]
        self.pid = self._held[0].pid
        here = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{self.pid}/ns/net") == here:
            time.sleep(0.01)
        near, far = f"weir{number}a", f"weir{number}b"
        on_near = beside.inside if beside is not None else []
        run(*on_near, "ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", str(self.pid))
        for inside, card, own in ((on_near, near, self.peer), (self.inside, far, self.address)):
            run(*inside, "ip", "addr", "add", f"{own}/24", "dev", card)
            run(*inside, "ip", "link", "set", card, "up")
        run(*self.inside, "ip", "link", "set", "lo", "up")
        run(*self.inside, "ip", "route", "add", "default", "via", self.peer)

    @property
    def inside(self) -> list[str]:
        """What a command begins with that is run there."""
        return ["nsenter", f"--net=/proc/{self.pid}/ns/net"]

    def start(self, code: str, *words: str) -> subprocess.Popen[str]:
        """A program in Python there, once it has said that it is up."""
        command = [*self.inside, sys.executable, "-c", code, *words]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **_OURS}
        )
        self._held.append(process)
        assert process.stdout is not None
        assert process.stdout.readline().startswith("up")
        return process

    def answer(self, ports: Sequence[int]) -> None:
        """Have something listen there at these ports."""
        self.start(ANSWERER, *map(str, ports))

    def remove(self) -> None:
        """Take it away, with all that runs there."""
        for process in reversed(self._held):
            process.kill()
            process.wait()


_OURS = {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
