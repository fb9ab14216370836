"""Archives into the registry: looked at when somebody asks, checked whole and taken by a worker."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _
from django.utils.translation import override

from apps.images.archives import Archive, archive_read, layers_check
from apps.images.errors import ImageRefused
from apps.images.events import VersionAsked, VersionsGone
from apps.images.models import Image, ImageVersion, image_tag
from apps.images.permissions import ImagePermission as P
from apps.images.registry import manifest_facts, registry
from apps.images.selectors import architectures
from apps.images.services.images import image_kept_lock, introduction_check, name_check
from apps.images.states import Owner, VersionState
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Busy, Conflict, InvalidInput, NotFound, WeirError
from apps.kernel.events import emit
from apps.kernel.planes import in_tenant
from apps.kernel.service import service
from apps.scheduling.selectors.quotas import quota_organizations
from apps.scheduling.services.quota.quotas import quota_keep, quota_release
from apps.scheduling.states import QuotaItem
from apps.tenancy.models import Tenant

_BLOCK = 2**20
STUCK_S = 7200


@service(P.USE)
def image_import(
    *,
    actor: Actor,
    tenant: Tenant,
    volume: str,
    path: str,
    name: str,
    tag: str = "latest",
    introduction: str = "",
    owner: str = Owner.PERSON,
    organization: UUID | None = None,
) -> ImageVersion:
    """Take an archive out of a volume as a version of an image, which is made where the owner has none of that name.

    What can be seen at once is refused at once; a worker looks at every layer before anything is taken, and the version
    says how that went.

    Raises:
        ImageRefused: it is no image, or one for machines that this centre does not have.
        QuotaExceeded: the tenant, or an organization, has no quota of storage left for its size.
        Conflict: the image has a version of that tag.
        NoRegistry: this centre keeps no images.
    """
    registry()
    name_check(name)
    introduction_check(introduction)
    try:
        image_tag(tag)
    except ValidationError as error:
        raise InvalidInput(fields={"tag": " ".join(error.messages)}) from error
    place = import_string(settings.WEIR_VOLUME_FILE)(actor=actor, volume=volume, path=path)
    with _file(tenant, place.volume_uid, place.path) as file:
        archive = _readable(file)
    image = _image(actor, tenant, name, owner, organization, introduction)
    act_subject("image", image.uid, name=name, tag=tag, size_bytes=place.size_bytes)
    if image.versions.filter(tag=tag).exists():
        raise Conflict(
            _("%(image)s is there already.") % {"image": f"{name}:{tag}"},
            cure=_("Choose another tag, or delete that version."),
            fields={"tag": _("taken")},
        )
    row = ImageVersion.objects.create(
        image=image,
        tag=tag,
        architecture=archive.architecture,
        size_bytes=place.size_bytes,
        entry_point=archive.entry_point,
        volume_uid=place.volume_uid,
        source=place.path,
        made_by_id=actor.user_id,
    )
    _quota_keep(actor, row)
    emit(VersionAsked(str(row.uid)), actor=actor)
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


def _quota_keep(actor: Actor, row: ImageVersion) -> None:
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


def _readable(file: IO[bytes]) -> Archive:
    """What the archive says of itself. Raises ImageRefused for machines that the centre does not have."""
    archive = archive_read(file)
    known = architectures()
    if archive.os != "linux" or archive.architecture not in known:
        raise ImageRefused(
            _("The image is for %(given)s; this centre's machines are %(known)s.")
            % {
                "given": f"{archive.os or '?'}/{archive.architecture or '?'}",
                "known": ", ".join(f"linux/{word}" for word in sorted(known)),
            },
            cure=_("Build or pull it for one of these."),
        )
    return archive


# --- by a worker -------------------------------------------------------------------------------------------------


def version_take(*, actor: Actor, uid: UUID) -> None:
    """Check a version's archive whole and put it into the registry. Coming twice changes nothing.

    No transaction is open meanwhile: it may take minutes. It is read from a copy of its own, since work that mounts
    the volume could write to the file between the look and the taking.
    """
    rows = ImageVersion.objects.select_related("image__tenant", "made_by")
    row = rows.filter(uid=uid, state=VersionState.CHECKING).first()
    if row is None or row.image.tenant is None or row.volume_uid is None:
        return
    # What is wrong is told to who asked.
    language = row.made_by.language if row.made_by is not None else ""
    with override(language or settings.LANGUAGE_CODE):
        _take(actor, row, row.image.tenant)


def _take(actor: Actor, row: ImageVersion, tenant: Tenant) -> None:
    repository = f"{tenant.schema_name}/{row.image.uid.hex}"
    limit_bytes = int(settings.WEIR_IMAGE_LIMIT_MIB) * 2**20
    try:
        with _copied(row) as copy:
            with copy.open("rb") as file:
                archive = _readable(file)
                unpacked = layers_check(file, archive, limit_bytes=limit_bytes)
            digest = registry().push(copy, archive.kind, repository, row.uid.hex)
        size, layers = manifest_facts(registry().manifest(repository, digest))
    except Busy:
        # The registry, or the storage, does not answer: the sweep asks again.
        return
    except WeirError as error:
        version_refused(actor=actor, uid=row.uid, problem=f"{error.message} {error.cure}".strip())
        return
    version_ready(
        actor=actor,
        uid=row.uid,
        facts={
            "repository": repository,
            "digest": digest,
            "size_bytes": size,
            "unpacked_bytes": unpacked,
            "layers": layers,
            "architecture": archive.architecture,
            "entry_point": archive.entry_point,
        },
    )


@service(recorded=False)
def version_ready(*, actor: Actor, uid: UUID, facts: dict[str, Any]) -> None:
    """A version is in the registry; one that was deleted meanwhile goes from there again."""
    row = _checking(uid)
    if row is None:
        emit(VersionsGone((facts["repository"],)), actor=actor)
        return
    for name, value in facts.items():
        setattr(row, name, value)
    row.state, row.problem = VersionState.READY, ""
    row.save()
    try:
        with transaction.atomic():
            _quota_keep(actor, row)
    except WeirError as error:
        # Stored it may be larger than its archive was, and the quota full by now.
        _refuse(actor, row, f"{error.message} {error.cure}".strip())
        emit(VersionsGone((facts["repository"],)), actor=actor)


@service(recorded=False)
def version_refused(*, actor: Actor, uid: UUID, problem: str) -> None:
    """Nothing of an archive is taken: its quota is free again, and the version says why."""
    if (row := _checking(uid)) is not None:
        _refuse(actor, row, problem)


def _refuse(actor: Actor, row: ImageVersion, problem: str) -> None:
    row.state, row.problem, row.digest, row.repository = VersionState.REFUSED, problem[:500], "", ""
    row.save(update_fields=["state", "problem", "digest", "repository"])
    if row.image.tenant is not None:
        quota_release(actor=actor, tenant=row.image.tenant, holder_uid=row.uid)


def _checking(uid: UUID) -> ImageVersion | None:
    rows = ImageVersion.objects.select_for_update(of=("self",)).select_related("image__tenant")
    return rows.filter(uid=uid, state=VersionState.CHECKING).first()


def versions_waiting() -> list[UUID]:
    """Versions that were asked for a while ago and are still on their way: their hint was lost."""
    before = timezone.now() - timedelta(seconds=60)
    rows = ImageVersion.objects.filter(state=VersionState.CHECKING, created_at__lt=before)
    return list(rows.order_by("pk").values_list("uid", flat=True)[:20])


def registry_tidy(repositories: list[str] | None = None) -> None:
    """Take out of the registry what no version stands for any more; of all repositories where none is named."""
    held = registry()
    for repository in held.repositories() if repositories is None else repositories:
        for tag in held.tags(repository):
            digest = held.digest(repository, tag)
            if digest and not _is_known(repository, tag, digest):
                held.remove(repository, digest)


def _is_known(repository: str, tag: str, digest: str) -> bool:
    rows = ImageVersion.objects.all()
    if rows.filter(repository=repository, digest=digest).exists():
        return True
    try:
        return rows.filter(uid=UUID(tag), state=VersionState.CHECKING).exists()
    except ValueError:
        # Somebody else's: whoever put it there by hand.
        return True


@contextmanager
def _file(tenant: Tenant, volume_uid: UUID, path: str) -> Iterator[IO[bytes]]:
    with in_tenant(tenant.schema_name):
        found = import_string(settings.WEIR_VOLUME_FILE_OPEN)(volume_uid, path)
    with os.fdopen(found.fd, "rb") as file:
        yield file


@contextmanager
def _copied(row: ImageVersion) -> Iterator[Path]:
    """The archive in a folder of ours, as long as the block runs."""
    tenant, volume = row.image.tenant, row.volume_uid
    assert tenant is not None
    assert volume is not None
    folder = Path(settings.WEIR_IMAGES_DIR)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        with _file(tenant, volume, row.source) as file, tempfile.NamedTemporaryFile(dir=folder) as copy:
            while block := file.read(_BLOCK):
                copy.write(block)
                if copy.tell() > row.size_bytes:
                    raise ImageRefused(_("The file was changed while it was taken."))
            copy.flush()
            yield Path(copy.name)
    except NotFound as error:
        raise ImageRefused(_("The file is gone from its volume.")) from error
