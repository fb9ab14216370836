"""Assets: made, described, shared, deleted."""

from collections.abc import Sequence
from uuid import UUID

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from apps.assets.models import Asset, asset_name
from apps.assets.services.versions import asset_lock, version_drop
from apps.assets.states import AssetKind, Reach
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput
from apps.kernel.service import service
from apps.orgs.selectors.organizations import organization_of
from apps.storage.permissions import StoragePermission as P

TAGS_MAX = 16
TAG_MAX = 32
INTRODUCTION_MAX = 4000


@service(P.USE)
def asset_make(
    *,
    actor: Actor,
    kind: str,
    name: str,
    introduction: str = "",
    tags: Sequence[str] = (),
    reach: str = Reach.PERSON,
) -> Asset:
    """Make an asset of the actor's own, which has no version yet. Raises Conflict where he has one of that name."""
    assert actor.user_id is not None, "an asset has an owner"
    _choice_check("kind", kind, AssetKind.values)
    try:
        asset_name(name)
    except ValidationError as error:
        raise InvalidInput(fields={"name": " ".join(error.messages)}) from error
    if Asset.objects.filter(kind=kind, owner_id=actor.user_id, name=name).exists():
        raise Conflict(
            _("You have one called %(name)s already.") % {"name": name},
            cure=_("Publish a new version of it, or choose another name."),
            fields={"name": _("taken")},
        )
    row = Asset(kind=kind, name=name, owner_id=actor.user_id)
    _describe(row, introduction=introduction, tags=tags, reach=reach)
    row.save()
    act_subject("asset", row.uid, name=f"{kind}/{name}", reach=row.reach)
    return row


@service(P.USE)
def asset_change(
    *,
    actor: Actor,
    uid: UUID,
    introduction: str | None = None,
    tags: Sequence[str] | None = None,
    reach: str | None = None,
) -> Asset:
    """Change its introduction, its tags, or whom it is shared with; what is not given stays."""
    row = asset_lock(actor, uid)
    _describe(row, introduction=introduction, tags=tags, reach=reach)
    row.save()
    act_subject("asset", row.uid, name=row.name, reach=row.reach)
    return row


@service(P.USE)
def asset_delete(*, actor: Actor, uid: UUID) -> None:
    """Delete an asset with all its versions. Raises Conflict while work uses one."""
    row = asset_lock(actor, uid)
    for version in row.versions.select_related("volume"):
        version_drop(actor, version)
    row.delete()


def _describe(
    row: Asset,
    *,
    introduction: str | None = None,
    tags: Sequence[str] | None = None,
    reach: str | None = None,
) -> None:
    if introduction is not None:
        if len(introduction) > INTRODUCTION_MAX:
            most = _("at most %(most)s characters") % {"most": INTRODUCTION_MAX}
            raise InvalidInput(fields={"introduction": most})
        row.introduction = introduction
    if tags is not None:
        row.tags = _tags(tags)
    if reach is not None:
        _choice_check("reach", reach, Reach.values)
        row.reach = reach
        row.organization = organization_of(row.owner_id) if reach == Reach.ORGANIZATION else None
        if reach == Reach.ORGANIZATION and row.organization is None:
            raise InvalidInput(fields={"reach": _("Its owner is in no organization.")})


def _tags(given: Sequence[str]) -> list[str]:
    tags = list(dict.fromkeys(tag.strip() for tag in given if tag.strip()))
    if len(tags) > TAGS_MAX or any(len(tag) > TAG_MAX for tag in tags):
        most = {"most": TAGS_MAX, "length": TAG_MAX}
        raise InvalidInput(fields={"tags": _("at most %(most)s, each of %(length)s characters") % most})
    return tags


def _choice_check(field: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise InvalidInput(fields={field: _("one of %(names)s") % {"names": ", ".join(choices)}})
