"""Containers saved: asked of the node where the work runs, taken from it in pieces, handed on, given up."""

import io
from datetime import timedelta
from typing import IO, cast
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.fleet.events import ContainerSaveSettled
from apps.fleet.models import ContainerSave, Node, Slice
from apps.fleet.services.folder_files import ArchiveReader, archives_remove, piece_put, size_of
from apps.fleet.states import Desired, NodeState, SliceKind, SliceState
from apps.kernel.actor import Actor
from apps.kernel.errors import Conflict, NotFound, TooLarge
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.tenancy.models import Tenant
from node_agent.protocol.containers import ContainerSave as Wanted
from node_agent.protocol.containers import ContainerSaved
from node_agent.protocol.folders import FOLDER_MAX_BYTES, PIECE_BYTES
from node_agent.protocol.sync import SyncRequest

# A node from which nothing of a layer came for so long does not bring it any more.
PATIENCE = timedelta(minutes=30)
_BATCH = 200
_BLOCK_BYTES = 1024 * 1024


@service(recorded=False)
def container_save_ask(
    *, actor: Actor, tenant: Tenant, uid: UUID, workload_uid: UUID, limit_bytes: int
) -> ContainerSave:
    """Ask the node of running work for what it has changed over its image, as the transfer `uid`, if that is no more
    than `limit_bytes`. Raises Conflict where it does not run, or is being saved."""
    runs = Slice.plain.filter(
        tenant=tenant, workload_uid=workload_uid, share=0, kind=SliceKind.PROGRAM, state=SliceState.RUNNING,
        desired=Desired.RUNNING,
    )  # fmt: skip
    row = runs.order_by("-pk").first()
    if row is None:
        raise Conflict(
            _("The work does not run on a node now."), cure=_("Wait until it runs, and save it then.")
        )
    try:
        with transaction.atomic():
            return ContainerSave.plain.create(
                tenant=tenant,
                uid=uid,
                workload_uid=workload_uid,
                slice_uid=row.uid,
                node_id=row.node_id,
                limit_bytes=min(limit_bytes, FOLDER_MAX_BYTES),
                moved_at=timezone.now(),
            )
    except IntegrityError as error:
        raise Conflict(
            _("This work is being saved already."), cure=_("Wait until that is done, or delete that version.")
        ) from error


def container_saves_wanted(node: Node, request: SyncRequest) -> tuple[Wanted, ...]:
    """What a node is asked for that it runs or ran. Internal to the app's services."""
    if request.boot_id != node.boot_id or not request.saves:
        return ()
    rows = _coming().filter(node=node).order_by("pk")[:_BATCH]
    return tuple(
        Wanted(slice_uid=str(row.slice_uid), transfer=str(row.uid), limit_bytes=row.limit_bytes)
        for row in rows
    )


def _coming() -> QuerySet[ContainerSave]:
    return ContainerSave.plain.filter(sent_at=None, given_up="")


# --- from the node -------------------------------------------------------------------------------------------------


@service(recorded=False)
def container_piece_take(*, actor: Actor, transfer: UUID, number: int, piece: bytes) -> None:
    """Take one piece of a layer from the node that runs its work; the same again replaces it. Raises NotFound where it
    is not wanted any more, TooLarge, FolderStoreFull."""
    row = _coming().filter(uid=transfer, node__uid=actor.node_uid).first()
    if row is None:
        raise _not_wanted()
    # Packed it may be a little larger than it is.
    if (
        not piece
        or len(piece) > PIECE_BYTES
        or number * PIECE_BYTES > row.limit_bytes + row.limit_bytes // 64
    ):
        raise TooLarge(_("The layer is larger than was asked for."))
    _coming().filter(pk=row.pk).update(moved_at=timezone.now(), pieces=Greatest("pieces", number + 1))
    piece_put(transfer, number, piece)


@service(recorded=False)
def container_saved_take(*, actor: Actor, transfer: UUID, message: ContainerSaved) -> None:
    """All pieces were sent, or never will be. Raises NotFound, Conflict where a piece is missing."""
    row = _coming().filter(uid=transfer, node__uid=actor.node_uid).select_for_update(no_key=True).first()
    if row is None:
        raise _not_wanted()
    if message.problem:
        row.given_up, row.problem = "refused", message.problem
    elif not message.pieces or size_of(transfer, message.pieces) != message.size_bytes or not message.sha256:
        raise Conflict(_("Pieces of the layer are missing."), cure=_("Send it again."))
    else:
        row.pieces, row.size_bytes, row.sha256 = message.pieces, message.size_bytes, message.sha256
        row.sent_at, row.left_out = timezone.now(), message.left_out
    row.save()
    _settled(row, actor)


def _settled(row: ContainerSave, actor: Actor) -> None:
    emit(ContainerSaveSettled(str(row.uid)), actor=actor)


def _not_wanted() -> NotFound:
    return NotFound(_("This container is not wanted any more."), cure=_("Leave it as it is."))


# --- to who makes an image of it ------------------------------------------------------------------------------------


def container_save_get(uid: UUID) -> ContainerSave | None:
    """How far a container is on its way; None where it is not wanted any more."""
    return ContainerSave.plain.filter(uid=uid).first()


def container_layer_open(row: ContainerSave) -> IO[bytes]:
    """The layer of a container that is here, as it was sent. Reading it raises NotFound where a piece is gone."""
    return cast("IO[bytes]", io.BufferedReader(ArchiveReader(row.uid, row.pieces), _BLOCK_BYTES))


@service(recorded=False)
def container_save_drop(*, actor: Actor, uid: UUID) -> None:
    """Nobody wants it any more: its node is asked no longer, and what came of it is deleted."""
    if ContainerSave.plain.filter(uid=uid).delete()[0]:
        transaction.on_commit(lambda: archives_remove([uid]))


# --- by the clock ----------------------------------------------------------------------------------------------------


@service(recorded=False)
def container_saves_check(*, actor: Actor) -> None:
    """Give up what went with its node, and what did not get on for `PATIENCE`."""
    lost = Slice.plain.filter(state=SliceState.LOST).values("uid")
    gone = Q(node__state=NodeState.REMOVED) | Q(slice_uid__in=lost)
    silent = Q(moved_at__lt=timezone.now() - PATIENCE)
    for why, which in (("lost", gone), ("silent", silent)):
        due = _coming().filter(which).select_for_update(no_key=True, skip_locked=True, of=("self",))
        for row in due.order_by("pk")[:_BATCH]:
            row.given_up = why
            row.save(update_fields=["given_up"])
            _settled(row, actor)
