"""A training over a bad network between two network namespaces: delay, loss, a partition. Nothing is lost."""

import os
import shutil
import subprocess
import threading
import time

import pytest

torch = pytest.importorskip("torch", reason="sessions need PyTorch")

from tests.sessions.badnet import BadNetwork  # noqa: E402
from tests.sessions.client import Hand  # noqa: E402
from tests.sessions.test_move_workers import Curve  # noqa: E402
from tests.sessions.workers import workers  # noqa: E402


@pytest.fixture
def network():
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("network namespaces need root and ip")
    try:
        made = BadNetwork()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"this machine allows no network namespaces or no TUN cards: {error}")
    yield made
    made.remove()


@pytest.mark.req("POOL-8.2", "ELA-1204", "ELA-1209")
def test_a_training_through_delay_loss_and_a_partition_is_bit_identical(network, tmp_path):
    with workers(tmp_path) as make:
        worker = make("far", netns=network.name, host=network.far)
        link = worker.link()
        assert link.transport == "tcp", "the worker is on another machine, as far as anybody can tell"
        curve = Curve(Hand(link))
        rows = [curve.step() for _ in range(20)]
        network.shape(delay_s=0.005, loss=0.02)
        rows += [curve.step() for _ in range(30)]
        network.shape(loss=1)
        heal = threading.Timer(5.0, network.shape)
        heal.start()
        began = time.monotonic()
        rows += [curve.step() for _ in range(20)]
        assert time.monotonic() - began > 4.5
        heal.join()
        assert network.dropped > 10
        assert link.stat()["operators"] == 4 * len(rows)
        link.close()
    threads, _ = torch.get_num_threads(), torch.set_num_threads(1)
    for got, wanted in zip(rows, Curve.local(len(rows)), strict=True):
        assert got.equal(wanted)
    torch.set_num_threads(threads)


@pytest.mark.req("ELA-1205")
def test_delay_costs_a_step_no_more_than_one_round_trip(network, tmp_path):
    """A thousand operators and one read through 20 ms: far from a thousand round trips."""
    with workers(tmp_path) as make:
        worker = make("slow", netns=network.name, host=network.far)
        network.shape(delay_s=0.01)
        link = worker.link()
        assert 20_000 < link.latency_us < 200_000
        hand = Hand(link)
        a = hand.up(torch.zeros(16))
        link.stat()
        began = time.monotonic()
        for _ in range(1000):
            hand.run("aten::add_.Scalar", [a], ["c", 1])
        assert hand.down(a).tolist() == [1000.0] * 16
        # 1000 frames of their own use the credit of 256 about four times.
        assert time.monotonic() - began < 1000 * 0.02 / 2
        link.close()
