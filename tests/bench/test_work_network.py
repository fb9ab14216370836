"""What a network of its own costs work: the time until its program runs, and what goes through, beside the node's."""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from node_agent.files import read_json
from node_agent.runtime.network.rules import Rules
from node_agent.runtime.network.work_network import NetworkWanted, WorkNetwork
from tests.harness.machines import Machine
from tests.journeys.test_shim import ShimSlice

STARTS, MIB, TIMES, CONNECTIONS = 20, 1024, 3, 200
# How many times as long a start may take as on the node's network; and what goes through in a second of the processor,
# whatever else that has to do.
MOST_TIMES, LEAST_MIB_PER_CPU_S = 2.0, 150
pytestmark = [
    pytest.mark.req("POOL-8.2c"),
    pytest.mark.skipif(os.geteuid() != 0, reason="other machines can be made up by root alone"),
    pytest.mark.skipif(not shutil.which("pasta"), reason="pasta is not installed"),
]
SENDER = f"""
import socket, threading
def send(connection):
    piece = bytes(2**20)
    with connection:
        if connection.recv(1) == b"x":
            for _ in range({MIB}): connection.sendall(piece)
listening = socket.create_server(("0.0.0.0", 7000), backlog=1000)
print("up", flush=True)
while True: threading.Thread(target=send, args=(listening.accept()[0],), daemon=True).start()
"""
TAKER = f"""
import socket, statistics, sys, time
def connected():
    began = time.perf_counter()
    with socket.create_connection((sys.argv[1], 7000), 30) as one: one.sendall(b"y"); one.recv(1)
    return time.perf_counter() - began
waits = [connected() for _ in range({CONNECTIONS})]
room = bytearray(2**20)
found = []
for _ in range({TIMES}):
    with socket.create_connection((sys.argv[1], 7000), 30) as one:
        one.sendall(b"x")
        began, taken = time.perf_counter(), 0
        while size := one.recv_into(room): taken += size
        found.append(taken / 2**20 / (time.perf_counter() - began))
print(max(found), statistics.median(waits), statistics.quantiles(waits, n=20)[-1])
"""


@pytest.fixture
def slices(tmp_path: Path) -> Iterator[Callable[..., ShimSlice]]:
    made: list[ShimSlice] = []

    def make(name: str, **changes: object) -> ShimSlice:
        made.append(ShimSlice(tmp_path / name, **changes))
        return made[-1]

    yield make
    for one in made:
        one.shim.send_signal(signal.SIGTERM)
        one.shim.wait(60)


def _start_s(one: ShimSlice) -> float:
    """From the start of its shim to its program's first act."""
    began = one.files.work / "began"
    before_s = time.time()
    command = [sys.executable, "-m", "node_agent.runtime.shim.supervisor", str(one.files.path)]
    one.shim = subprocess.Popen(command)
    one.shim.wait(120)
    assert (read_json(one.files.state) or {})["reason_code"] == "completed"
    return float(began.read_text()) - before_s


def test_the_start_of_work_with_a_network_of_its_own_beside_the_nodes(
    slices: Callable[..., ShimSlice],
) -> None:
    argv = ["sh", "-c", "date +%s.%N > began"]
    networks = {
        "node": None,
        "private": NetworkWanted(Rules()).to_json(),
        "none": NetworkWanted(None).to_json(),
    }
    times: dict[str, list[float]] = {name: [] for name in networks}
    for number in range(STARTS):
        for name, network in networks.items():
            one = slices(f"{name}{number}", argv=argv, isolation="namespaces", network=network)
            times[name].append(_start_s(one))
    medians = {name: statistics.median(found) for name, found in times.items()}
    for name, median_s in medians.items():
        p95_s = statistics.quantiles(times[name], n=20)[-1]
        print(f"{name}: median of {STARTS} {median_s * 1e3:.0f} ms, p95 {p95_s * 1e3:.0f} ms")
    assert medians["private"] < MOST_TIMES * medians["node"]


def test_what_goes_through_it_beside_the_nodes() -> None:
    outside = Machine()
    network = WorkNetwork(NetworkWanted(Rules()))
    try:
        network.ready()
        outside.start(SENDER)
        inside = ["nsenter", f"--net=/proc/{os.getpid()}/fd/{network.fd}"]
        found = {}
        for name, before in (("node", []), ("private", inside)):
            done = subprocess.run(
                [*before, sys.executable, "-c", TAKER, outside.address],
                capture_output=True,
                text=True,
                check=True,
            )
            found[name] = [float(word) for word in done.stdout.split()]
            speed, p50_s, p95_s = found[name]
            print(
                f"{name}: {speed:,.0f} MiB/s, a connection p50 {p50_s * 1e3:.2f} ms, p95 {p95_s * 1e3:.2f} ms"
            )
        memory_mib = sum(psutil.Process(pid).memory_full_info().uss for pid in network.pids) / 2**20
        print(f"helpers: {network.cpu_s:.2f} s of the processor, {memory_mib:.0f} MiB")
        assert MIB * TIMES / network.cpu_s > LEAST_MIB_PER_CPU_S
    finally:
        network.close()
        outside.remove()
