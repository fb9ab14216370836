"""Folders that people send along with their work: taken in pieces, kept by digest, handed to the nodes where it begins.

A folder is its sender's own: nobody learns by its digest whether another has sent it. What no open work begins in any
more stays for a week, so that an unchanged folder is not sent again, and makes room for newer ones before that.
"""

import hashlib
import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.fleet.models import FolderUpload, FolderUse
from apps.fleet.services.folder_files import archives_remove, piece_get, piece_put, pieces_there
from apps.kernel.actor import Actor
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound, QuotaExceeded, TooLarge
from apps.kernel.service import service
from apps.tenancy.models import Tenant
from node_agent.protocol.folders import PIECE_BYTES, FolderArchive

UNUSED_KEPT = timedelta(days=7)
UNFINISHED_KEPT = timedelta(days=1)
_MIB = 1024 * 1024
# With the tenant: of several folders at once each sees those before it.
_ROOM_LOCK = 0x57656966


@service(recorded=False)
def upload_offer(*, actor: Actor, tenant: Tenant, sha256: str, size_bytes: int) -> FolderUpload:
    """The place of a folder's archive among the actor's own, made where there is none yet.

    Raises:
        InvalidInput: that is no digest.
        TooLarge: it would hold more than `WEIR_UPLOAD_LIMIT_MIB`.
        QuotaExceeded: the tenant's sent folders leave no room for it though all that are unused went.
    """
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise InvalidInput(fields={"sha256": _("64 hexadecimal digits")})
    if size_bytes > settings.WEIR_UPLOAD_LIMIT_MIB * _MIB:
        raise TooLarge(
            _("A folder of %(size)s MiB is more than the %(limit)s MiB that may travel with work.")
            % {"size": -(-size_bytes // _MIB), "limit": settings.WEIR_UPLOAD_LIMIT_MIB},
            cure=_("Leave data out of it, by patterns in .weirignore."),
        )
    _room_lock(tenant)
    own = _own(actor, tenant).filter(sha256=sha256)
    row = own.select_for_update(no_key=True).first()
    if row is None:
        _room_make(tenant, size_bytes)
        row = FolderUpload.plain.create(
            tenant=tenant,
            owner_id=_owner(actor),
            sha256=sha256,
            size_bytes=size_bytes,
            pieces=-(-size_bytes // PIECE_BYTES),
        )
    elif row.size_bytes != size_bytes:
        raise Conflict(_("This digest belongs to a folder of another size."), cure=_("Pack the folder anew."))
    else:
        row.used_at = timezone.now()
        row.save(update_fields=["used_at"])
    return row


def upload_missing(row: FolderUpload) -> list[int]:
    """The numbers of the pieces that are still to be sent."""
    if row.whole_at is not None:
        return []
    there = pieces_there(row.uid)
    return [number for number in range(row.pieces) if there.get(number) != _length(row, number)]


@service(recorded=False)
def upload_piece_take(*, actor: Actor, tenant: Tenant, upload_uid: UUID, number: int, piece: bytes) -> None:
    """Take one piece of the actor's own folder; the same again replaces it until all are there. Raises NotFound,
    InvalidInput for one that is too long or too short, Conflict, FolderStoreFull."""
    row = _get(actor, tenant, upload_uid)
    if row.whole_at is not None:
        raise Conflict(_("All of this folder is here already."), cure=_("Submit work with it."))
    if number >= row.pieces or len(piece) != _length(row, number):
        raise InvalidInput(_("This is no piece of the folder."), cure=_("Ask which pieces are missing."))
    piece_put(row.uid, number, piece)


@service(recorded=False)
def upload_finish(*, actor: Actor, tenant: Tenant, upload_uid: UUID) -> FolderUpload:
    """All pieces were sent: from now on work may begin in the folder. Twice changes nothing. Raises NotFound; Conflict
    where a piece is missing, or where what came is not what its digest says: all of it is sent again."""
    row = _get(actor, tenant, upload_uid)
    if row.whole_at is not None:
        return row
    if upload_missing(row):
        raise Conflict(_("Pieces of the folder are missing."), cure=_("Send them again."))
    digest = hashlib.sha256()
    for number in range(row.pieces):
        digest.update(piece_get(row.uid, number))
    if digest.hexdigest() != row.sha256:
        archives_remove([row.uid])
        raise Conflict(_("What came is not what was sent."), cure=_("Send the folder again."))
    row.whole_at = row.used_at = timezone.now()
    row.save(update_fields=["whole_at", "used_at"])
    return row


def _get(actor: Actor, tenant: Tenant, upload_uid: UUID) -> FolderUpload:
    row = _own(actor, tenant).filter(uid=upload_uid).select_for_update(no_key=True).first()
    if row is None:
        raise NotFound()
    return row


def _own(actor: Actor, tenant: Tenant) -> QuerySet[FolderUpload]:
    return FolderUpload.plain.filter(tenant=tenant, owner_id=_owner(actor))


def _owner(actor: Actor) -> int:
    if actor.user_id is None:
        raise Forbidden(_("Folders are sent by people."))
    return actor.user_id


def _length(row: FolderUpload, number: int) -> int:
    return min(PIECE_BYTES, row.size_bytes - number * PIECE_BYTES)


def _room_lock(tenant: Tenant) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_ROOM_LOCK, tenant.pk])


def _room_make(tenant: Tenant, more_bytes: int) -> None:
    """Let unused folders go, the oldest first, until so much more has room. Raises QuotaExceeded."""
    limit = settings.WEIR_UPLOADS_TOTAL_MIB * _MIB
    held = FolderUpload.plain.filter(tenant=tenant).aggregate(sum=Sum("size_bytes"))["sum"] or 0
    gone = []
    for row in _unused().filter(tenant=tenant).order_by("used_at"):
        if held + more_bytes <= limit:
            break
        gone.append(row)
        held -= row.size_bytes
    if held + more_bytes > limit:
        raise QuotaExceeded(
            _("Your tenant's sent folders leave no room: they hold %(held)s of %(limit)s MiB, all in use.")
            % {"held": held // _MIB, "limit": settings.WEIR_UPLOADS_TOTAL_MIB},
            cure=_("Send less, or wait until work that uses them has ended."),
        )
    _drop(gone)


def _unused() -> QuerySet[FolderUpload]:
    return FolderUpload.plain.filter(uses=None)


def _drop(rows: Iterable[FolderUpload]) -> None:
    gone = {row.pk: row.uid for row in rows}
    if gone:
        FolderUpload.plain.filter(pk__in=gone).delete()
        transaction.on_commit(lambda: archives_remove(gone.values()))


# --- for work ------------------------------------------------------------------------------------------------------


def upload_check(actor: Actor, tenant: Tenant, sha256: str) -> str:
    """What is wrong with beginning in this folder; "" where nothing is."""
    if _own(actor, tenant).filter(sha256=sha256, whole_at__isnull=False).exists():
        return ""
    return _("You have sent no such folder, or it went unused: send it first.")


@service(recorded=False)
def upload_use(*, actor: Actor, tenant: Tenant, sha256: str, workload_uids: Iterable[UUID]) -> None:
    """New work begins in the actor's own folder, which is kept until `upload_release`. Raises NotFound."""
    row = _own(actor, tenant).filter(sha256=sha256, whole_at__isnull=False).select_for_update().first()
    if row is None:
        raise NotFound(_("The sent folder is gone."), cure=_("Send it again."))
    FolderUpload.plain.filter(pk=row.pk).update(used_at=timezone.now())
    FolderUse.objects.bulk_create([FolderUse(workload_uid=uid, upload=row) for uid in workload_uids])


@service(recorded=False)
def upload_release(*, actor: Actor, workload_uid: UUID) -> None:
    """The work is over."""
    used = FolderUse.objects.filter(workload_uid=workload_uid).values("upload_id")
    FolderUpload.plain.filter(pk__in=used).update(used_at=timezone.now())
    FolderUse.objects.filter(workload_uid=workload_uid).delete()


# --- for nodes -----------------------------------------------------------------------------------------------------


def uploads_of(workload_uids: Iterable[UUID]) -> dict[UUID, FolderArchive]:
    """By work: the sent folder that it begins in."""
    uses = FolderUse.objects.filter(workload_uid__in=workload_uids).annotate(
        archive=F("upload__uid"),
        pieces=F("upload__pieces"),
        size_bytes=F("upload__size_bytes"),
        sha256=F("upload__sha256"),
    )
    return {
        use.workload_uid: FolderArchive(
            transfer=str(use.archive), pieces=use.pieces, size_bytes=use.size_bytes, sha256=use.sha256
        )
        for use in uses
    }


# --- by the clock --------------------------------------------------------------------------------------------------


@service(recorded=False)
def uploads_tidy(*, actor: Actor, now: datetime) -> int:
    """Let go what has not been used for a week, and for a day what never became whole; how many."""
    unused = _unused()
    old = unused.filter(used_at__lt=now - UNUSED_KEPT) | unused.filter(
        whole_at=None, used_at__lt=now - UNFINISHED_KEPT
    )
    rows = list(FolderUpload.plain.filter(pk__in=old.values("pk")).select_for_update(skip_locked=True))
    _drop(rows)
    return len(rows)
