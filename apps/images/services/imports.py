"""Archives into the registry: looked at when somebody asks, checked whole and taken by a worker."""

import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _
from django.utils.translation import override

from apps.fleet.services.container_saves import container_save_drop
from apps.images.archives import Archive, archive_read, layers_check
from apps.images.errors import ImageRefused
from apps.images.events import VersionAsked, VersionMoved, VersionsGone
from apps.images.models import ImageVersion
from apps.images.permissions import ImagePermission as P
from apps.images.registry import manifest_facts, registry
from apps.images.room import room_check
from apps.images.selectors import architectures
from apps.images.services.drafts import draft_check, draft_make, version_quota_keep
from apps.images.services.images import version_refuse
from apps.images.services.saves import layer_take
from apps.images.states import Owner, VersionState
from apps.kernel.actor import Actor
from apps.kernel.errors import Busy, NotFound, WeirError
from apps.kernel.events import emit
from apps.kernel.planes import in_tenant
from apps.kernel.service import service
from apps.tenancy.models import Tenant
from apps.tenancy.states import TenantState

_BLOCK = 2**20
# A worker that has had a version for longer is dead: looking at it and storing it end before.
STUCK_S = 7200
TRIES_MAX = 3

log = logging.getLogger("weir.images")


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
    draft_check(name, tag, introduction)
    place = import_string(settings.WEIR_VOLUME_FILE)(actor=actor, volume=volume, path=path)
    with _file(tenant, place.volume_uid, place.path) as file:
        archive = _readable(file)
    row = draft_make(
        actor=actor,
        tenant=tenant,
        name=name,
        tag=tag,
        introduction=introduction,
        owner=owner,
        organization=organization,
        facts={
            "architecture": archive.architecture,
            "size_bytes": place.size_bytes,
            "entry_point": archive.entry_point,
            "volume_uid": place.volume_uid,
            "source": place.path,
        },
    )
    emit(VersionAsked(str(row.uid)), actor=actor)
    return row


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
    """Check a version's archive whole and put it into the registry. Coming twice changes nothing, and of several
    workers one does it.

    No transaction is open meanwhile: it may take minutes. It is read from a copy of its own, since work that mounts
    the volume could write to the file between the look and the taking.
    """
    row = version_claim(actor=actor, uid=uid)
    if row is None or row.image.tenant is None or row.taken_at is None:
        return
    with _language_of(row):
        try:
            _tenant_check(row.image.tenant)
            _take(actor, row, row.image.tenant)
        except Busy as error:
            # The registry, or the storage, cannot now: the sweep asks again, as often as it takes.
            log.warning("image version %s waits: %s", uid, error.message)
            version_let_go(actor=actor, uid=uid, taken_at=row.taken_at, is_try=False)
        except WeirError as error:
            version_refused(actor=actor, uid=uid, problem=f"{error.message} {error.cure}".strip())
        except Exception:
            log.exception("image version %s could not be taken", uid)
            version_let_go(actor=actor, uid=uid, taken_at=row.taken_at, is_try=True)


@service(recorded=False)
def version_claim(*, actor: Actor, uid: UUID) -> ImageVersion | None:
    """A version that this worker has from now on; None where it is done, or another's. One at which workers died or
    failed too often is refused."""
    row = _checking(uid)
    if row is None or not ImageVersion.objects.filter(_free(), pk=row.pk).exists():
        return None
    if row.tries >= TRIES_MAX:
        _give_up(actor, row)
        return None
    # It counts until it ends: a worker that dies over it says nothing.
    row.taken_at, row.is_taken, row.tries = timezone.now(), True, row.tries + 1
    row.save(update_fields=["taken_at", "is_taken", "tries"])
    return row


@service(recorded=False)
def version_let_go(*, actor: Actor, uid: UUID, taken_at: datetime, is_try: bool) -> None:
    """The worker that took a version at that time is through, and it is not done; `is_try` counts as a failed one."""
    row = _checking(uid)
    if row is None or row.taken_at != taken_at:
        return
    row.is_taken, row.tries = False, row.tries if is_try else row.tries - 1
    row.save(update_fields=["is_taken", "tries"])
    if row.tries >= TRIES_MAX:
        _give_up(actor, row)


def _give_up(actor: Actor, row: ImageVersion) -> None:
    with _language_of(row):
        problem = _("It could not be taken in %(count)s tries. Ask an operator: the portal's log says why.")
        version_refuse(actor, row, problem % {"count": row.tries})
    if row.image.tenant is not None:
        emit(VersionsGone((_repository(row, row.image.tenant),)), actor=actor)


