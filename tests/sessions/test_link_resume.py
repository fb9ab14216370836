"""A link over real sockets: dropped connections lose nothing, whoever does not belong is refused."""

import contextlib
import os
import socket
import threading
import time

import pytest

torch = pytest.importorskip("torch", reason="sessions need PyTorch")

from tests.sessions.client import Hand  # noqa: E402
from tests.sessions.proxy import Proxy  # noqa: E402
from tests.sessions.served import served  # noqa: E402
from weir_wire import wire  # noqa: E402
from weir_wire.handshake import HandshakeRefused  # noqa: E402
from weir_wire.transport_tcp import client_connect  # noqa: E402
from weir_wire.wire import Kind, SessionFault, SessionLost  # noqa: E402


@pytest.fixture
def worker():
    with served() as made:
        yield made


@pytest.fixture
def proxy(worker):
    made = Proxy(worker.listener.port)
    yield made
    made.close()


@pytest.mark.req("ELA-1209")
def test_a_connection_cut_again_and_again_loses_nothing_and_doubles_nothing(worker, proxy):
    """Additions are not idempotent: a lost or repeated frame would show in the sum."""
    link = worker.link(port=proxy.port, is_local=False)
    hand = Hand(link)
    x = torch.randn(1000)
    total, step = hand.up(torch.zeros(1000)), hand.up(x)
    expected = torch.zeros(1000)
    for n in range(600):
        hand.run("aten::add_.Tensor", [total, step])
        expected += x
        if n % 120 == 60:
            proxy.cut()
        if n % 50 == 0:
            assert hand.down(total).equal(expected)
    assert hand.down(total).equal(expected)
    assert worker.service.session.operators == 600
    link.close()


def test_random_numbers_go_on_after_a_cut(worker, proxy):
    link = worker.link(port=proxy.port, is_local=False)
    hand = Hand(link)
    hand.seed(3)
    got = []
    for n in range(20):
        got.append(hand.down(hand.run("aten::rand.default", [], ["l", [["c", 7]]], like=torch.empty(7))))
        if n % 5 == 2:
            proxy.cut()
    torch.manual_seed(3)
    # The service shares this process's generator, so the numbers are drawn again from the same seed.
    assert torch.stack(got).equal(torch.stack([torch.rand(7) for _ in range(20)]))
    link.close()


def test_a_large_read_and_upload_survive_a_cut_in_the_middle(worker, proxy):
    link = worker.link(port=proxy.port, is_local=False)
    hand = Hand(link)
    big = torch.randn(5 << 20)
    timer = threading.Timer(0.02, proxy.cut)
    timer.start()
    handle = hand.up(big)
    timer.join()
    timer = threading.Timer(0.02, proxy.cut)
    timer.start()
    assert hand.down(handle).equal(big)
    timer.join()
    link.close()


@pytest.mark.req("ELA-1208")
def test_threads_ask_at_once_and_each_gets_its_own_answer(worker):
    link = worker.link()
    hand = Hand(link)
    tensors = [torch.full((n + 1,), float(n)) for n in range(8)]
    handles = [hand.up(one) for one in tensors]
    wrong = []

    def ask(n):
        for _ in range(100):
            if not hand.down(handles[n]).equal(tensors[n]):
                wrong.append(n)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    link.close()


def test_a_worker_away_for_seconds_is_waited_for(worker, proxy):
    link = worker.link(port=proxy.port, is_local=False)
    hand = Hand(link)
    a = hand.up(torch.ones(3))
    proxy.shut(True)
    for _ in range(40):
        hand.run("aten::add_.Scalar", [a], ["c", 1])
    threading.Timer(1.0, proxy.shut, args=(False,)).start()
    began = time.monotonic()
    assert hand.down(a).tolist() == [41.0] * 3
    assert time.monotonic() - began > 0.5
    link.close()


