"""Sessions that form a process group, each with a client that writes its frames by hand."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from tests.sessions.client import Hand
from tests.sessions.served import Served, served
from weir_wire import wire
from weir_wire.wire import Kind


class Rank:
    """One session, its client, and its place in the group."""

    def __init__(self, served: Served, **options: Any) -> None:
        self.served = served
        self.link = served.link(**options)
        self.hand = Hand(self.link)
        self.group = ""

    def met(self, rank: int, size: int) -> dict[str, Any]:
        """What the worker says of where it is."""
        asked = wire.dump_json({"rank": rank, "size": size})
        told: dict[str, Any] = json.loads(bytes(self.link.request(Kind.MEET, asked)))
        self.group = told["group"]
        return told

    def join(self, peers: list[Any], timeout_s: float = 20) -> None:
        told = {"group": self.group, "timeout_s": timeout_s, "peers": peers}
        self.link.send(Kind.JOIN, wire.dump_json(told))

    def ask(self, op: str, ins: list[int] | None = None, outs: list[int] | None = None, **more: Any) -> None:
        told = {"group": self.group, "op": op, "in": ins or [], "out": outs or [], "timeout_s": 20, **more}
        self.link.send(Kind.COLLECTIVE, wire.dump_json(told))


def address(told: dict[str, Any], rank: int) -> dict[str, Any]:
    """What MEET said, as JOIN takes it for a rank."""
    place = {name: told[name] for name in ("group", "host", "port", "fingerprint")}
    return {**place, "secret": told["secrets"][rank]}


def join_all(ranks: list[Rank], timeout_s: float = 20) -> None:
    """Have them meet as one group."""
    told = [one.met(rank, len(ranks)) for rank, one in enumerate(ranks)]
    for rank, one in enumerate(ranks):
        peers = [None if other == rank else address(told[other], rank) for other in range(len(ranks))]
        one.join(peers, timeout_s)
    each(ranks, lambda one: one.link.stat())


def each(ranks: list[Rank], act: Callable[[Rank], Any]) -> list[Any]:
    """What each rank gives, all of them at once."""
    with ThreadPoolExecutor(len(ranks)) as pool:
        return list(pool.map(act, ranks))


@contextlib.contextmanager
def grouped(size: int, **options: Any) -> Iterator[list[Rank]]:
    """So many sessions that have met."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with contextlib.ExitStack() as stack:
        ranks = [Rank(stack.enter_context(served(**options))) for _ in range(size)]
        join_all(ranks)
        yield ranks
        for one in ranks:
            one.link.close()
    torch.set_num_threads(threads)


def refusal(act: Callable[[], Any]) -> str:
    """What a session says went wrong; "" where nothing did."""
    try:
        act()
    except wire.SessionFault as failure:
        return str(failure)
    return ""
