"""A session moves between worker processes while its client computes."""

import contextlib
import threading
import time

import pytest

torch = pytest.importorskip("torch", reason="sessions need PyTorch")

from tests.sessions.client import Hand  # noqa: E402
from tests.sessions.workers import TOKEN, workers  # noqa: E402
from weir_wire.handshake import Claim, Endpoint, HandshakeRefused, attach  # noqa: E402
from weir_wire.wire import Kind, SessionLost  # noqa: E402

TICKETS = [f"one-time-ticket-{n}" for n in range(5)]


@pytest.fixture
def make(tmp_path):
    with workers(tmp_path) as made:
        yield made


class Curve:
    """A computation whose every step depends on all before it, and on random numbers of the session."""

    def __init__(self, hand, size=64):
        self.hand, self.size = hand, size
        torch.manual_seed(5)
        self.weights = torch.randn(size, size)
        self.a = hand.up(self.weights)
        self.like = self.weights
        hand.seed(9)

    def step(self):
        hand, n = self.hand, ["c", self.size]
        noise = hand.run("aten::rand.default", [], ["l", [n, n]], like=self.like)
        product = hand.run("aten::mm.default", [self.a, noise], like=self.like)
        new = hand.run("aten::tanh.default", [product], like=self.like)
        hand.run("aten::add_.Tensor", [self.a, new])
        hand.free(noise, product, new)
        return hand.down(self.a)

    @staticmethod
    def local(steps, size=64):
        torch.manual_seed(5)
        a = torch.randn(size, size)
        torch.manual_seed(9)
        rows = []
        for _ in range(steps):
            a = a + torch.tanh(a @ torch.rand(size, size))
            rows.append(a)
        return rows


@pytest.mark.req("POOL-12.23", "POOL-7.5-1", "POOL-7.5-2")
def test_twice_while_it_computes_bit_for_bit(make):
    here, there, back = make("a"), make("b", ticket=TICKETS[0]), make("c", ticket=TICKETS[1])
    link = here.link()
    curve = Curve(Hand(link))
    rows = [curve.step() for _ in range(10)]
    pause_ms = []
    for source, target in ((here, there), (there, back)):
        source.change(move_to=target.target())
        while target.status().get("move") != "done":
            rows.append(curve.step())
        source.wait(lambda status: status["move"] == "sent")
        pause_ms.append(target.status()["pause_ms"])
        source.kill()
        rows += [curve.step() for _ in range(5)]
    assert link.stat()["operators"] == 4 * len(rows)
    assert all(0 < one < 3000 for one in pause_ms), pause_ms
    threads, _ = torch.get_num_threads(), torch.set_num_threads(1)
    for got, wanted in zip(rows, Curve.local(len(rows)), strict=True):
        assert got.equal(wanted)
    torch.set_num_threads(threads)
    link.close()


@pytest.mark.req("POOL-12.23")
def test_a_target_that_cannot_be_reached_leaves_the_source_running(make):
    source, target = make("a"), make("b", ticket=TICKETS[2])
    link = source.link()
    hand = Hand(link)
    a = hand.up(torch.zeros(10))
    where = target.target()
    target.kill()
    source.change(move_to=where)
    status = source.wait(lambda status: status["move"] == "failed")
    assert "cannot take the session over" in status["move_reason"]
    hand.run("aten::add_.Scalar", [a], ["c", 1])
    assert hand.down(a).sum() == 10
    # A second try, elsewhere, with a ticket the target does not know.
    other = make("c", ticket=TICKETS[3])
    source.change(move_to={**other.target(), "ticket": "a-ticket-nobody-knows"})
    source.wait(lambda status: "the token is not this session's" in status["move_reason"])
    hand.run("aten::add_.Scalar", [a], ["c", 1])
    assert hand.down(a).sum() == 20
    source.change(move_to=other.target())
    other.wait(lambda status: status["attached"])
    hand.run("aten::add_.Scalar", [a], ["c", 1])
    assert hand.down(a).sum() == 30
    link.close()


