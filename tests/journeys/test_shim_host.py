"""Of a node's host: work on it alone, beside a share of a device that is the processor, and beside a card."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journeys.test_shim import SPIN, ShimSlice, is_held_between, kept

__all__ = ["kept"]
pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("shim")]


def test_work_on_the_host_alone_is_held_to_what_was_asked_of_the_host(
    kept: Callable[..., ShimSlice],
) -> None:
    share = {"compute_percent": 0, "memory_mib": 0, "peer_usage_dir": "", "driver": "host"}
    one = kept(host_cpu_milli=300, host_memory_mib=64, **share).program(
        "import os\nwhile not os.path.exists('go'): sum(range(9999))\n"
        "held = []\nwhile True: held.append(bytearray(b'1' * (1 << 20)))"
    )
    one.until(lambda: one.state().get("delivered_percent") is not None)
    assert is_held_between(22, 36, one)
    state = one.state()
    assert (state["compute_percent"], state["memory_mib"], state["driver"]) == (0, 0, "host")
    (one.files.work / "go").touch()
    assert one.ended()["reason_code"] in ("memory_exceeded", "crashed")
    usage = [json.loads(line) for line in one.files.journal.read_text().splitlines()]
    assert {(each["compute_percent"], each["memory_mib"]) for each in usage} == {(0, 0)}
    assert max(each["memory_peak_mib"] for each in usage) <= 64


# What it wants of both is more than it has of either; what was given back is not asked for again.
_BOTH = """
import os, time
while not os.path.exists('go'): sum(range(9999))
held = []
try:
    while True:
        held.append(bytearray(b'1' * (1 << 20)))
        with open('part', 'w') as file: file.write(str(len(held)))
        os.replace('part', 'most')
except MemoryError:
    pass
while True: time.sleep(0.05)
"""


@pytest.mark.req("PLAT-OPS-22", "PLAT-SVC-18")
def test_a_share_and_cores_of_the_host_that_are_sold_together_are_held_together(
    kept: Callable[..., ShimSlice],
) -> None:
    one = kept(compute_percent=20, memory_mib=64, host_cpu_milli=300, host_memory_mib=96).program(_BOTH)
    one.until(lambda: one.state().get("host_cpu_used_milli") is not None)
    assert is_held_between(42, 56, one)
    assert one.state()["delivered_percent"] <= 20, "what is beyond the share is the host's"

    def is_whole() -> bool:
        state = one.state()
        return abs(state["host_cpu_used_milli"] / 10 + state["delivered_percent"] - 50) < 10

    one.until(is_whole)
    one.want(compute_percent=40)
    one.until(lambda: one.state()["compute_percent"] == 40)
    assert is_held_between(60, 76, one), "another share, and the same beside it"
    (one.files.work / "go").touch()
    one.until(lambda: (one.state().get("host_memory_used_mib") or 0) > 60 or one.shim.poll() is not None)
    most = one.most()
    one.until(lambda: one.most() == most or one.shim.poll() is not None)
    assert 64 + 96 - 30 <= one.most() <= 64 + 96
    if one.shim.poll() is None:
        state = one.state()
        assert state["memory_used_mib"] == 64
        one.want(memory_mib=32)
        one.until(lambda: one.state()["reason"].startswith("not resized:"))
        assert "128 MiB asked" in one.state()["reason"]
        one.want(state="stopped")
    assert one.ended()["host_memory_used_mib"] is None


def test_a_share_without_a_part_of_the_host_says_nothing_of_it(
    kept: Callable[..., ShimSlice],
) -> None:
    one = kept(compute_percent=20).program(SPIN)
    one.until(lambda: one.state().get("delivered_percent") is not None)
    assert is_held_between(14, 24, one)
    state = one.state()
    assert (state["host_cpu_used_milli"], state["host_memory_used_mib"], state["host_enforced_by"]) == (
        None,
        None,
        "",
    )


@pytest.mark.req("PLAT-OPS-22")
def test_a_session_that_keeps_more_of_main_memory_than_its_part_of_the_host_ends(
    kept: Callable[..., ShimSlice],
) -> None:
    # What it takes of its share it says a while after it is there.
    script = (
        "say(port=1, memory_mib=0, mounted=True, idle_s=0.0)\n"
        "held = b'x' * (130 << 20)\n"
        "time.sleep(1)\n"
        "say(port=1, memory_mib=100, mounted=True, idle_s=0.0)\n"
        "while not os.path.exists('go'): time.sleep(0.05)\n"
        "more = b'x' * (100 << 20)\ntime.sleep(60)\n"
    )
    one = kept(compute_percent=90, memory_mib=128, host_cpu_milli=100, host_memory_mib=96).session(script)
    one.until(lambda: one.state().get("memory_used_mib") == 100)
    one.until(lambda: (one.state().get("host_memory_used_mib") or 0) > 20)
    state = one.state()
    assert (state["memory_used_mib"], state["host_enforced_by"]) == (100, "share+watch")
    assert state["host_memory_used_mib"] < 96
    (one.files.work / "go").touch()
    state = one.ended()
    assert (state["reason_code"], state["reason"]) == (
        "memory_exceeded",
        "main memory limit of 96 MiB exceeded",
    )


@pytest.mark.req("POOL-12.5")
def test_what_a_work_has_beside_its_share_is_its_own_on_a_device_that_is_full(
    kept: Callable[..., ShimSlice],
) -> None:
    fill = (
        "import time\nheld = []\ntry:\n"
        " for _ in range({}): held.append(bytearray(b'1' * (1 << 20))); time.sleep(0.005)\n"
        "except MemoryError: pass\n"
        "open('most', 'w').write(str(len(held)))\nwhile True: time.sleep(0.05)"
    )
    over = {"memory_mib": 140, "device_memory_mib": 200}
    one = kept("one", **over).program(fill.format(100))
    assert one.most() == 100
    two = kept("two", host_memory_mib=60, **over).program(fill.format(190))
    assert 120 <= two.most() <= 160
    assert {each.state()["state"] for each in (one, two)} == {"running"}


CARD = {"vendor": "ascend", "compute_percent": 100, "is_throttled": False}


def test_work_on_a_card_has_the_main_memory_it_asked_for_and_no_more(tmp_path: Path) -> None:
    made = ShimSlice(tmp_path / "memory", **CARD, host_memory_mib=96)
    state = made.program("x = b'x' * (400 << 20); import time; time.sleep(600)").ended()
    assert (state["state"], state["reason_code"]) == ("failed", "memory_exceeded")
    assert state["reason"] == "main memory limit of 96 MiB exceeded"
    assert "96 MiB of main memory of the host" in made.log()
    less = ShimSlice(tmp_path / "less", **CARD, host_memory_mib=96)
    assert less.program("x = b'x' * (20 << 20)").ended()["reason_code"] == "completed"


def test_work_on_a_card_has_the_processor_it_asked_for_and_no_more(tmp_path: Path) -> None:
    """Where control groups may be written: else its log says that nothing holds it."""
    made = ShimSlice(tmp_path / "cpu", **CARD, host_cpu_milli=200)
    code = """
import os, time
end = time.monotonic() + 5
while time.monotonic() < end: pass
print("used", sum(os.times()[:2]) / 5, flush=True)
"""
    assert made.program(code).ended()["reason_code"] == "completed"
    log = made.log()
    if "held by cgroup" in log:
        assert float(log.split("used ")[1].split()[0]) < 0.3
    else:
        assert "nothing holds them" in log
