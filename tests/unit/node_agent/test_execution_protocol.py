"""The messages about a process beside work: found whole in any stream, and the same numbers at both ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node_agent.protocol import execution as node
from weir_wire import execution as person

pytestmark = pytest.mark.req("PLAT-CMP-10")
MESSAGES = st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=200)), max_size=8)


@given(MESSAGES, st.lists(st.integers(1, 50), max_size=20))
def test_messages_are_found_however_the_stream_is_cut(
    messages: list[tuple[int, bytes]], cuts: list[int]
) -> None:
    stream = b"".join(node.packed(channel, payload) for channel, payload in messages)  # type: ignore[arg-type]
    unpacker, found = node.Unpacker(), []
    for size in [*cuts, len(stream) + 1]:
        piece, stream = stream[:size], stream[size:]
        found += unpacker.take(piece)
    assert found == messages


@pytest.mark.parametrize("length", [0, node.PAYLOAD_BYTES + 2, 2**32 - 1])
def test_what_is_no_message_ends_the_stream_before_it_is_kept(length: int) -> None:
    with pytest.raises(ValueError, match="a message of"):
        list(node.Unpacker().take(length.to_bytes(4, "big") + b"x" * 10))


def test_both_ends_mean_the_same_by_a_number() -> None:
    shared = {channel.name: int(channel) for channel in person.Channel}
    assert shared == {channel.name: int(channel) for channel in node.Channel if channel.name != "START"}
    assert person.PAYLOAD_BYTES == node.PAYLOAD_BYTES
