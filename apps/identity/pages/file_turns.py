"""Who has a long file written: one person one at a time, so that nobody's windows keep all servers busy."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor
from apps.kernel.errors import Conflict

_LOCK = 7_310_022


@contextmanager
def one_at_a_time(actor: Actor) -> Iterator[None]:
    """Write a file for the actor; a process that dies meanwhile gives the turn back.

    Raises:
        Conflict: another one is being written for the same person.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [_LOCK, actor.user_id or 0])
            is_ours = cursor.fetchone()[0]
        if not is_ours:
            raise Conflict(
                _("Another file is being written for you."), cure=_("Ask again once it has arrived.")
            )
        yield
