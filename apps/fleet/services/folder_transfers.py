"""Work folders on their way from one node to another: asked for, taken in pieces, handed out, given up."""

from datetime import datetime, timedelta
from uuid import UUID, uuid4

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.fleet.events import OutputsSettled
from apps.fleet.models import ContainerSave, FolderUpload, FolderUse, Slice, WorkFolder
from apps.fleet.services.folder_files import archives_remove, archives_sweep, piece_get, piece_put, size_of
from apps.fleet.services.work_folders import folder_parsed, folder_tell
from apps.fleet.states import Desired, NodeState
from apps.kernel.actor import Actor
from apps.kernel.errors import Conflict, NotFound, TooLarge
from apps.kernel.events import emit
from apps.kernel.service import service
from node_agent.protocol.folders import PIECE_BYTES, FolderSent

_BATCH = 500
# A node that says nothing for so long has lost the outputs that it was to send.
OUTPUTS_PATIENCE = timedelta(days=3)


# --- from the node where it lies -----------------------------------------------------------------------------------


@service(recorded=False)
def folder_piece_take(*, actor: Actor, key: str, transfer: UUID, number: int, piece: bytes) -> None:
    """Take one piece of an archive from the node where the folder lies; the same again replaces it. Raises NotFound
    where it is not wanted any more, TooLarge, FolderStoreFull."""
    if not piece or len(piece) > PIECE_BYTES or number * PIECE_BYTES >= limit_bytes():
        raise TooLarge(
            _("A work folder of more than %(mib)s MiB does not travel.")
            % {"mib": settings.WEIR_FOLDER_LIMIT_MIB}
        )
    if not _coming(actor, key, transfer).update(moved_at=timezone.now()):
        raise _not_wanted()
    piece_put(transfer, number, piece)


@service(recorded=False)
def folder_sent_take(*, actor: Actor, key: str, message: FolderSent) -> None:
    """All pieces were sent, or never will be: from now on the next node can begin. Raises NotFound, Conflict where a
    piece is missing."""
    transfer = _uid(message.transfer)
    row = _coming(actor, key, transfer).select_for_update(no_key=True).first()
    if row is None:
        raise _not_wanted()
    if message.problem:
        row.given_up, row.problem = "refused", message.problem
        archives_remove([transfer])
    elif not message.pieces or size_of(transfer, message.pieces) != message.size_bytes or not message.sha256:
        raise Conflict(_("Pieces of the folder are missing."), cure=_("Send it again."))
    else:
        row.pieces, row.size_bytes, row.sha256 = message.pieces, message.size_bytes, message.sha256
        row.sent_at = timezone.now()
    row.save(update_fields=["given_up", "problem", "pieces", "size_bytes", "sha256", "sent_at"])
    _outputs_tell(row, actor)


def _outputs_tell(row: WorkFolder, actor: Actor) -> None:
    if row.outputs_only:
        emit(OutputsSettled(row.tenant.schema_name, str(row.workload_uid)), actor=actor)


def limit_bytes() -> int:
    """How much a folder that travels may hold."""
    return int(settings.WEIR_FOLDER_LIMIT_MIB) * 1024 * 1024


def _coming(actor: Actor, key: str, transfer: UUID) -> QuerySet[WorkFolder]:
    """The folder of this name and transfer, where it lies on the caller's node and is still to come."""
    return _named(key).filter(transfer=transfer, node__uid=actor.node_uid, sent_at=None, given_up="")


def _named(key: str) -> QuerySet[WorkFolder]:
    found = folder_parsed(key)
    if found is None:
        raise _not_wanted()
    return WorkFolder.plain.filter(workload_uid=found[0], share=found[1])


def _uid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise _not_wanted() from error


def _not_wanted() -> NotFound:
    return NotFound(_("This folder is not wanted any more."), cure=_("Leave it where it is."))


# --- to the node where its work goes on ----------------------------------------------------------------------------


def folder_piece_give(*, node_uid: str, key: str, transfer: UUID, number: int) -> bytes:
    """One piece of an archive, for the node on which a slice of its work waits for it. Raises NotFound."""
    here = Slice.plain.filter(
        workload_uid=OuterRef("workload_uid"), share=OuterRef("share"), node__uid=node_uid,
        final_at=None, started_at=None, told_at__isnull=False,
    )  # fmt: skip
    moved = _named(key).filter(Exists(here), transfer=transfer, sent_at__isnull=False)
    if not moved.exists() and not _is_sent(node_uid, key, transfer):
        raise _not_wanted()
    return piece_get(transfer, number)


def _is_sent(node_uid: str, key: str, transfer: UUID) -> bool:
    """Whether it is the folder sent along with work that is to begin on this node."""
    found = folder_parsed(key)
    if found is None:
        return False
    waiting = Slice.plain.filter(
        workload_uid=found[0], share=found[1], node__uid=node_uid, final_at=None, started_at=None,
        told_at__isnull=False,
    )  # fmt: skip
    uses = FolderUse.objects.filter(workload_uid=found[0], upload__uid=transfer)
    return uses.exists() and waiting.exists()


# --- by the clock --------------------------------------------------------------------------------------------------


@service(recorded=False)
def folders_check(*, actor: Actor) -> None:
    """Ask for the folders whose work is to go on on another node, and for those of nodes that are to leave; give up
    what did not get on for `WEIR_SLICE_LOST_AFTER_S`."""
    now = timezone.now()
    waits = Slice.plain.filter(
        workload_uid=OuterRef("workload_uid"), share=OuterRef("share"), desired=Desired.RUNNING,
        final_at=None, told_at=None,
    ).exclude(node=OuterRef("node"))  # fmt: skip
    rows = WorkFolder.plain.filter(sent_at=None, given_up="").annotate(is_waited_for=Exists(waits))
    leaving = Q(node__is_leaving=True) | Q(node__state=NodeState.DRAINED)
    outputs = Q(outputs_only=True)
    late = outputs & Q(moved_at__lt=now - OUTPUTS_PATIENCE)
    gone = outputs & Q(node__state=NodeState.REMOVED)
    due = rows.filter(Q(is_waited_for=True) | leaving & ~outputs | late | gone).select_related(
        "node", "tenant"
    )
    locked = due.select_for_update(no_key=True, skip_locked=True, of=("self",)).order_by("pk")[:_BATCH]
    for row in locked:
        _follow(row, actor, now)


def _follow(row: WorkFolder, actor: Actor, now: datetime) -> None:
    if row.transfer is None:
        row.transfer, row.asked_at, row.moved_at = uuid4(), now, now
        row.save(update_fields=["transfer", "asked_at", "moved_at"])
        if row.is_waited_for:
            folder_tell(row, "waits", actor)
    elif row.outputs_only or (row.is_waited_for and _is_stuck(row, now)):
        row.given_up = "silent"
        row.save(update_fields=["given_up"])
        archives_remove([row.transfer])
        _outputs_tell(row, actor)


def _is_stuck(row: WorkFolder, now: datetime) -> bool:
    patience = timedelta(seconds=settings.WEIR_SLICE_LOST_AFTER_S)
    return row.node.state == NodeState.REMOVED or (row.moved_at or now) < now - patience


def archives_tidy(now: datetime) -> int:
    """Delete archives that no folder knows of any more; how many."""
    moving = set(WorkFolder.plain.exclude(transfer=None).values_list("transfer", flat=True))
    sent = set(FolderUpload.plain.values_list("uid", flat=True))
    saved = set(ContainerSave.plain.values_list("uid", flat=True))
    return archives_sweep({uid for uid in moving | sent | saved if uid is not None}, now)
