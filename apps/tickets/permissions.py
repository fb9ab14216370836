from enum import StrEnum

from django.db.models import Q

from apps.kernel.actor import Actor
from apps.kernel.reach import Records


class TicketsPermission(StrEnum):
    OPEN = "tickets.open"
    WORK = "tickets.work"
    MANAGE = "tickets.manage"


def tickets_reached(actor: Actor) -> Q:
    """The tickets of the orders that the actor reaches, and those that somebody opened who is within that reach."""
    return actor.reaches(
        Records.ORDERS,
        own=Q(submitter_id=actor.user_id),
        organization="organization__uid",
        system="business_system__uid",
    )
