"""A million frames no honest client would send: `make bench` prints how long it took and what it cost."""

import gc
import os
import time
import warnings

import pytest

torch = pytest.importorskip("torch", reason="sessions need PyTorch")

from node_agent.sessions.execution.core import Session  # noqa: E402
from tests.sessions.fuzzing import Fuzzer  # noqa: E402
from tests.sessions.test_server_fuzz import QUOTA_MIB, check  # noqa: E402
from weir_wire import wire  # noqa: E402
from weir_wire.wire import Kind  # noqa: E402

FRAMES = int(os.environ.get("WEIR_FUZZ_FRAMES", "1000000"))
# One session's quota, its templates and the allocator's slack; the rest would be a leak.
MAY_GROW_MIB = 96


def resident_mib() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


@pytest.mark.timeout(1800)
def test_a_million_frames(capsys):
    warnings.simplefilter("ignore")
    fuzzer, session, bystander = Fuzzer(2026), Session("cpu", QUOTA_MIB), Session("cpu", QUOTA_MIB)
    bystander.handle(Kind.UPLOAD, memoryview(wire.upload_header(5, 0, "uint8", [4]) + b"mine"))
    began, before, faults = time.monotonic(), 0.0, 0
    for n in range(FRAMES):
        kind, payload = fuzzer.frame()
        reply = session.handle(kind, memoryview(payload))
        faults += len(reply.faults) if reply is not None else 0
        if n % 50_000 == 0:
            check(session)
        if n == FRAMES // 10:
            gc.collect()
            before = resident_mib()
    check(session)
    gc.collect()
    grown = resident_mib() - before
    took_s = time.monotonic() - began
    reply = bystander.handle(Kind.READ, memoryview(wire.READ_REQUEST.pack(5, 4)))
    with capsys.disabled():
        print(
            f"\n{FRAMES} frames in {took_s:.0f} s ({FRAMES / took_s:.0f}/s), {session.operators} operators run, "
            f"{faults} faults told, {grown:+.1f} MiB resident since the first tenth"
        )
    assert bytes(reply.body[0]) == b"mine"
    assert grown < MAY_GROW_MIB
