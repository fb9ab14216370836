"""The share of a card that programs get against the share that was sold, by turns and through MPS.

Each does the same products again and again; its part is its rate against the rate of one that has the card alone.
"""

import contextlib
import itertools
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cards.node import Node

torch = pytest.importorskip("torch", reason="PyTorch is not here")
pytestmark = pytest.mark.req("POOL-12.1", "POOL-7.3b")

# Products a second of one that has the card alone.
WHOLE: dict[tuple[int, str], float] = {}
# A slice's name is its own for good.
NUMBERS = itertools.count()
SECONDS = float(os.environ.get("WEIR_CARD_SECONDS", "6"))
# A product of 2048 x 2048 takes a third of a millisecond: `queue` of them are issued before one waits.
PRODUCTS = """
import sys, time, torch
queue = int(%d)
torch.backends.cuda.matmul.allow_tf32 = False
x = torch.randn(2048, 2048, device="cuda")
y = x @ x
torch.cuda.synchronize()
done, at = 0, time.monotonic()
while True:
    for _ in range(queue):
        torch.mm(x, x, out=y)
    torch.cuda.synchronize()
    done += queue
    if time.monotonic() - at > 0.05:
        at = time.monotonic()
        print(f"did {done} {time.monotonic()}", flush=True)
"""


def did(node: Node, uid: str) -> tuple[int, float]:
    """How many products it had done at its last word, and when that was."""
    words = [line.split() for line in node.log(uid).splitlines() if line.startswith("did ")]
    whole = [row for row in words if len(row) == 3]
    return (int(whole[-1][1]), float(whole[-1][2])) if whole else (0, 0.0)


def rates(node: Node, uids: list[str], seconds: float = SECONDS) -> list[float]:
    """Products a second of works that run at the same time."""
    for uid in uids:
        node.until(uid, lambda _report, uid=uid: did(node, uid)[0])
    time.sleep(1)
    before = [did(node, uid) for uid in uids]
    time.sleep(seconds)
    after = [did(node, uid) for uid in uids]
    return [
        (late[0] - early[0]) / max(late[1] - early[1], 0.01)
        for early, late in zip(before, after, strict=True)
    ]


def end(node: Node, uids: list[str]) -> None:
    for uid in uids:
        node.runtime.stop(uid, 2)
    for uid in uids:
        node.ended(uid)


def parts(node: Node, percents: list[int], *, queue: int = 4, **more: object) -> list[float]:
    """What each got, in percent of what one alone with the whole card gets."""
    if (known := (queue, str(more))) not in WHOLE:
        alone = [node.program(f"alone{next(NUMBERS)}", PRODUCTS % queue, percent=100, **more)]
        WHOLE[known] = rates(node, alone, SECONDS / 2)[0]
        end(node, alone)
    whole = WHOLE[known]
    uids = [
        node.program(f"t{next(NUMBERS)}", PRODUCTS % queue, percent=percent, **more) for percent in percents
    ]
    found = [100 * rate / whole for rate in rates(node, uids)]
    reported = [node.report(uid).delivered_percent for uid in uids]
    end(node, uids)
    pairs = "  ".join(f"{sold}:{got:.1f}" for sold, got in zip(percents, found, strict=True))
    print(
        f"\n{more.get('driver', 'time-slice')} queue {queue} alone {whole:.0f}/s  sold:got %  {pairs}  told {reported}"
    )
    return found


@pytest.mark.parametrize("percents", [[30], [50, 50], [30, 60], [10, 20, 30, 35]], ids=str)
def test_by_turns(node, percents):
    found = parts(node, percents, driver="time-slice")
    assert all(abs(got - sold) <= 6 for got, sold in zip(found, percents, strict=True)), found


def test_by_turns_with_much_work_ahead(node):
    """What was issued before the work is stopped runs to its end: told, not promised."""
    assert parts(node, [30], queue=400, driver="time-slice")[0] >= 25


@pytest.fixture
def mps(card: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A control daemon of its own, for works of several users; it ends with the test."""
    if shutil.which("nvidia-cuda-mps-control") is None:
        pytest.skip("no GPU with nvidia-cuda-mps-control beside it")
    pipes = Path("/tmp/weir-card-mps")
    pipes.mkdir(exist_ok=True)
    pipes.chmod(0o777)
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(pipes))
    monkeypatch.setenv("CUDA_MPS_LOG_DIRECTORY", str(tmp_path))
    subprocess.run(["nvidia-cuda-mps-control", "-d", "-multiuser-server"], check=True, timeout=30)
    yield
    with contextlib.suppress(subprocess.SubprocessError):
        subprocess.run(["nvidia-cuda-mps-control"], input=b"quit -t 5\n", check=False, timeout=30)
    for log in tmp_path.glob("*.log"):
        print(log.read_text()[-1500:])


LIMITED = """
import torch
kept, total = [], 0
try:
    while total < 16384:
        kept.append(torch.zeros(64 << 20, dtype=torch.uint8, device="cuda"))
        torch.cuda.synchronize()
        total += 64
except torch.OutOfMemoryError:
    print("refused", flush=True)
print("held", total, torch.cuda.get_device_properties(0).multi_processor_count, flush=True)
"""


def test_through_mps(mps, card):
    node = Node(card)
    try:
        assert node.runtime._maker.drivers["mps"].refusal(card) == ""
        uid = node.program("limited", LIMITED, percent=50, memory_mib=4096, driver="mps")
        report = node.ended(uid)
        print(report.state, report.memory_enforced_by, node.log(uid))
        assert report.state == "exited"
        lines = node.log(uid).splitlines()
        assert "refused" in lines
        held = next(line.split() for line in lines if line.startswith("held"))
        assert 2048 <= int(held[1]) <= 4096
        for percents in ([30], [50, 50]):
            found = parts(node, percents, driver="mps")
            assert all(abs(got - sold) <= 10 for got, sold in zip(found, percents, strict=True)), found
    finally:
        node.close()
