"""A session under frames no honest client would send. The long run is in tests/bench/test_session_fuzz.py."""

import pytest

torch = pytest.importorskip("torch", reason="sessions need PyTorch")

from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from node_agent.sessions.execution.core import Session  # noqa: E402
from tests.examples import examples  # noqa: E402
from tests.sessions.fuzzing import Fuzzer  # noqa: E402
from weir_wire import wire  # noqa: E402
from weir_wire.wire import Kind  # noqa: E402

QUOTA_MIB = 4


def check(session: Session) -> None:
    """Its books are right and its bounds kept."""
    held = [row for row in session.table.rows.values() if isinstance(row, torch.Tensor)]
    storages = {row.untyped_storage()._cdata: row.untyped_storage().nbytes() for row in held}
    assert session.memory.used_bytes == sum(storages.values()) <= QUOTA_MIB << 20
    assert len(session.templates) <= wire.MAX_TEMPLATES
    assert len(session.table.faults) <= 64


@pytest.mark.req("ELA-1304", "ELA-1407")
@pytest.mark.parametrize("seed", range(3))
def test_senseless_frames_are_answered_and_change_nothing_they_should_not(seed):
    fuzzer, session, bystander = Fuzzer(seed), Session("cpu", QUOTA_MIB), Session("cpu", QUOTA_MIB)
    bystander.handle(Kind.UPLOAD, memoryview(wire.upload_header(5, 0, "uint8", [4]) + b"mine"))
    state = torch.random.get_rng_state()
    for n in range(4000):
        kind, payload = fuzzer.frame()
        reply = session.handle(kind, memoryview(payload))
        assert reply is not None or kind not in wire.REQUESTS
        if n % 500 == 0:
            check(session)
    torch.random.set_rng_state(state)
    check(session)
    session.handle(Kind.STAT, memoryview(b""))
    assert not session.handle(Kind.STAT, memoryview(b"")).faults
    reply = bystander.handle(Kind.READ, memoryview(wire.READ_REQUEST.pack(5, 4)))
    assert bytes(reply.body[0]) == b"mine"


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=120)), max_size=8))
def test_any_bytes_at_all(frames):
    session = Session("cpu", QUOTA_MIB)
    for kind, payload in frames:
        session.handle(kind, memoryview(payload))
    check(session)


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from([Kind.TEMPLATE, Kind.CALL]),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["add", "drop", "id", "op", "args", "template", "outs", "room"]), inner
            )
        ),
        max_leaves=12,
    ),
)
def test_any_json_at_all(kind, value):
    session = Session("cpu", QUOTA_MIB)
    session.handle(kind, memoryview(wire.dump_json(value)))
    check(session)
