"""Who sees and who changes which volumes."""

from enum import StrEnum

from django.db.models import Q

from apps.kernel.actor import Actor
from apps.kernel.reach import Records
from apps.orgs.selectors.organizations import member_ids_reached, organization_uids_above
from apps.storage.states import Owner


class StoragePermission(StrEnum):
    VIEW = "storage.view"
    USE = "storage.use"
    MANAGE = "storage.manage"


def volumes_opened(actor: Actor) -> Q:
    """The volumes whose files the actor may open: his own, those of his organization and of all above it, and the
    tenant's. Nobody else opens a person's files, whatever his role."""
    above = organization_uids_above(actor.organization)
    whose = (
        Q(owner=Owner.PERSON, person_id=actor.user_id)
        | Q(owner=Owner.ORGANIZATION, organization__uid__in=above)
        | Q(owner=Owner.TENANT)
    )
    return whose & Q(is_asset=False)


def volumes_seen(actor: Actor) -> Q:
    """The volumes that the actor finds in lists: who manages them sees those that he reaches, not what is in them."""
    return volumes_opened(actor) | _managed(actor)


def volumes_kept(actor: Actor) -> Q:
    """The volumes that the actor may rename, resize and delete."""
    own = Q(owner=Owner.PERSON, person_id=actor.user_id)
    return own & Q(is_asset=False) | _managed(actor)


def _managed(actor: Actor) -> Q:
    """The volumes that the actor manages: as far as his role reaches, people's by their organization (PLAT-SEC-4)."""
    if not actor.may(StoragePermission.MANAGE):
        return Q(pk__in=[])
    if actor.reaches_all(Records.RESOURCES):
        return Q(is_asset=False)
    people = Q(person_id__in=member_ids_reached(actor, Records.RESOURCES))
    place = "organization__uid"
    reached = actor.reaches(Records.RESOURCES, own=people, organization=place, system=place)
    return reached & Q(is_asset=False)
