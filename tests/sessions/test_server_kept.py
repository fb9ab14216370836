"""Replies kept for a client that may come back: within bounds, and none of them silently gone."""

import pytest

torch = pytest.importorskip("torch", reason="sessions need PyTorch")

from node_agent.sessions.connection import reply_buffer  # noqa: E402
from node_agent.sessions.connection.reply_buffer import KeptReplies  # noqa: E402
from node_agent.sessions.execution.reply import Reply  # noqa: E402

MIB = 1 << 20


def reply(nbytes: int) -> Reply:
    return Reply([memoryview(bytearray(nbytes))], [], bulk=True)


def held_bytes(replies: KeptReplies) -> int:
    return sum(len(row.body[0]) for _number, row in replies.rows)


def test_what_nobody_acknowledges_is_bounded_whatever_the_quota(monkeypatch):
    monkeypatch.setattr(reply_buffer, "BYTES", 4 * MIB)
    replies = KeptReplies()
    for number in range(1, 30):
        replies.keep(number, reply(MIB))
        assert held_bytes(replies) <= 4 * MIB
    replies.keep(30, reply(16 * MIB))
    assert [number for number, _ in replies.rows] == [30]
    assert reply_buffer.BYTES < 1 << 30


def test_what_gave_way_is_answered_by_a_fault_until_it_is_acknowledged(monkeypatch):
    monkeypatch.setattr(reply_buffer, "FRAMES", 2)
    replies = KeptReplies()
    for number in (3, 5, 6, 9):
        replies.keep(number, reply(8))
    told = [(number, [fault.code for fault in row.faults]) for number, row in replies.again()]
    assert told == [(3, ["reply_lost"]), (5, ["reply_lost"]), (6, []), (9, [])]
    replies.forget(5)
    assert [number for number, _ in replies.again()] == [6, 9]
    replies.forget(9)
    assert not list(replies.again())


def test_frozen_replies_do_not_change_with_their_tensors():
    data = bytearray(b"then")
    replies = KeptReplies([(1, Reply([memoryview(data)], [], bulk=True))])
    replies.freeze()
    data[:] = b"now!"
    assert replies.rows[0][1].body == [b"then"]
