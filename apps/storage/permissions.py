"""Who sees and who changes which volumes."""

from enum import StrEnum

from django.db.models import Q

from apps.kernel.actor import Actor
from apps.orgs.selectors import organization_uids_above
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
    """The volumes that the actor finds in lists: who manages them sees all of the tenant, not what is in them."""
    return Q(is_asset=False) if actor.may(StoragePermission.MANAGE) else volumes_opened(actor)


def volumes_kept(actor: Actor) -> Q:
    """The volumes that the actor may rename, resize and delete."""
    own = Q(owner=Owner.PERSON, person_id=actor.user_id)
    return Q(is_asset=False) if actor.may(StoragePermission.MANAGE) else own & Q(is_asset=False)