@pytest.mark.req("POOL-12.23")
def test_a_target_that_dies_before_the_client_came_gives_the_session_back(make, monkeypatch):
    """The state is over there and the client on its way; the target dies; the source goes on."""
    monkeypatch.setattr("weir.link.remote._MOVE_TRIES_S", 0.3)
    source, target = make("a"), make("b", ticket=TICKETS[4])
    link = source.link()
    hand = Hand(link)
    a = hand.up(torch.zeros(10))
    where = target.target()
    # The client is told a port where nobody listens: the same as a target that died at the worst moment.
    resume = link._resume

    def dying(endpoint, **options):
        if endpoint.port == where["port"]:
            target.kill()
        resume(endpoint, **options)

    monkeypatch.setattr(link, "_resume", dying)
    source.change(move_to=where)
    deadline = time.monotonic() + 240
    n = 0
    while source.status()["move"] != "failed" and time.monotonic() < deadline:
        hand.run("aten::add_.Scalar", [a], ["c", 1])
        n += 1
        assert hand.down(a).unique().tolist() == [n]
    status = source.status()
    assert (status["move"], status["move_reason"]) == ("failed", "the client could not reach the target")
    assert source.wait(lambda status: status["attached"])
    link.close()


def test_a_client_that_is_away_during_the_move_finds_the_target(make):
    source, target = make("a"), make("b", ticket=TICKETS[0])
    link = source.link(is_local=False)
    hand = Hand(link)
    a = hand.up(torch.zeros(10))
    where = target.target()
    link.stat()
    gate = threading.Event()
    resume = link._resume

    def late(endpoint, **options):
        gate.wait(30)
        resume(endpoint, **options)

    link._resume = late
    link._reading.close()
    source.change(move_to=where)
    source.wait(lambda status: status["move"] == "sent")
    hand.run("aten::add_.Scalar", [a], ["c", 1])
    gate.set()
    assert hand.down(a).sum() == 10
    target.wait(lambda status: status["attached"])
    link.close()
    with contextlib.suppress(SessionLost):
        link.stat()


def test_a_state_larger_than_the_target_s_quota_stays_where_it_is(make):
    source, target = make("a"), make("b", ticket=TICKETS[1], memory_mib=1)
    link = source.link()
    hand = Hand(link)
    a = hand.up(torch.ones(1 << 20))
    source.change(move_to=target.target())
    source.wait(lambda status: status["move"] == "failed")
    assert hand.down(a).sum() == 1 << 20
    link.close()


def endpoint_of(worker) -> Endpoint:
    status = worker.wait(lambda found: found["port"])
    return Endpoint("127.0.0.1", status["port"], status["fingerprint"])


def refused_at(worker, claim) -> str:
    """How a client with this claim fares there, also where it is cut off before it is refused."""
    for _ in range(20):
        try:
            attach(endpoint_of(worker), TOKEN, claim, timeout_s=10)[0].close()
        except HandshakeRefused as refusal:
            return refusal.code
        except OSError:
            time.sleep(0.05)
        else:
            return "welcome"
    return "cut off"


@pytest.mark.req("POOL-12.23")
def test_once_the_target_has_the_client_the_source_lets_it_in_no_more(make):
    here, there = make("a"), make("b", ticket=TICKETS[0])
    link = here.link()
    hand = Hand(link)
    held = hand.up(torch.ones(1 << 20))
    here.change(move_to=there.target())
    there.wait(lambda status: status.get("move") == "done")
    assert refused_at(here, Claim(link._session, link._received, is_back=True)) == "ended"
    assert here.wait(lambda status: status["memory_mib"] == 0)
    assert hand.down(held).sum() == 1 << 20
    link.close()


@pytest.mark.req("POOL-12.23")
def test_once_the_source_has_taken_the_client_back_the_target_lets_it_in_no_more(make):
    here, there = make("a"), make("b", ticket=TICKETS[0])
    transport, welcome = attach(endpoint_of(here), TOKEN, Claim(), timeout_s=10)
    transport.send((Kind.STAT, []))
    here.change(move_to=there.target())
    while True:
        frame = transport.receive(60)
        assert frame is not None
        if frame.kind == Kind.MOVED:
            break
    back, again = attach(endpoint_of(here), TOKEN, Claim(welcome.session, 0, is_back=True), timeout_s=10)
    assert again.processed == 1
    here.wait(lambda status: status["move"] == "failed")
    assert refused_at(there, Claim(welcome.session)) == "ended"
    back.send((Kind.STAT, []))
    while True:
        frame = back.receive(60)
        assert frame is not None
        if frame.kind == Kind.ACK or (frame.kind == Kind.VALUE and frame.payload[0] == 2):
            break
    back.close()
