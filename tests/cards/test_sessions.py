"""Sessions whose worker computes on a card: what they compute, hold and get, against the card without a session."""

import contextlib
import json
import subprocess
import sys
import threading
import time

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not here")

import weir.torch  # noqa: E402
from weir.torch import devices  # noqa: E402

from tests.cards import plain  # noqa: E402
from tests.cards.node import TOKEN  # noqa: E402
from tests.cards.plain import CARD, on_card  # noqa: E402
from tests.sessions.client import Hand  # noqa: E402
from tests.sessions.workers import ENVIRONMENT, ROOT, workers  # noqa: E402

pytestmark = pytest.mark.req("POOL-12.3", "POOL-7.1c")
MIB = 1 << 20
# Operators a second of one session that has the card alone, by their size.
WHOLE: dict[int, float] = {}


@contextlib.contextmanager
def made(folder):
    """Workers on the card; what was attached to them goes with them."""
    before = devices.attached()
    with workers(folder) as make:
        yield lambda name, **wish: make(
            name, **{"device": CARD, "memory_mib": 4096, "is_started": True, **wish}
        )
        for device in devices.attached():
            if device not in before:
                weir.torch.detach(device.index)


@pytest.fixture
def make(folder):
    with made(folder) as make:
        yield make


@pytest.fixture(scope="module")
def weir0(card, tmp_path_factory):
    """A device over a worker on the card, for tests that only compute."""
    with made(tmp_path_factory.mktemp("weir0")) as make:
        yield weir.torch.attach(make("one").link())


def test_a_session_through_the_agents_own_runtime(node):
    uid = node.session("served", memory_mib=1024)
    report = node.until(uid, lambda found: found.session and found.session.port)
    from weir.link.remote import RemoteLink

    told = report.session
    device = weir.torch.attach(RemoteLink("127.0.0.1", told.port, told.fingerprint, TOKEN))
    assert plain.losses("mlp", 8, None, device) == on_card(plain.losses, "mlp", 8, None)
    found = node.until(uid, lambda found: found.mounted and found.memory_used_mib)
    print(found.memory_used_mib, found.memory_enforced_by, found.compute_enforced_by)
    assert (found.memory_enforced_by, found.compute_enforced_by) == ("session-server", "session-server")
    weir.torch.detach(device.index)
    assert node.ended(uid).state == "exited"


@pytest.mark.parametrize("name", ["mlp", "cnn", "gpt", "gpt again"])
@pytest.mark.req("POOL-7.5-2")
def test_training_is_that_of_the_card(weir0, name):
    found, wanted = plain.losses(name, 8, None, weir0), on_card(plain.losses, name, 8, None)
    print(name, found == wanted, max(abs(a - b) / abs(b) for a, b in zip(found, wanted, strict=True)))
    assert found == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn"])
def test_recurrent_nets_learn_as_on_the_card(weir0, name):
    found, wanted = plain.losses(name, 3, None, weir0), on_card(plain.losses, name, 3, None)
    print(name, max(abs(a - b) / abs(b) for a, b in zip(found, wanted, strict=True)))
    assert found == pytest.approx(wanted, rel=1e-4)


def test_autocast_learns_as_on_the_card(weir0):
    found, wanted = (
        plain.losses("gpt", 8, torch.bfloat16, weir0),
        on_card(plain.losses, "gpt", 8, torch.bfloat16),
    )
    assert found == pytest.approx(wanted, rel=0.02)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("mask", ["none", "causal", "given"])
def test_attention_is_that_of_the_card(weir0, dtype, mask):
    room = 1e-4 if dtype is torch.float32 else 2e-2
    found, wanted = plain.attention(dtype, mask, weir0), on_card(plain.attention, dtype, mask)
    for there, here in zip(found, wanted, strict=True):
        assert (there - here).norm() <= room * here.norm()


def test_random_numbers_are_those_of_the_card(weir0):
    for there, here in zip(plain.drawn(weir0), on_card(plain.drawn), strict=True):
        assert there.equal(here)
    state = torch.weir.get_rng_state(weir0)
    first = torch.randn(9, device=weir0).cpu()
    torch.weir.set_rng_state(state, weir0)
    assert torch.randn(9, device=weir0).cpu().equal(first)


def test_backward_on_the_card_itself_says_that_it_cannot_be_beside_the_device(weir0):
    x = torch.ones(3, device=CARD, requires_grad=True)
    with pytest.raises(RuntimeError, match="in a process of its own"):
        (x * x).sum().backward()
    y = torch.ones(3, device=weir0, requires_grad=True)
    (y * y).sum().backward()
    assert y.grad.tolist() == [2, 2, 2]


