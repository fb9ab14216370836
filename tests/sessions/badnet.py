"""A network between this namespace and another whose delay and loss a test sets: packets pass through here.

Two TUN cards, one on each side; a thread carries packets between them, late or never. Works where netem is
not built into the kernel.
"""

from __future__ import annotations

import contextlib
import fcntl
import heapq
import itertools
import os
import random
import select
import struct
import subprocess
import threading
import time

_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_numbers = itertools.count(os.getpid() % 200)


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, timeout=120)


def _card(name: str) -> int:
    card = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(card, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI))
    return card


class BadNetwork:
    """`near` is this side's address, `far` the other's; `inside` runs a command there. Raises OSError and
    subprocess.CalledProcessError where this machine does not allow it."""

    def __init__(self) -> None:
        n = next(_numbers)
        self.name, card, peer = f"weirns{n}", f"wrt{n}a", f"wrt{n}b"
        self.near, self.far = f"10.213.{n}.1", f"10.213.{n}.2"
        self.inside = ["ip", "netns", "exec", self.name]
        self.delay_s = self.loss = 0.0
        self.carried = self.dropped = 0
        self._random = random.Random(1)  # which packets are lost, the same in every run
        self._cards = (_card(card), _card(peer))
        _run("ip", "netns", "add", self.name)
        _run("ip", "link", "set", peer, "netns", self.name)
        _run("ip", "addr", "add", self.near, "peer", self.far, "dev", card)
        _run("ip", "link", "set", card, "up")
        _run(*self.inside, "ip", "addr", "add", self.far, "peer", self.near, "dev", peer)
        _run(*self.inside, "ip", "link", "set", peer, "up")
        self._is_over = False
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()

    def shape(self, *, delay_s: float = 0.0, loss: float = 0.0) -> None:
        """One-way delay, and the share of packets that never arrive (1: a partition)."""
        self.delay_s, self.loss = delay_s, loss

    def remove(self) -> None:
        """Take it away."""
        self._is_over = True
        self._thread.join()
        for card in self._cards:
            os.close(card)
        subprocess.run(["ip", "netns", "del", self.name], check=False, capture_output=True)

    def _carry(self) -> None:
        late: list[tuple[float, int, int, bytes]] = []
        order = itertools.count()
        poll = select.poll()
        for card in self._cards:
            poll.register(card, select.POLLIN)
        while not self._is_over:
            wait_s = min(0.05, max(late[0][0] - time.monotonic(), 0)) if late else 0.05
            for card, _event in poll.poll(wait_s * 1000):
                packet = os.read(card, 65536)
                other = self._cards[1 - self._cards.index(card)]
                if self._random.random() < self.loss:
                    self.dropped += 1
                else:
                    heapq.heappush(late, (time.monotonic() + self.delay_s, next(order), other, packet))
            while late and late[0][0] <= time.monotonic():
                _at, _order, card, packet = heapq.heappop(late)
                with contextlib.suppress(OSError):
                    os.write(card, packet)
                self.carried += 1
