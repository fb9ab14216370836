from enum import StrEnum

from django.db.models import Q

from apps.kernel.actor import Actor
from apps.kernel.reach import Records


class TicketsPermission(StrEnum):
    WORK = "tickets.work"


def tickets_reached(actor: Actor) -> Q:
    """The tickets of the orders that the actor reaches."""
    return actor.reaches(
        Records.ORDERS,
        own=Q(submitter_id=actor.user_id),
        organization="organization__uid",
        system="business_system__uid",
    )
