"""Who sees and who changes which images."""

from enum import StrEnum

from django.db.models import Q

from apps.images.states import Owner
from apps.kernel.actor import Actor
from apps.kernel.reach import Records
from apps.scheduling.selectors.entitlements.quotas import organizations_above


class ImagePermission(StrEnum):
    VIEW = "images.view"
    USE = "images.use"
    MANAGE = "images.manage"


def images_opened(actor: Actor) -> Q:
    """The images that the actor may run: his own, those of his organization and of all above it, his tenant's, and
    the centre's, which are everybody's."""
    if not actor.tenant:
        return Q(owner=Owner.CENTRE)
    own = Q(owner=Owner.PERSON, person_id=actor.user_id) if actor.user_id is not None else Q(pk__in=[])
    above = organizations_above(actor.tenant, actor.organization)
    within = own | Q(owner=Owner.ORGANIZATION, organization__in=above) | Q(owner=Owner.TENANT)
    return Q(owner=Owner.CENTRE) | (Q(tenant__schema_name=actor.tenant) & within)


def images_seen(actor: Actor) -> Q:
    """The images that the actor finds in lists: beside those that he may run, those that he manages."""
    return images_opened(actor) | _managed(actor)


def images_kept(actor: Actor) -> Q:
    """The images that the actor may describe, give versions and delete. The centre's are kept on the operators' side
    alone."""
    own = Q(tenant__schema_name=actor.tenant, owner=Owner.PERSON, person_id=actor.user_id)
    return own | _managed(actor) if actor.tenant else _managed(actor)


def _managed(actor: Actor) -> Q:
    """On the operators' side all; in a tenant those of the organizations that the actor's role reaches, and people's
    where it reaches everything (PLAT-SEC-4)."""
    if not actor.may(ImagePermission.MANAGE):
        return Q(pk__in=[])
    if not actor.tenant:
        return ~Q(pk__in=[])
    within = Q(tenant__schema_name=actor.tenant)
    if actor.reaches_all(Records.RESOURCES):
        return within
    own, place = Q(person_id=actor.user_id), "organization__uid"
    return within & actor.reaches(Records.RESOURCES, own=own, organization=place, system=place)
