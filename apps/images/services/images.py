"""Images: described, offered to all, deleted."""

from uuid import UUID

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from apps.fleet.services.container_saves import container_save_drop
from apps.images.events import VersionMoved, VersionsGone
from apps.images.models import Image, ImageVersion, image_name
from apps.images.permissions import ImagePermission as P
from apps.images.permissions import images_kept, images_seen
from apps.images.states import Owner, VersionState
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.scheduling.selectors.workloads import workload_numbers_in_image
from apps.scheduling.services.quota.quotas import quota_release
from apps.tenancy.models import Tenant

INTRODUCTION_MAX = 4000


@service(P.USE)
def image_change(
    *, actor: Actor, uid: UUID, name: str | None = None, introduction: str | None = None
) -> Image:
    """Say what an image is, or call it otherwise."""
    row = image_kept_lock(actor, uid)
    if name is not None and name != row.name:
        name_check(name)
        row.name = name
        name_free_check(row)
    if introduction is not None:
        introduction_check(introduction)
        row.introduction = introduction
    row.save(update_fields=["name", "introduction", "updated_at"])
    return row


@service(P.USE)
def image_delete(*, actor: Actor, uid: UUID) -> None:
    """Delete an image with all its versions; their quota is free at once. Raises Conflict while work runs in one."""
    row = image_kept_lock(actor, uid)
    _versions_delete(actor, row, list(row.versions.select_for_update().order_by("pk")))
    row.delete()


@service(P.USE)
def version_delete(*, actor: Actor, uid: UUID) -> None:
    """Delete one version; the last of its image leaves the image without any. Raises Conflict while work runs in it."""
    found = ImageVersion.objects.filter(uid=uid).select_related("image").first()
    if found is None:
        raise NotFound()
    row = image_kept_lock(actor, found.image.uid)
    versions = list(row.versions.select_for_update().filter(uid=uid))
    if not versions:
        raise NotFound()
    _versions_delete(actor, row, versions)


@service(P.MANAGE)
def version_publish(*, actor: Actor, uid: UUID) -> ImageVersion:
    """Offer a version to everybody, under the same name and tag as an image of the centre. For operators alone.

    Raises Conflict where the centre has such a version already, or where this one is not ready.
    """
    if actor.tenant:
        raise Forbidden(_("This is for operators."))
    row = ImageVersion.objects.select_for_update(of=("self",)).select_related("image").filter(uid=uid).first()
    if row is None:
        raise NotFound()
    act_subject("image", row.image.uid, name=row.image.name, tag=row.tag)
    if row.state != VersionState.READY:
        raise Conflict(_("This version is not ready."))
    image, _new = Image.objects.get_or_create(
        owner=Owner.CENTRE,
        tenant=None,
        person=None,
        organization=None,
        name=row.image.name,
        defaults={"introduction": row.image.introduction},
    )
    if image.versions.filter(tag=row.tag).exists():
        raise Conflict(
            _("The centre offers %(image)s already.") % {"image": f"{image.name}:{row.tag}"},
            cure=_("Withdraw that first."),
        )
    copied = ("tag", "state", "repository", "digest", "architecture", "size_bytes", "unpacked_bytes", "entry_point",
              "layers")  # fmt: skip
    return ImageVersion.objects.create(
        image=image, made_by_id=actor.user_id, **{name: getattr(row, name) for name in copied}
    )


@service(recorded=False)
def tenant_images_forget(*, actor: Actor, tenant: Tenant) -> None:
    """Delete every image of a tenant whose data are deleted; the registry gives up what no version stands for."""
    for image in Image.objects.filter(tenant=tenant).select_related("tenant"):
        _versions_delete(actor, image, list(image.versions.all()))
        image.delete()


def version_refuse(actor: Actor, row: ImageVersion, problem: str) -> None:
    """Nothing of a version on its way is taken: its quota is free again, and it says why."""
    row.state, row.problem, row.digest, row.repository = VersionState.REFUSED, problem[:500], "", ""
    row.is_taken = False
    row.save(update_fields=["state", "problem", "digest", "repository", "is_taken"])
    container_save_drop(actor=actor, uid=row.uid)
    if row.image.tenant is not None:
        quota_release(actor=actor, tenant=row.image.tenant, holder_uid=row.uid)
    _moved(actor, row)


def _versions_delete(actor: Actor, image: Image, versions: list[ImageVersion]) -> None:
    for version in versions:
        if works := workload_numbers_in_image(version.uid):
            raise Conflict(
                _("Work that has not ended runs in %(image)s: %(works)s.")
                % {"image": f"{image.name}:{version.tag}", "works": ", ".join(works)},
                cure=_("Let it end first, or end it."),
            )
    for version in versions:
        if image.tenant is not None:
            quota_release(actor=actor, tenant=image.tenant, holder_uid=version.uid)
        container_save_drop(actor=actor, uid=version.uid)
        _moved(actor, version)
        version.delete()
    gone = tuple(version.repository for version in versions if version.repository)
    emit(VersionsGone(gone), actor=actor)


def _moved(actor: Actor, version: ImageVersion) -> None:
    if version.settings is not None:
        emit(VersionMoved(str(version.uid)), actor=actor)


def image_kept_lock(actor: Actor, uid: UUID) -> Image:
    """The image, locked, that the actor may change. NotFound for one that he does not see."""
    rows = Image.objects.select_for_update(of=("self",), no_key=True).select_related("tenant")
    row = rows.filter(images_seen(actor), uid=uid).first()
    if row is None:
        raise NotFound()
    act_subject("image", row.uid, name=row.name)
    if not Image.objects.filter(images_kept(actor), pk=row.pk).exists():
        raise Forbidden(_("The image %(name)s is kept by who manages images.") % {"name": row.name})
    return row


def name_check(name: str) -> None:
    try:
        image_name(name)
    except ValidationError as error:
        raise InvalidInput(fields={"name": " ".join(error.messages)}) from error


def introduction_check(text: str) -> None:
    if len(text) > INTRODUCTION_MAX:
        raise InvalidInput(
            fields={"introduction": _("At most %(most)s characters.") % {"most": INTRODUCTION_MAX}}
        )


def name_free_check(row: Image) -> None:
    same = Image.objects.filter(
        tenant=row.tenant, owner=row.owner, person=row.person, organization=row.organization, name=row.name
    )
    if same.exclude(pk=row.pk).exists():
        raise Conflict(
            _("There is an image %(name)s of this owner already.") % {"name": row.name},
            cure=_("Choose another name."),
            fields={"name": _("taken")},
        )
