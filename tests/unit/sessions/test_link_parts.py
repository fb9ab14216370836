"""The parts of a link without sockets: credits, waiting requests, cutting a stream into frames."""

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir.link.backlog import Backlog
from weir.link.replies import Waiter, Waiters

from weir_wire import wire
from weir_wire.transport import Stream
from weir_wire.wire import Fault, SessionFault, SessionLost, WireError


def test_frames_are_numbered_kept_and_forgotten_in_order():
    backlog = Backlog()
    assert [backlog.add(17, b"x") for _ in range(5)] == [1, 2, 3, 4, 5]
    backlog.acknowledge(3)
    assert [number for number, _kind, _payload in backlog.waiting()] == [4, 5]
    backlog.acknowledge(3)
    backlog.acknowledge(9)
    assert backlog.waiting() == []
    assert backlog.add(17, b"") == 6


@pytest.mark.parametrize("size", [0, wire.CREDIT_BYTES // 4])
def test_without_credit_a_sender_waits_until_something_was_acknowledged(size):
    backlog, went = Backlog(), threading.Event()
    payload = bytes(size)
    count = 4 if size else wire.CREDIT_FRAMES
    for _ in range(count):
        backlog.wait()
        backlog.add(17, payload)
    thread = threading.Thread(target=lambda: (backlog.wait(), went.set()))
    thread.start()
    assert not went.wait(0.05)
    backlog.acknowledge(1)
    assert went.wait(60)
    thread.join()


def test_large_payloads_use_memory_again_only_after_they_were_acknowledged():
    backlog = Backlog()
    data = bytes(range(256)) * 2048
    one, two = (backlog.buffers.pack([b"head", memoryview(data)]) for _ in range(2))
    assert bytes(one) == bytes(two) == b"head" + data
    assert one.obj is not two.obj
    backlog.add(18, one)
    backlog.add(18, two)
    backlog.acknowledge(1)
    three = backlog.buffers.pack([data])
    assert three.obj is one.obj
    assert bytes(three) == data
    assert bytes(two) == b"head" + data
    assert backlog.buffers.pack([b"small", b""]) == b"small"


def test_a_lost_session_wakes_who_waits_and_says_the_first_reason():
    backlog, said = Backlog(), []
    for _ in range(wire.CREDIT_FRAMES):
        backlog.add(17, b"")

    def wait():
        try:
            backlog.wait()
        except SessionLost as lost:
            said.append(str(lost))

    thread = threading.Thread(target=wait)
    thread.start()
    backlog.lose(SessionLost("first"))
    backlog.lose(SessionLost("second"))
    thread.join(2)
    assert said == ["first"]
    with pytest.raises(SessionLost, match="first"):
        backlog.add(17, b"")


@pytest.mark.req("ELA-1208")
def test_replies_find_their_requests_in_any_order():
    waiters = Waiters()
    rows = {number: Waiter(memoryview(bytearray(4))) for number in (3, 5, 9)}
    for number, waiter in rows.items():
        waiters.add(number, waiter)
    waiters.find(5).part(2, memoryview(b"ab"))
    waiters.pop(9).settle([], memoryview(b"nine"))
    waiters.pop(5).settle([Fault("operator", "op", "why")], memoryview(b""))
    waiters.fail_all(SessionLost("gone"))
    assert bytes(rows[9].wait()) == b"nine"
    with pytest.raises(SessionFault, match="op: why"):
        rows[5].wait()
    with pytest.raises(SessionLost, match="gone"):
        rows[3].wait()
    assert bytes(rows[5].into) == b"\0\0ab"
    assert waiters.find(3) is None
    assert waiters.pop(77) is None


@pytest.mark.parametrize("into", [None, bytearray(3)])
def test_a_reply_longer_than_asked_for_is_refused(into):
    waiter = Waiter(None if into is None else memoryview(into))
    with pytest.raises(WireError):
        waiter.part(0, memoryview(b"four"))


class Pieces(Stream):
    """A stream that comes in pieces of any size."""

    def __init__(self, pieces):
        super().__init__()
        self._pieces = [piece for piece in pieces if piece]
        self.written = bytearray()

    def read_some(self, view, timeout_s):
        if not self._pieces:
            return 0
        piece = self._pieces.pop(0)
        n = min(len(piece), len(view))
        view[:n] = piece[:n]
        if piece[n:]:
            self._pieces.insert(0, piece[n:])
        return n

    def write_all(self, view):
        self.written += view


FRAMES = st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=300)), max_size=12)


@pytest.mark.req("ELA-1303")
@settings(deadline=None)
@given(FRAMES, st.lists(st.integers(1, 97), min_size=1, max_size=20))
def test_frames_are_whole_however_the_stream_is_torn(frames, sizes):
    writer = Pieces([])
    writer.write_frames([(kind, [payload[:5], payload[5:]]) for kind, payload in frames])
    data, pieces = bytes(writer.written), []
    while data:
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(data[:size])
        data = data[size:]
    reader, found = Pieces(pieces), []
    while (frame := reader.receive(0)) is not None:
        found.append((frame.kind, bytes(frame.payload)))
    assert found == frames


def test_large_frames_grow_the_buffer_and_longer_ones_are_refused():
    big = bytes(wire.MAX_PAYLOAD)
    reader = Pieces(
        [
            wire.HEADER.pack(len(big), 17),
            big,
            wire.HEADER.pack(3, 18),
            b"abc",
            wire.HEADER.pack(wire.MAX_PAYLOAD + 1, 17),
        ]
    )
    assert len(reader.receive(0).payload) == len(big)
    assert bytes(reader.receive(0).payload) == b"abc"
    with pytest.raises(WireError, match="at most"):
        reader.receive(0)


def test_a_frame_cut_short_is_no_frame():
    reader = Pieces([wire.HEADER.pack(10, 17), b"short"])
    assert reader.receive(0) is None
    reader._pieces = [b"and.."]
    assert bytes(reader.receive(0).payload) == b"shortand.."
