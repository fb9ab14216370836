"""The state of a session as bytes: everything comes back bit for bit, and half a state is none."""

import pytest

torch = pytest.importorskip("torch", reason="sessions need PyTorch")

from node_agent.sessions.execution.core import Session  # noqa: E402
from node_agent.sessions.execution.reply import Reply  # noqa: E402
from node_agent.sessions.execution.state import Arena, Course, state_load, state_stream  # noqa: E402
from tests.sessions.client import Hand  # noqa: E402
from tests.sessions.inprocess import InProcessLink  # noqa: E402
from weir_wire import wire  # noqa: E402
from weir_wire.wire import Fault, Kind, SessionFault, WireError  # noqa: E402

CPU = torch.device("cpu")


@pytest.fixture
def source():
    return Session("cpu", 16)


def pieces_of(session, course=None):
    with torch.inference_mode():
        return [bytes(piece) for piece in state_stream(session, course or Course("s", 0, []))]


def loaded(pieces, quota_mib=16, arena_bytes=0):
    session = Session("cpu", quota_mib)
    views = (memoryview(bytearray(piece)) for piece in pieces)
    course = state_load(session, views, Arena(CPU, arena_bytes))
    return session, course


@pytest.mark.req("POOL-12.23", "POOL-7.5-1", "POOL-7.5-2")
@pytest.mark.parametrize("arena_bytes", [0, 200, 1 << 22])
def test_views_conjugates_poison_templates_and_random_state_come_along(source, arena_bytes):
    hand = Hand(InProcessLink(source))
    x = torch.randn(32, 32)
    a = hand.up(x)
    row = hand.run("aten::select.int", [a], ["c", 0], ["c", 3], like=x[3])
    turned = hand.run("aten::t.default", [a], like=x.t())
    z = torch.randn(4, dtype=torch.complex64)
    conj = hand.run("aten::_conj.default", [hand.up(z)], like=z)
    empty = hand.up(torch.zeros(0, 3))
    bad = hand.run("aten::add.Tensor", [a, hand.up(torch.ones(5))], like=x)
    state = torch.random.get_rng_state()
    torch.manual_seed(77)
    pieces = pieces_of(source, Course("the-session", 41, [(40, Reply([b"abc"], [Fault("c", "o", "m")]))]))
    torch.random.set_rng_state(state)
    used = source.memory.used_bytes

    session, course = loaded(pieces, arena_bytes=arena_bytes)
    drawn = torch.rand(3)
    torch.manual_seed(77)
    assert drawn.equal(torch.rand(3))
    assert (course.session, course.processed) == ("the-session", 41)
    assert [(n, r.body, r.faults) for n, r in course.kept] == [(40, [b"abc"], [Fault("c", "o", "m")])]
    assert session.memory.used_bytes == used
    other = Hand(InProcessLink(session))
    other.shapes, other._templates, other._handles = hand.shapes, hand._templates, hand._handles
    with pytest.raises(SessionFault):
        other.link.stat()  # the fault that nobody had been told
    assert other.down(a).equal(x)
    assert other.down(conj).equal(z.conj().resolve_conj())
    assert other.down(empty).shape == (0, 3)
    other.run("aten::add_.Scalar", [row], ["c", 1])
    x[3] += 1
    assert other.down(a).equal(x), "the view is still one"
    assert other.down(turned).equal(x.t())
    with pytest.raises(SessionFault):
        other.down(bad)


def test_an_upload_under_way_goes_on_at_the_target(source):
    header = wire.upload_header(3, 0, "uint8", [8])
    source.handle(Kind.UPLOAD, memoryview(header + b"1234"))
    session, _course = loaded(pieces_of(source))
    session.handle(Kind.UPLOAD, memoryview(wire.upload_header(3, 4, "uint8", [8]) + b"5678"))
    reply = session.handle(Kind.READ, memoryview(wire.READ_REQUEST.pack(3, 8)))
    assert bytes(reply.body[0]) == b"12345678"


def test_broken_states_are_refused(source):
    Hand(InProcessLink(source)).up(torch.ones(1 << 20))
    pieces = pieces_of(source)
    with pytest.raises(WireError, match="session's 2 MiB"):
        loaded(pieces, quota_mib=2)
    for broken in (
        [b"\xff" * 8],
        [wire.NUMBER.pack(2), b"{}"],
        [wire.NUMBER.pack(2), b"[]"],
        [wire.NUMBER.pack(3), b"{{{"],
    ):
        with pytest.raises(WireError):
            loaded(broken)
