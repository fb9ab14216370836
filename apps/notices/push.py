"""Live push: say to open pages that something they show has changed.

They fetch it again themselves: what they show is in the viewer's language and within the viewer's rights.

A push is a hint: a page that misses it is right again at its next load.
"""

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.core import signing
from django.core.cache import cache
from django.db import transaction

from apps.kernel.planes import PUBLIC, current_schema

log = logging.getLogger(__name__)
_SALT = "weir.live"
TOPICS_MAX_AGE_S = 12 * 3600
_AT_ONCE = 64
# For how long it is known when a topic was last pushed, and by how much the clocks of two servers may differ.
_REMEMBERED_S, _CLOCKS_S = 120, 2.0


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
        # Before it is sent: whoever subscribes in between finds it here.
        cache.set_many(dict.fromkeys(map(_last_key, topics), time.time()), _REMEMBERED_S)
        async_to_sync(all_of_them)()
    except Exception:
        log.exception("pushes lost: %s", len(topics))


def _body(topic: str, event: str, data: Mapping[str, object]) -> dict[str, object]:
    return {"type": "live.event", "topic": topic, "event": event, "data": dict(data)}


def _send(topic: str, event: str, data: Mapping[str, object]) -> None:
    try:
        cache.set(_last_key(topic), time.time(), _REMEMBERED_S)
        async_to_sync(get_channel_layer().group_send)(group_of(topic), _body(topic, event, data))
    except Exception:
        # The change itself is committed; an open page that is not told shows it at its next load.
        log.exception("push lost: %s %s", topic, event)


def group_of(topic: str) -> str:
    return f"live.{topic}"


def _last_key(topic: str) -> str:
    return f"live-last.{topic}"


class Ticket(NamedTuple):
    """What a page may watch: the topics, whose page it is, the tenant whose portal it was made in ("" for none), and
    since when (seconds since 1970) what is pushed is news to it."""

    topics: list[str]
    user_id: int | None
    schema: str
    since_s: float


def has_missed(tickets: Iterable[Ticket]) -> bool:
    """Whether something was pushed, or may have been, since the pages were made that the tickets stand in; asked once
    their topics are subscribed to. A page that is told so asks for its parts again, all others spare it."""
    since = {topic: ticket.since_s - _CLOCKS_S for ticket in tickets for topic in ticket.topics}
    if min(since.values()) < time.time() - _REMEMBERED_S / 2:
        return True
    last = cache.get_many(map(_last_key, since))
    return any(last.get(_last_key(topic), 0.0) >= since_s for topic, since_s in since.items())


def topics_sign(topics: Iterable[str], user_id: int | None, *, since_s: float) -> str:
    """A ticket that lets this user's socket watch `topics` for 12 hours; made once a page has checked its viewer.

    It holds no spaces: several stand in one attribute, separated by blanks.

    Args:
        since_s: when the page began to be made (seconds since 1970): it may not show what came later.
    """
    schema = current_schema()
    made = {
        "topics": sorted(set(topics)),
        "user": user_id,
        "tenant": "" if schema == PUBLIC else schema,
        "since": round(since_s, 3),
    }
    return signing.dumps(made, salt=_SALT, compress=True)


def ticket_read(ticket: str) -> Ticket:
    """What a ticket holds. Raises signing.BadSignature when it is forged or older than 12 hours."""
    read = signing.loads(ticket, salt=_SALT, max_age=TOPICS_MAX_AGE_S)
    return Ticket(list(read["topics"]), read["user"], read["tenant"], float(read["since"]))
