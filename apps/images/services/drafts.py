"""A version of an image on its way: whose it is, under which name and tag, and what it holds of the quota."""

from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from apps.images.models import Image, ImageVersion, image_tag
from apps.images.permissions import ImagePermission as P
from apps.images.registry import LAYERS_MAX
from apps.images.services.images import image_kept_lock, introduction_check, name_check
from apps.images.states import Owner
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput
from apps.scheduling.selectors.entitlements.quotas import quota_organizations
from apps.scheduling.services.quota.quotas import quota_keep
from apps.scheduling.states import QuotaItem
from apps.tenancy.models import Tenant


def draft_check(name: str, tag: str, introduction: str) -> None:
    """Raises InvalidInput for what no image can be called."""
    name_check(name)
    introduction_check(introduction)
    try:
        image_tag(tag)
    except ValidationError as error:
        raise InvalidInput(fields={"tag": " ".join(error.messages)}) from error


def layers_bound_check(base: ImageVersion) -> None:
    """Raises Conflict for an image upon which nothing can go any more."""
    if len(base.layers) > LAYERS_MAX:
        raise Conflict(
            _("The image has %(count)s layers: no more can go upon them.") % {"count": len(base.layers) - 1},
            cure=_("Build it anew, with fewer."),
        )


def draft_make(
    *,
    actor: Actor,
    tenant: Tenant,
    name: str,
    tag: str,
    introduction: str,
    owner: str,
    organization: UUID | None,
    facts: dict[str, Any],
) -> ImageVersion:
    """Add a version under `tag` to the owner's image called `name`, or to a new one; its size in bytes is held of the
    quota of storage. Raises Conflict where that tag is taken, QuotaExceeded."""
    image = _image(actor, tenant, name, owner, organization, introduction)
    act_subject("image", image.uid, name=name, tag=tag, size_bytes=facts["size_bytes"])
    if image.versions.filter(tag=tag).exists():
        raise Conflict(
            _("%(image)s is there already.") % {"image": f"{name}:{tag}"},
            cure=_("Choose another tag, or delete that version."),
            fields={"tag": _("taken")},
        )
    row = ImageVersion.objects.create(image=image, tag=tag, made_by_id=actor.user_id, **facts)
    version_quota_keep(actor, row)
    return row


def _image(
    actor: Actor, tenant: Tenant, name: str, owner: str, organization: UUID | None, introduction: str
) -> Image:
    """The owner's image of that name, locked; a new one where there is none."""
    if owner not in (Owner.PERSON, Owner.ORGANIZATION, Owner.TENANT):
        names = ", ".join((Owner.PERSON, Owner.ORGANIZATION, Owner.TENANT))
        raise InvalidInput(fields={"owner": _("one of %(names)s") % {"names": names}})
    if owner != Owner.PERSON:
        actor.require(P.MANAGE)
    if owner == Owner.ORGANIZATION and organization not in quota_organizations(tenant):
        raise InvalidInput(fields={"organization": _("Choose one of the tenant's organizations.")})
    row, is_new = Image.objects.get_or_create(
        tenant=tenant,
        owner=owner,
        person_id=actor.user_id if owner == Owner.PERSON else None,
        organization_id=organization if owner == Owner.ORGANIZATION else None,
        name=name,
        defaults={"introduction": introduction},
    )
    if is_new:
        return row
    row = image_kept_lock(actor, row.uid)
    if introduction and introduction != row.introduction:
        row.introduction = introduction
        row.save(update_fields=["introduction", "updated_at"])
    return row


def version_quota_keep(actor: Actor, row: ImageVersion) -> None:
    """Hold what a version takes of the quota of storage. Raises QuotaExceeded."""
    image = row.image
    if image.tenant is None:
        return
    quota_keep(
        actor=actor,
        tenant=image.tenant,
        holder_uid=row.uid,
        amounts={QuotaItem.STORAGE_MIB.value: -(-row.size_bytes // 2**20)},
        organization=image.organization_id or (actor.organization if actor.is_user else None),
    )
