"""Shared memory between two processes of one machine: chosen by itself, bounded, and closed to others."""

import fcntl
import os
import socket
import threading

import pytest

torch = pytest.importorskip("torch", reason="sessions need PyTorch")

from tests.sessions.client import Hand  # noqa: E402
from tests.sessions.served import served  # noqa: E402
from weir_wire import transport_local  # noqa: E402
from weir_wire.transport_local import LocalTransport, client_open  # noqa: E402


@pytest.fixture
def worker():
    with served(quota_mib=256) as made:
        yield made


@pytest.fixture
def pair():
    """Both ends of a transport, without a session."""
    listener = transport_local.LocalListener()
    client, server = _opened(listener)
    yield client, server
    for end in (client, server):
        end.close()


def _opened(listener):
    answered = []
    thread = threading.Thread(target=lambda: answered.append(listener.answer(listener.listener.accept()[0])))
    thread.start()
    client = client_open(listener.invite())
    thread.join(5)
    return client, answered[0]


@pytest.mark.req("ELA-1204", "POOL-8.2b")
def test_it_is_chosen_by_itself_and_seen(worker):
    link = worker.link()
    assert link.transport == "shared-memory"
    assert link.stat()["transport"] == "shared-memory"
    assert worker.service.transport_name == "shared-memory"
    assert link.latency_us > 0
    assert link.bandwidth_mib_s > 0
    worker.wait(lambda service: service.bandwidth_mib_s == link.bandwidth_mib_s)
    link.close()


def test_tcp_serves_where_it_cannot_be_had(worker, monkeypatch):
    monkeypatch.setattr("weir_wire.handshake.client_open", lambda _invitation: None)
    link = worker.link()
    assert link.transport == "tcp"
    big = torch.randn(1 << 20)
    hand = Hand(link)
    assert hand.down(hand.up(big)).equal(big)
    link.close()


def test_more_than_the_ring_holds_passes_through_it(worker):
    link = worker.link()
    hand = Hand(link)
    big = torch.arange(40 << 18, dtype=torch.int32)
    for _ in range(2):
        handle = hand.up(big)
        assert hand.down(handle).equal(big)
        hand.free(handle)
    link.close()


def test_the_connection_cut_resumes(worker):
    link = worker.link()
    hand = Hand(link)
    a = hand.up(torch.zeros(100_000))
    for n in range(30):
        hand.run("aten::add_.Scalar", [a], ["c", 1])
        if n % 10 == 5:
            link._reading.close()
    assert hand.down(a).unique().tolist() == [30]
    assert link.transport == "shared-memory"
    link.close()


def test_who_does_not_know_the_key_gets_nothing(worker):
    address = "\0" + worker.listener._local.address
    for said in (b"", b"x" * 32, b"\xff" * 32):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(address)
        sock.sendall(said)
        sock.shutdown(socket.SHUT_WR)
        assert sock.recv(1) == b""
        sock.close()
    assert worker.link().transport == "shared-memory"


def test_a_key_that_is_dripped_is_not_waited_for(worker):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect("\0" + worker.listener._local.address)
        sock.sendall(b"x")
        sock.settimeout(5)
        assert sock.recv(1) == b""


def test_the_key_works_once(worker):
    listener = worker.listener._local
    invitation = listener.invite()
    first = client_open(invitation)
    assert isinstance(first, LocalTransport)
    assert client_open(invitation) is None
    first.close()


def test_the_memory_cannot_be_shrunk_under_the_other_end():
    seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
    memory = transport_local._memory_make()
    assert fcntl.fcntl(memory, fcntl.F_GET_SEALS) == seals
    with pytest.raises(PermissionError):
        os.ftruncate(memory, 0)


def test_an_end_that_lies_about_positions_is_cut_off(pair):
    client, server = pair
    client.send((16, [b"x" * 100_000]))
    assert len(server.receive(1).payload) == 100_000
    for position in (transport_local.RING_BYTES - 5, (1 << 62) - 5, (1 << 64) - 50_000):
        header = transport_local.HEADER.pack(50_000 | transport_local._IN_RING, 16)
        client.write_all(memoryview(header + transport_local.NUMBER.pack(position)))
        with pytest.raises(ConnectionError):
            server.receive(1)
    server._in.release(1 << 60)
    with pytest.raises(ConnectionError):
        client.send((16, [b"x" * 100_000]))
