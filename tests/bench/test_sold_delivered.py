"""What is sold beside what arrives: share and memory of a device, cores and memory of a host, both sold together,
scratch disk, each by work that wants more of it.

`make bench ARGS="-k sold_delivered -s"` prints the table. Nobody gets more than was sold; less only where the machine
was busy besides.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from tests.bench.test_shares import POINTS, SECONDS, shares_over
from tests.journeys.test_shim import ShimSlice, kept  # noqa: F401

pytestmark = pytest.mark.req("POOL-12.1", "PLAT-OPS-22")
# It computes until it may go on, then takes memory until there is no more, and says how much it got.
GREEDY = """
import os
while not os.path.exists('go'): sum(range(9999))
held = []
try:
    while True:
        held.append(bytearray(b'1' * (1 << 20)))
        with open('part', 'w') as file: file.write(str(len(held)))
        os.replace('part', 'most')
except MemoryError:
    pass
open('over', 'w').close()
while True: sum(range(9999))
"""
# It writes a MiB after the other, slower than its disk is looked at, and says how many it has written.
FILLING = """
import time
for n in range(1, 10_000):
    with open(f'{n}', 'wb') as file: file.write(b'1' * (1 << 20))
    print(n, flush=True)
    time.sleep(0.25)
"""
ON_DEVICE = [(10, 128), (30, 256), (60, 512)]
ON_HOST = [(300, 128), (500, 256), (900, 512)]
# Of a device and of the host: percent of a core, MiB, thousandths of a core, MiB.
TOGETHER = [(20, 128, 300, 128), (30, 192, 500, 320)]
SCRATCH_MIB = (8, 16)
# Its disk is looked at once a second at most while it fills, and `du` itself takes its time.
LOOK_MIB = 12
# What the interpreter itself takes of the memory that it is given.
OWN_MIB = 24


def delivered(one: ShimSlice) -> tuple[float, int, float]:
    """The percent of a core that it got, the MiB, and how idle the machine was meanwhile."""
    one.until(lambda: one.state().get("state") == "running", 30)
    time.sleep(2)
    psutil.cpu_percent()
    (percent,) = shares_over([one], SECONDS)
    idle = 100 - psutil.cpu_percent()
    (one.files.work / "go").touch()
    one.until(lambda: (one.files.work / "over").exists() or one.shim.poll() is not None, 120)
    return percent, one.most(), idle


@pytest.mark.usefixtures("capsys")
def test_what_arrives_is_what_was_sold(
    kept: Callable[..., ShimSlice],  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows: list[tuple[str, float, float, int, int, float]] = []
    for percent, mib in ON_DEVICE:
        one = kept(f"device{percent}", compute_percent=percent, memory_mib=mib).program(GREEDY)
        got, most, idle = delivered(one)
        one.want(state="stopped")
        one.ended()
        rows.append(("share of a device", percent, got, mib, most, idle))
    for milli, mib in ON_HOST:
        host: dict[str, Any] = {"compute_percent": 0, "memory_mib": 0, "peer_usage_dir": "", "driver": "host"}
        one = kept(f"host{milli}", host_cpu_milli=milli, host_memory_mib=mib, **host).program(GREEDY)
        got, most, idle = delivered(one)
        if one.shim.poll() is None:
            one.want(state="stopped")
        one.ended()
        rows.append(("host", milli / 10, got, mib, most, idle))
    for percent, mib, milli, host_mib in TOGETHER:
        share = {"compute_percent": percent, "memory_mib": mib}
        beside = {"host_cpu_milli": milli, "host_memory_mib": host_mib}
        one = kept(f"both{percent}", **share, **beside).program(GREEDY)
        got, most, idle = delivered(one)
        one.want(state="stopped")
        one.ended()
        rows.append(("both together", percent + milli / 10, got, mib + host_mib, most, idle))
    disks: list[tuple[int, int]] = []
    for mib in SCRATCH_MIB:
        one = kept(f"disk{mib}", disk_mib=mib, has_scratch_disk=True, memory_mib=256).program(FILLING)
        assert one.ended()["reason_code"] == "disk_exceeded"
        disks.append((mib, max(int(line) for line in one.log().splitlines() if line.isdecimal())))
    with capsys.disabled():
        print("\n| | compute sold | delivered | memory sold | delivered |\n|---|---|---|---|---|")
        for what, sold, got, mib, most, _idle in rows:
            print(f"| {what} | {sold:.0f} % of a core | {got:.2f} % | {mib} MiB | {most} MiB |")
        print("\n| | scratch disk sold | written before the end |\n|---|---|---|")
        for mib, most in disks:
            print(f"| scratch disk | {mib} MiB | {most} MiB |")
    for mib, most in disks:
        assert mib <= most <= mib + LOOK_MIB, (mib, most)
    for what, sold, got, mib, most, idle in rows:
        assert got <= sold + POINTS, what
        assert got >= sold - POINTS or idle < 50, (what, sold, got, idle)
        assert mib - OWN_MIB <= most <= mib, (what, mib, most)
