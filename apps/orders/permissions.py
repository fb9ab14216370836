from enum import StrEnum

from django.db.models import Q

from apps.kernel.actor import Actor
from apps.kernel.reach import Records


class OrdersPermission(StrEnum):
    VIEW = "orders.view"
    APPLY = "orders.apply"
    TERMINATE = "orders.terminate"


def orders_reached(actor: Actor) -> Q:
    """The applications, and the orders made of them, that the actor reaches."""
    return actor.reaches(
        Records.ORDERS,
        own=Q(applicant_id=actor.user_id),
        organization="organization__uid",
        system="business_system__uid",
    )
