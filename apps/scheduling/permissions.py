from enum import StrEnum

from django.db.models import Q

from apps.kernel.actor import Actor
from apps.kernel.reach import Records


class SchedulingPermission(StrEnum):
    VIEW = "scheduling.view"
    MANAGE = "scheduling.manage"


class ResourcePermission(StrEnum):
    VIEW = "resources.view"
    OPERATE = "resources.operate"


# A resource ticket is found by who sees what people may hold, and by who decides on it.
TICKETS_OF_ALL = (SchedulingPermission.VIEW, "approvals.decide")
# Who speaks for all people of a tenant: what each of them may hold is asked for by who manages its organization.
FOR_ALL = "orgs.manage"


def work_reached(actor: Actor) -> Q:
    """The work of a tenant that the actor reaches: his own, and others' as far as the data permission goes."""
    return actor.reaches(
        Records.RESOURCES,
        own=Q(submitted_by_id=actor.user_id),
        organization="organization",
        system="business_system_uid",
    )
