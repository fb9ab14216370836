"""Measured shares of one device against what was sold: 1, 2, 4 and 10 tenants, programs and sessions, 10 s each.

`make bench` prints the table. Nobody may get more than one percentage point too much, ever. Nobody may get less
either where the machine had room: always for programs as root, whose processes go first; else where it was idle
besides. A client of a session that others keep from running cannot use what it bought.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from node_agent.files import write_json
from node_agent.runtime import proc
from node_agent.runtime.isolation.own_packages import own_packages_link
from node_agent.sessions.available import torch_version
from tests.journeys.test_shim import SPIN, ShimSlice

pytestmark = pytest.mark.req("POOL-12.1", "POOL-7.3b")
SECONDS = 10.0
POINTS = 1.0
TOKEN = "a-token-of-sixteen-characters-or-more"
TENANTS = ([30], [30, 60], [10, 20, 30, 35], [5, 6, 7, 8, 9, 10, 11, 12, 13, 14])


def tree_s(kept: ShimSlice) -> float:
    """CPU seconds of the work and all its children."""
    pid = int(kept.state()["work_pid"])
    return proc.cpu_seconds([pid, *proc.descendants(pid)])


def shares_over(works: list[ShimSlice], seconds: float) -> list[float]:
    began, before = time.monotonic(), [tree_s(work) for work in works]
    time.sleep(seconds)
    after, ended = [tree_s(work) for work in works], time.monotonic()
    return [100 * (late - early) / (ended - began) for early, late in zip(before, after, strict=True)]


@contextmanager
def kept(folder: Path, percents: list[int], kind: str, **more: object) -> Iterator[list[ShimSlice]]:
    made: list[ShimSlice] = []
    try:
        for number, percent in enumerate(percents):
            one = ShimSlice(folder / f"t{number}", compute_percent=percent, memory_mib=256, meter_s=5, **more)
            made.append(one.program(SPIN) if kind == "program" else session(one, folder))
        for one in made:
            one.until(lambda one=one: one.state().get("state") == "running", 30)
        yield made
    finally:
        for one in made:
            one.shim.terminate()
        for one in made:
            one.shim.wait(30)


def session(one: ShimSlice, folder: Path) -> ShimSlice:
    wish = {"kind": "session", "argv": [], "session": {"token": TOKEN}, "host": "127.0.0.1",
            "bind": "127.0.0.1", "lib_dir": str(own_packages_link(folder / "lib"))}  # fmt: skip
    write_json(one.files.spec, one.spec | wish)
    return one.start()


class Client(threading.Thread):
    """Keeps one session busy with products of matrices, so many before it waits for their end."""

    def __init__(self, one: ShimSlice, ahead: int) -> None:
        super().__init__(daemon=True)
        self._one, self._ahead, self.stop = one, ahead, threading.Event()

    def run(self) -> None:
        import torch
        from weir.link.remote import RemoteLink

        from tests.sessions.client import Hand

        report = self._one.state()["session"]
        link = RemoteLink("127.0.0.1", report["port"], report["fingerprint"], TOKEN, timeout_s=60)
        hand = Hand(link)
        tensor = torch.randn(384, 384)
        left = hand.up(tensor)
        while not self.stop.is_set():
            for _ in range(self._ahead):
                hand.free(hand.run("aten::mm.default", [left, left], like=tensor))
            hand.down(left)
        link.close()


@contextmanager
def clients(works: list[ShimSlice], ahead: int = 4) -> Iterator[None]:
    for one in works:
        one.until(lambda one=one: (one.state().get("session") or {}).get("port"), 120)
    running = [Client(one, ahead) for one in works]
    for client in running:
        client.start()
    for one in works:
        one.until(lambda one=one: one.state()["mounted"], 60)
    try:
        yield
    finally:
        for client in running:
            client.stop.set()
        for client in running:
            client.join(30)


@pytest.mark.parametrize("percents", TENANTS, ids=lambda percents: f"{len(percents)} tenants")
@pytest.mark.parametrize("kind", ["program", "session"])
def test_every_tenant_gets_what_it_bought(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, percents: list[int]
) -> None:
    if kind == "session" and not torch_version():
        pytest.skip("sessions need PyTorch, which is not installed")
    with kept(tmp_path, percents, kind) as works:
        if kind == "session":
            with clients(works):
                shares, idle = measured(works)
        else:
            shares, idle = measured(works)
    worst = max(abs(share - sold) for share, sold in zip(shares, percents, strict=True))
    pairs = "  ".join(f"{sold}:{share:.2f}" for sold, share in zip(percents, shares, strict=True))
    with capsys.disabled():
        print(f"\n{kind:8} sold:got %  {pairs}   worst {worst:.2f} points, machine idle {idle:.0f} %")
    assert all(share <= sold + POINTS for share, sold in zip(shares, percents, strict=True))
    is_first = kind == "program" and os.geteuid() == 0
    if is_first or idle >= 100 / (os.cpu_count() or 1) / 2:
        assert worst <= POINTS, pairs


# A card whose vendor tells nothing of single works, and a session's worker that waits by itself, as on every card.
CARD = {"vendor": "ascend", "is_throttled": False}


@contextmanager
def on_one_core() -> Iterator[None]:
    """What is started here computes on one core alone: as on a card, where each has a part while another runs too."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize("percents", TENANTS[1:3], ids=lambda percents: f"{len(percents)} tenants")
def test_sessions_on_one_card_run_by_turns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], percents: list[int]
) -> None:
    """A core stands for the card. Beside it the same without turns: their shims do not know of each other."""
    if not torch_version():
        pytest.skip("sessions need PyTorch, which is not installed")
    ratios = {}
    for name, more in (("by turns", {}), ("without turns", {"peer_usage_dir": ""})):
        with on_one_core():
            works = kept(tmp_path / name.replace(" ", "-"), percents, "session", **CARD, **more)
            made = works.__enter__()
        try:
            with clients(made, ahead=200):
                shares, idle = measured(made)
        finally:
            works.__exit__(None, None, None)
        ratios[name] = [share / sold for share, sold in zip(shares, percents, strict=True)]
        pairs = "  ".join(f"{sold}:{share:.2f}" for sold, share in zip(percents, shares, strict=True))
        with capsys.disabled():
            least = min(ratios[name])
            print(
                f"\n{name:13} sold:got %  {pairs}   least {least:.2f} of what was sold, machine idle {idle:.0f} %"
            )
        assert all(share <= sold + 3 * POINTS for share, sold in zip(shares, percents, strict=True))
        if idle < 100 / (os.cpu_count() or 1) / 2:
            pytest.skip("the machine is busy: a session's time on the core is not what passes")
    assert min(ratios["by turns"]) > max(min(ratios["without turns"]), 0.85)


def measured(works: list[ShimSlice]) -> tuple[list[float], float]:
    """Shares over the time, and how idle the machine was besides, in percent of all its cores."""
    time.sleep(2)
    psutil.cpu_percent()
    shares = shares_over(works, SECONDS)
    return shares, 100 - psutil.cpu_percent()