@pytest.mark.req("POOL-12.24", "POOL-12.2")
def test_the_quota_is_exact_to_a_mebibyte(make):
    device = weir.torch.attach(make("small", memory_mib=100).link())
    kept = [torch.empty(MIB, dtype=torch.uint8, device=device) for _ in range(100)]
    weir.torch.synchronize(device)
    with pytest.raises(
        torch.OutOfMemoryError, match=r"1\.00 MiB; in use 100\.00 MiB of the quota of 100 MiB"
    ):
        torch.empty(MIB, dtype=torch.uint8, device=device)
    kept.pop()
    kept.append(torch.empty(MIB, dtype=torch.uint8, device=device))
    assert devices.get(device).stat()["used_bytes"] == 100 * MIB


def test_interrupts_break_nothing(make, folder):
    worker = make("one")
    status = worker.wait(lambda status: status["port"])
    found = {key: status[key] for key in ("port", "fingerprint")}
    path = folder / "session.json"
    path.write_text(json.dumps({"shares": [{"host": "127.0.0.1", "token": TOKEN, **found}]}))
    path.chmod(0o600)
    run = subprocess.run(
        [sys.executable, "-m", "tests.cards.interrupted", "20"],
        env={**ENVIRONMENT, "WEIR_SESSION_FILE": str(path)},
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (run.returncode, run.stdout.strip()) == (0, "20 [] True"), run.stderr


@pytest.mark.req("POOL-12.23", "POOL-7.5-1", "POOL-7.5-2")
def test_a_session_moves_while_it_computes(make):
    ticket = "a-ticket-that-opens-once"
    source, target = make("a"), make("b", ticket=ticket)
    target.wait(lambda status: status["port"])
    device = weir.torch.attach(source.link())

    rows = []
    for row in plain._curve(10_000, device):
        rows.append(row.cpu())
        if len(rows) == 10:
            source.change(move_to=target.target())
        if target.status().get("move") == "done" and len(rows) > 20:
            break
    print("pause_ms", target.status()["pause_ms"], "steps", len(rows))
    for there, here in zip(rows, on_card(plain.curve, len(rows)), strict=True):
        assert there.equal(here)


class Busy(threading.Thread):
    """Keeps one session computing: products, or small sums; `done` counts what it was answered for."""

    def __init__(self, worker, size, ahead):
        super().__init__(daemon=True)
        self.hand, self.stop, self.done = Hand(worker.link(timeout_s=60)), threading.Event(), 0
        self.size, self.ahead = size, ahead

    def run(self):
        hand = self.hand
        like = torch.empty(self.size, self.size)
        left, word = hand.up(torch.randn(self.size, self.size)), hand.up(torch.zeros(1))
        while not self.stop.is_set():
            for _ in range(self.ahead):
                hand.free(hand.run("aten::mm.default", [left, left], like=like))
            hand.down(word)  # waits for them all: a card runs what it is given in order
            self.done += self.ahead
        hand.link.close()


def rates(works, size, ahead, seconds):
    running = [Busy(worker, size, ahead) for worker in works]
    for one in running:
        one.start()
    while not all(one.done for one in running):
        time.sleep(0.01)
    time.sleep(1.0)
    began, before = time.monotonic(), [one.done for one in running]
    busy_before = [work.status().get("busy_s", 0) for work in works]
    time.sleep(seconds)
    after, ended = [one.done for one in running], time.monotonic()
    busy = [work.status().get("busy_s", 0) for work in works]
    for one in running:
        one.stop.set()
    for one in running:
        one.join(60)
    told = [100 * (late - early) / (ended - began) for early, late in zip(busy_before, busy, strict=True)]
    return [(late - early) / (ended - began) for early, late in zip(before, after, strict=True)], told


@pytest.mark.req("POOL-12.1", "POOL-7.3b")
@pytest.mark.parametrize("percents", [[25], [50], [50, 50], [10, 20, 30, 35]], ids=str)
def test_sessions_get_what_was_sold(make, percents):
    """Nobody gets more. Several at once get less: the time of one's kernels passes while another's run, and is counted
    for both (docs/vendors.md)."""
    size, ahead = 2048, 64
    if size not in WHOLE:
        WHOLE[size] = rates([make("whole")], size, ahead, 2.0)[0][0]
    works = [make(f"t{k}", compute_percent=one) for k, one in enumerate(percents)]
    found, told = rates(works, size, ahead, 5.0)
    got = [100 * rate / WHOLE[size] for rate in found]
    rows = zip(percents, got, told, strict=True)
    pairs = "  ".join(f"{sold}:{one:.1f}(told {say:.1f})" for sold, one, say in rows)
    print(f"\nsession, alone {WHOLE[size]:.0f}/s sold:got %  {pairs}")
    assert all(one <= sold + 5 for one, sold in zip(got, percents, strict=True)), pairs
    assert len(percents) > 1 or got[0] >= percents[0] - 5, pairs


def test_what_cuda_returns_otherwise_than_the_cpu(weir0):
    x = torch.randn(5)
    assert torch.allclose(
        torch.nn.functional.logsigmoid(x.to(weir0)).cpu(), torch.nn.functional.logsigmoid(x)
    )
