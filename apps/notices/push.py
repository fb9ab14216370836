"""Live push: say to open pages that something they show has changed.

They fetch it again themselves: what they show is in the viewer's language and within the viewer's rights.

A push is a hint: a page that misses it is right again at its next load.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.core import signing
from django.db import transaction

from apps.kernel.planes import PUBLIC, current_schema

log = logging.getLogger(__name__)
_SALT = "weir.live"
TOPICS_MAX_AGE_S = 12 * 3600
_AT_ONCE = 64


def push(topic: str, event: str = "changed", **data: object) -> None:
    """Tell the pages that watch `topic`, once the current transaction has committed.

    `data` holds plain JSON values with which a page fetches only what is new (an offset), never words.
    """
    transaction.on_commit(lambda: _send(topic, event, data))


def push_many(topics: Iterable[str]) -> None:
    """Tell the pages that watch any of `topics` that it has changed, once the current transaction has committed."""
    listed = list(topics)
    transaction.on_commit(lambda: _send_many(listed))


def _send_many(topics: Sequence[str]) -> None:
    async def all_of_them() -> None:
        layer = get_channel_layer()
        for start in range(0, len(topics), _AT_ONCE):
            bodies = [(topic, _body(topic, "changed", {})) for topic in topics[start : start + _AT_ONCE]]
            await asyncio.gather(*(layer.group_send(group_of(topic), body) for topic, body in bodies))

    try:
        async_to_sync(all_of_them)()
    except Exception:
        log.exception("pushes lost: %s", len(topics))


def _body(topic: str, event: str, data: Mapping[str, object]) -> dict[str, object]:
    return {"type": "live.event", "topic": topic, "event": event, "data": dict(data)}


def _send(topic: str, event: str, data: Mapping[str, object]) -> None:
    try:
        async_to_sync(get_channel_layer().group_send)(group_of(topic), _body(topic, event, data))
    except Exception:
        # The change itself is committed; an open page that is not told shows it at its next load.
        log.exception("push lost: %s %s", topic, event)


def group_of(topic: str) -> str:
    return f"live.{topic}"


class Ticket(NamedTuple):
    """What a page may watch: the topics, whose page it is, and the tenant whose portal it was made in ("" for none)."""

    topics: list[str]
    user_id: int | None
    schema: str


def topics_sign(topics: Iterable[str], user_id: int | None) -> str:
    """A ticket that lets this user's socket watch `topics` for 12 hours; made once a page has checked its viewer.

    It holds no spaces: several stand in one attribute, separated by blanks.
    """
    schema = current_schema()
    made = {"topics": sorted(set(topics)), "user": user_id, "tenant": "" if schema == PUBLIC else schema}
    return signing.dumps(made, salt=_SALT, compress=True)


def ticket_read(ticket: str) -> Ticket:
    """What a ticket holds. Raises signing.BadSignature when it is forged or older than 12 hours."""
    read = signing.loads(ticket, salt=_SALT, max_age=TOPICS_MAX_AGE_S)
    return Ticket(list(read["topics"]), read["user"], read["tenant"])
