"""What the transports of a session carry: bandwidth, round trip, operators, and the pause of a move.

`make bench` prints the figures. Limits are ratios inside one run, for machines differ; but the pause of a move
is promised in milliseconds.
"""

import statistics
import time

import pytest

torch = pytest.importorskip("torch", reason="sessions need PyTorch")

from tests.sessions.client import Hand  # noqa: E402
from tests.sessions.workers import workers  # noqa: E402
from weir_wire.wire import Kind  # noqa: E402

BIG_MIB = 64


@pytest.fixture
def make(tmp_path):
    with workers(tmp_path) as made:
        yield made


def best(action, times: int = 7) -> float:
    """Seconds of the quickest run: what the machine can do when nobody disturbs."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        action()
        taken.append(time.perf_counter() - began)
    return min(taken)


def figures(link) -> dict[str, float]:
    hand = Hand(link)
    big = torch.randn(BIG_MIB << 18)
    handles = []

    def up():
        handles.append(hand.up(big))
        link.stat()
        hand.free(handles.pop())

    held, small = hand.up(big), hand.up(torch.zeros(1))
    into = torch.empty_like(big)
    data = memoryview(into.numpy()).cast("B")
    hand.down(small)
    rounds = [best(lambda: hand.down(small), 1) for _ in range(500)]
    return {
        "up_mib_s": BIG_MIB / best(up),
        "down_mib_s": BIG_MIB / best(lambda: link.read(held, len(data), data)),
        "round_us": statistics.median(rounds) * 1e6,
        "operators_s": operators(hand),
    }


def operators(hand: Hand, count: int = 20_000) -> float:
    """Additions of 16×16 a second, in batches as the device makes them."""
    x = torch.randn(16, 16)
    a = hand.up(x)
    add = hand.template(
        {
            "op": "aten::add.Tensor",
            "args": [["t", 0], ["t", 1]],
            "kwargs": {},
            "n_inputs": 2,
            "n_floats": 0,
            "outs": [[[16, 16], [16, 1], "float32"]],
        }
    )
    first = 1 << 40

    def run():
        for at in range(first, first + count, 400):
            hand.batch([n for handle in range(at, at + 400) for n in (add, a, a, handle, -1, handle)])
        hand.link.request(Kind.STAT)

    return count / best(run, 3)


@pytest.mark.req("POOL-8.2", "ELA-1204", "ELA-1206")
def test_shared_memory_against_tcp(make, capsys):
    rows = {}
    for is_local in (True, False):
        link = make(f"w{is_local:d}", memory_mib=1024).link(is_local=is_local)
        rows[link.transport] = figures(link)
        link.close()
    with capsys.disabled():
        for name, row in rows.items():
            print(
                f"\n{name:14} up {row['up_mib_s']:6.0f} MiB/s, down {row['down_mib_s']:6.0f} MiB/s,"
                f" round trip {row['round_us']:4.0f} µs, {row['operators_s']:7.0f} operators/s",
                end="",
            )
        print()
    assert rows["shared-memory"]["up_mib_s"] > rows["tcp"]["up_mib_s"]
    assert rows["shared-memory"]["down_mib_s"] > rows["tcp"]["down_mib_s"]


def upload_again(hand: Hand) -> None:
    handle = hand.up(torch.zeros(200 << 18))
    hand.link.stat()
    hand.free(handle)


@pytest.mark.req("POOL-12.23", "POOL-7.5-1", "POOL-7.5-2")
def test_the_pause_of_a_move_of_200_mib(make, capsys):
    names = [make("m0", memory_mib=512)]
    link = names[0].link()
    hand = Hand(link)
    held = hand.up(torch.randn(200 << 18))
    step = hand.up(torch.zeros(16))
    pauses, steps = [], []
    uploads = [best(lambda: upload_again(hand), 1) for _ in range(3)]
    for n in range(1, 5):
        target = make(f"m{n}", memory_mib=512, ticket=f"bench-ticket-{n}")
        names[-1].change(move_to=target.target())
        longest = 0.0
        while target.status().get("move") != "done":
            began = time.perf_counter()
            hand.run("aten::add_.Scalar", [step], ["c", 1])
            hand.down(step)
            longest = max(longest, time.perf_counter() - began)
        pauses.append(target.status()["pause_ms"])
        steps.append(longest * 1000)
        names[-1].kill()
        names.append(target)
    yardstick_ms = min(uploads) * 1000
    with capsys.disabled():
        print(
            f"\n200 MiB moved: pauses {[round(one) for one in pauses]} ms, longest steps"
            f" {[round(one) for one in steps]} ms; an upload of as much {yardstick_ms:.0f} ms"
        )
    assert hand.link.stat()["used_bytes"] == (200 << 20) + 64
    assert held
    assert min(pauses) < 300
    link.close()
