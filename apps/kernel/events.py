"""Events go up: a lower app says what happened, `portal/wiring.py` says who cares."""

import logging
from dataclasses import dataclass

from django.db import transaction

from apps.kernel import wiring
from apps.kernel.actor import Actor

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events: frozen, past tense, ids and plain values only."""


def emit(event: Event, *, actor: Actor) -> None:
    """Tell `within` handlers now, in this transaction, and `after` handlers once it has committed."""
    for handler in wiring.handlers_within(type(event)):
        handler(event, actor)
    for late in wiring.handlers_after(type(event)):
        transaction.on_commit(lambda late=late: _hint(late, event))


def _hint(handler: wiring.After, event: Event) -> None:
    # The change is committed: a broker that is down may delay what follows, never undo or fail it.
    try:
        handler(event)
    except Exception:
        log.exception("hint lost, a sweep will find it: %s", event)