@pytest.mark.req("ELA-1209")
def test_a_worker_away_too_long_is_said_to_be_lost(worker, proxy):
    link = worker.link(port=proxy.port, is_local=False, resume_s=0.5)
    hand = Hand(link)
    a = hand.up(torch.ones(3))
    proxy.shut(True)
    with pytest.raises(SessionLost, match="cannot be reached"):
        hand.down(a)
    with pytest.raises(SessionLost):
        hand.run("aten::add_.Scalar", [a], ["c", 1])
    link.close()


@pytest.mark.req("ELA-1401")
def test_a_wrong_token_and_a_wrong_certificate_are_refused(worker):
    with pytest.raises(HandshakeRefused, match="token") as refused:
        worker.link(token="another-token-altogether")
    assert refused.value.code == "token"
    with pytest.raises(ConnectionRefusedError, match="certificate"):
        worker.link(fingerprint="0" * 64)
    link = worker.link()
    assert link.stat()["handles"] == 0
    link.close()


@pytest.mark.req("ELA-1402")
def test_the_token_shown_again_opens_nothing(worker):
    link = worker.link()
    Hand(link).up(torch.ones(1))
    with pytest.raises(HandshakeRefused) as refused:
        worker.link()
    assert refused.value.code == "busy"
    assert link.stat()["handles"] == 1, "the first client noticed nothing"
    link.close()
    worker.wait(lambda service: service.end == "closed")
    with pytest.raises(HandshakeRefused) as refused:
        worker.link()
    assert refused.value.code == "ended"


def test_another_version_of_torch_is_refused_with_both_named(worker, monkeypatch):
    monkeypatch.setattr("weir_wire.handshake.torch_version", lambda: "2.9.9")
    with pytest.raises(HandshakeRefused, match=r"the client 2\.9\.9") as refused:
        worker.link()
    assert refused.value.code == "version"


def test_strangers_at_the_door_do_not_disturb(worker):
    """Plain text, silence, half a handshake, a handshake recorded and played again."""
    address = ("127.0.0.1", worker.listener.port)
    silent = [socket.create_connection(address) for _ in range(4)]
    loud = socket.create_connection(address)
    loud.sendall(b"GET / HTTP/1.1\r\n\r\n" * 100)
    stranger = client_connect(*address, worker.listener.fingerprint, timeout_s=60)
    hello = {"protocol": 1, "torch": torch.__version__.partition("+")[0], "nonce": "00", "purpose": "client"}
    stranger.send((Kind.HELLO, [wire.dump_json(hello)]))
    assert stranger.receive(5).kind == Kind.CHALLENGE
    stranger.send((Kind.PROOF, [wire.dump_json({"mac": "0" * 64, "resume": "", "received": 0})]))
    assert wire.load_json(stranger.receive(5).payload)["code"] == "token"
    early = client_connect(*address, worker.listener.fingerprint, timeout_s=60)
    early.send((Kind.BATCH, [b"x" * 5000]))
    assert early.receive(5).kind == Kind.REFUSED
    thief = client_connect(*address, worker.listener.fingerprint, timeout_s=60)
    thief.send((Kind.HELLO, [wire.dump_json({**hello, "purpose": "state"})]))
    assert wire.load_json(thief.receive(5).payload)["code"] == "ended"
    link = worker.link()
    assert link.stat()["handles"] == 0
    link.close()
    for sock in (*silent, loud):
        sock.close()


def test_a_client_cannot_say_that_a_session_moved_which_did_not(worker):
    link = worker.link()
    link._tell(Kind.REPORT, pause_ms=5.0, latency_us=77.0)
    worker.wait(lambda service: service.latency_us == 77.0)
    assert (worker.service.move, worker.service.pause_ms) == ("", None)
    link.close()


@pytest.mark.req("ELA-1406")
def test_a_crowd_that_proves_nothing_keeps_nobody_out(worker):
    crowd = [
        socket.create_connection(("127.0.0.1", worker.listener.port), source_address=("127.0.0.2", 0))
        for _ in range(40)
    ]
    began = time.monotonic()
    link = worker.link(is_local=False)
    assert time.monotonic() - began < 7, "whoever fills the listener is cut off, not waited for"
    link.close()
    for sock in crowd:
        sock.close()