def _language_of(row: ImageVersion) -> override:
    """What is wrong is told to who asked."""
    language = row.made_by.language if row.made_by is not None else ""
    return override(language or settings.LANGUAGE_CODE)


def _free() -> Q:
    """Of versions: nobody has them, or who had them is dead."""
    return Q(is_taken=False) | Q(taken_at__lt=timezone.now() - timedelta(seconds=STUCK_S))


def _repository(row: ImageVersion, tenant: Tenant) -> str:
    return f"{tenant.schema_name}/{row.image.uid.hex}"


def _tenant_check(tenant: Tenant) -> None:
    if tenant.state != TenantState.ACTIVE:
        raise ImageRefused(_("The tenant was suspended before it was taken."), cure=_("Make it anew."))


def _take(actor: Actor, row: ImageVersion, tenant: Tenant) -> None:
    """Check it, and only then store it. Raises Busy to be asked again, and WeirError for what is refused."""
    repository = _repository(row, tenant)
    take = archive_take if row.workload_uid is None else layer_take
    version_ready(actor=actor, uid=row.uid, facts=take(row, repository))


def archive_take(row: ImageVersion, repository: str) -> dict[str, Any]:
    """Check an archive, and only then store it; what the version is from then on. Raises ImageRefused, Busy."""
    with _copied(row) as copy:
        with copy.open("rb") as file:
            archive = _readable(file)
            limit_bytes = int(settings.WEIR_IMAGE_LIMIT_MIB) * 2**20
            unpacked = layers_check(file, archive, limit_bytes=limit_bytes)
        digest = registry().push(copy, archive.kind, repository, row.uid.hex)
    size, layers = manifest_facts(registry().manifest(repository, digest))
    return {
        "repository": repository,
        "digest": digest,
        "size_bytes": size,
        "unpacked_bytes": unpacked,
        "layers": layers,
        "architecture": archive.architecture,
        "entry_point": archive.entry_point,
    }


@service(recorded=False)
def version_ready(*, actor: Actor, uid: UUID, facts: dict[str, Any]) -> None:
    """A version is in the registry; one that was deleted meanwhile goes from there again."""
    row = _checking(uid)
    if row is None:
        emit(VersionsGone((facts["repository"],)), actor=actor)
        return
    for name, value in facts.items():
        setattr(row, name, value)
    row.state, row.problem, row.is_taken = VersionState.READY, "", False
    row.save()
    if row.settings is not None:
        emit(VersionMoved(str(uid)), actor=actor)
    container_save_drop(actor=actor, uid=uid)
    try:
        with transaction.atomic():
            version_quota_keep(actor, row)
    except WeirError as error:
        # Stored it may be larger than its archive was, and the quota full by now.
        version_refuse(actor, row, f"{error.message} {error.cure}".strip())
        emit(VersionsGone((facts["repository"],)), actor=actor)


@service(recorded=False)
def version_refused(*, actor: Actor, uid: UUID, problem: str) -> None:
    """Nothing of an archive is taken: its quota is free again, and the version says why."""
    if (row := _checking(uid)) is not None:
        version_refuse(actor, row, problem)


def _checking(uid: UUID) -> ImageVersion | None:
    rows = ImageVersion.objects.select_for_update(of=("self",)).select_related("image__tenant", "made_by")
    return rows.filter(uid=uid, state=VersionState.CHECKING).first()


def versions_waiting() -> list[UUID]:
    """Versions that were asked for a while ago, are still on their way and in nobody's hands: their hint was lost, or
    they were let go. First the one whose last try is the longest ago, so that none keeps others out."""
    before = timezone.now() - timedelta(seconds=60)
    rows = ImageVersion.objects.filter(_free(), state=VersionState.CHECKING, created_at__lt=before)
    return list(rows.order_by(F("taken_at").asc(nulls_first=True), "pk").values_list("uid", flat=True)[:20])


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
    room_check(folder, row.size_bytes)
    try:
        with _file(tenant, volume, row.source) as file, tempfile.NamedTemporaryFile(dir=folder) as copy:
            while block := file.read(_BLOCK):
                # Several are copied at once.
                room_check(folder, len(block))
                copy.write(block)
                if copy.tell() > row.size_bytes:
                    raise ImageRefused(_("The file was changed while it was taken."))
            copy.flush()
            yield Path(copy.name)
    except NotFound as error:
        raise ImageRefused(_("The file is gone from its volume.")) from error
