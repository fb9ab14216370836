from enum import StrEnum

from django.db.models import Q

from apps.kernel.actor import Actor
from apps.kernel.reach import Records


class ApprovalsPermission(StrEnum):
    DECIDE = "approvals.decide"


def tasks_reached(actor: Actor) -> Q:
    """The steps that decide on the applications which the actor reaches."""
    return actor.reaches(
        Records.ORDERS,
        own=Q(instance__applicant_id=actor.user_id),
        organization="instance__organization__uid",
        system="instance__business_system__uid",
    )