def test_a_stranger_cannot_stay_by_dripping_bytes(worker, monkeypatch):
    monkeypatch.setattr("node_agent.sessions.connection.listener._IN_ALL_S", 0.5)
    dripping = client_connect("127.0.0.1", worker.listener.port, worker.listener.fingerprint, timeout_s=60)
    began = time.monotonic()
    dripping.write_all(memoryview(wire.HEADER.pack(4000, Kind.HELLO)))
    with contextlib.suppress(OSError):
        while time.monotonic() - began < 90:
            dripping.write_all(memoryview(b" "))
            dripping.receive(0.1)
    assert time.monotonic() - began < 60, "he was still listened to"


@pytest.mark.req("ELA-1303")
def test_bad_frames_get_an_error_and_the_session_goes_on(worker):
    link = worker.link(is_local=False)
    hand = Hand(link)
    a = hand.up(torch.ones(2))
    for kind in (40, 63, Kind.BATCH, Kind.UPLOAD, Kind.TEMPLATE):
        link.send(kind, b"\x93\x00")
        with pytest.raises(SessionFault):
            link.stat()
    transport = link._wired
    transport.send((Kind.STATE, [b"x"]), (0, [b""]), (99, [b"y"]))
    with pytest.raises(SessionFault):
        link.stat()
    transport.write_all(memoryview(wire.HEADER.pack(wire.MAX_PAYLOAD + 1, Kind.BATCH)))
    with contextlib.suppress(SessionFault):
        link.stat()
    assert hand.down(a).tolist() == [1, 1], "a frame too long costs the connection, not the session"
    link.close()


@pytest.mark.req("ELA-1406")
def test_credits_bound_what_runs_ahead(worker, proxy):
    link = worker.link(port=proxy.port, is_local=False)
    hand = Hand(link)
    a = hand.up(torch.zeros(1))
    link.stat()
    proxy.shut(True)
    sent = []

    def send():
        for n in range(wire.CREDIT_FRAMES + 50):
            hand.run("aten::add_.Scalar", [a], ["c", 1])
            sent.append(n)

    thread = threading.Thread(target=send)
    thread.start()
    time.sleep(0.4)
    assert len(sent) <= wire.CREDIT_FRAMES
    proxy.shut(False)
    thread.join(120)
    assert hand.down(a).item() == wire.CREDIT_FRAMES + 50
    link.close()


def test_a_forked_child_leaves_the_session_alone(worker):
    link = worker.link()
    hand = Hand(link)
    a = hand.up(torch.ones(2))
    child = os.fork()
    if child == 0:
        try:
            hand.run("aten::add_.Scalar", [a], ["c", 1])
            os._exit(1)
        except SessionLost:
            link.close()
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert hand.down(a).tolist() == [1, 1]
    link.close()


def test_the_flusher_sends_a_waiting_tail(worker):
    link = worker.link()
    flushed = threading.Event()
    link.on_flush = flushed.set
    link.wake()
    assert flushed.wait(2)
    link.close()


@pytest.mark.req("ELA-1403")
def test_a_client_that_stays_away_costs_the_session():
    with served(detach_s=0.3) as worker:
        link = worker.link(is_local=False)
        Hand(link).up(torch.ones(1))
        link._is_closed = True  # dies without BYE
        link._reading.close()
        worker.wait(lambda service: service.end == "detached")
        assert not worker.thread.join(5)


def test_what_was_asked_before_a_cut_is_answered_as_it_was_then(worker, proxy):
    """The reply of a read lost on the way shows the tensor of that moment, not of a later one."""
    link = worker.link(port=proxy.port, is_local=False)
    hand = Hand(link)
    a = hand.up(torch.zeros(1 << 18))
    answers = []
    for n in range(10):
        reader = threading.Thread(target=lambda: answers.append(hand.down(a).unique().numel()))
        reader.start()
        if n % 3 == 1:
            proxy.cut()
        hand.run("aten::add_.Scalar", [a], ["c", 1])
        reader.join(10)
    assert answers == [1] * 10, "no reply is a mix of two moments"
    assert hand.down(a).unique().tolist() == [10]
    link.close()
