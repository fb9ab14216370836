"""Work folders outlive slices: kept while their work may go on, brought to the node where it does, deleted at its end.

What nodes are told follows from the rows alone, so a lost message is only late. A slice whose work has a folder on
another node is not told to its node before that folder is here, or is given up: nothing starts from nothing in silence.
"""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from apps.fleet.events import FolderMoved
from apps.fleet.models import Node, Slice, WorkFolder
from apps.fleet.models.work_folders import folder_key
from apps.fleet.services.folder_files import archives_remove
from apps.fleet.services.folder_uploads import uploads_of
from apps.fleet.states import SliceKind, SliceState
from apps.kernel.actor import Actor
from apps.kernel.events import emit
from apps.kernel.service import service
from node_agent.protocol.folders import DesiredFolder, FolderArchive, FolderSend
from node_agent.protocol.sync import SyncRequest

_NO_TRANSFER: Mapping[str, Any] = {
    "given_up": "", "problem": "", "transfer": None, "asked_at": None, "moved_at": None, "sent_at": None,
    "pieces": 0, "size_bytes": 0, "sha256": "",
}  # fmt: skip

# --- the life of a folder ------------------------------------------------------------------------------------------


@service(recorded=False)
def folders_keep(*, actor: Actor, workload_uid: UUID) -> None:
    """Work of programs has ended for now and may go on: what it left on its nodes is kept until `folders_end`."""
    ran = Slice.plain.filter(workload_uid=workload_uid, kind=SliceKind.PROGRAM, started_at__isnull=False)
    for last in ran.order_by("share", "-pk").distinct("share"):
        # Of one that was lost with its node nothing can be fetched: it is used where it lies, or not at all.
        facts = {"node_id": last.node_id, "slice_uid": last.uid, **_NO_TRANSFER}
        facts["given_up"] = "lost" if last.state == SliceState.LOST else ""
        row, is_new = WorkFolder.plain.select_for_update(no_key=True).get_or_create(
            workload_uid=workload_uid, share=last.share, defaults={"tenant_id": last.tenant_id, **facts}
        )
        if not is_new and (row.slice_uid != last.uid or last.state == SliceState.LOST):
            _drop_archives([row.transfer])
            WorkFolder.plain.filter(pk=row.pk).update(**facts)


@service(recorded=False)
def folders_end(*, actor: Actor, workload_uid: UUID) -> None:
    """The work is over: its nodes delete what they keep of it as they are heard next."""
    rows = WorkFolder.plain.filter(workload_uid=workload_uid)
    known = list(rows.values_list("transfer", flat=True))
    if known:
        rows.delete()
        _drop_archives(known)


@service(recorded=False)
def outputs_ask(*, actor: Actor, workload_uid: UUID) -> list[int]:
    """The work is over, and its nodes are asked for its outputs, which are here until `folders_end`; of which shares.
    Each is told of by `OutputsSettled`; those that were lost with their nodes at once."""
    folders_keep(actor=actor, workload_uid=workload_uid)
    rows = WorkFolder.plain.filter(workload_uid=workload_uid)
    _drop_archives(rows.values_list("transfer", flat=True))
    now = timezone.now()
    for row in rows.order_by("share"):
        facts = {**_NO_TRANSFER, "given_up": "lost" if row.given_up == "lost" else ""}
        asked = {} if facts["given_up"] else {"transfer": uuid4(), "asked_at": now, "moved_at": now}
        WorkFolder.plain.filter(pk=row.pk).update(outputs_only=True, **facts | asked)
    return list(rows.order_by("share").values_list("share", flat=True))


def _drop_archives(transfers: Iterable[UUID | None]) -> None:
    gone = [uid for uid in transfers if uid is not None]
    if gone:
        transaction.on_commit(lambda: archives_remove(gone))


def folders_follow(started: Iterable[Slice], actor: Actor) -> None:
    """Locked slices have started: from now on their folders lie on their nodes. Internal to the app's services."""
    mine = {(row.workload_uid, row.share): row for row in started if row.kind == SliceKind.PROGRAM}
    if not mine:
        return
    rows = WorkFolder.plain.filter(workload_uid__in={uid for uid, _share in mine}).select_related("node")
    for folder in rows.select_for_update(no_key=True, of=("self",)).order_by("pk"):
        row = mine.get((folder.workload_uid, folder.share))
        if row is None:
            continue
        if folder.node_id != row.node_id:
            folder_tell(folder, "left" if folder.given_up else "brought", actor)
        _drop_archives([folder.transfer])
        facts = {"node_id": row.node_id, "slice_uid": row.uid, **_NO_TRANSFER}
        WorkFolder.plain.filter(pk=folder.pk).update(**facts)


def folder_tell(folder: WorkFolder, step: str, actor: Actor) -> None:
    """Tell those who write time lines how far a folder is on its way. Internal to the app's services."""
    emit(
        FolderMoved(
            workload_uid=str(folder.workload_uid),
            share=folder.share,
            step=step,
            node=folder.node.name,
            size_bytes=folder.size_bytes,
            given_up=folder.given_up,
            problem=folder.problem,
        ),
        actor=actor,
    )


# --- what nodes are told -------------------------------------------------------------------------------------------


def folder_comes() -> Exists:
    """Of slices: whether their folder is on another node, and still to come."""
    rows = WorkFolder.plain.filter(
        workload_uid=OuterRef("workload_uid"), share=OuterRef("share"), sent_at=None, given_up=""
    )
    return Exists(rows.exclude(node=OuterRef("node")))


def desired_folders(rows: Iterable[Slice]) -> dict[int, DesiredFolder]:
    """By key of the slice: where programs are to run. Those that run already only need the name."""
    programs = [row for row in rows if row.kind == SliceKind.PROGRAM]
    waiting = {row.workload_uid for row in programs if row.started_at is None}
    known = {
        (folder.workload_uid, folder.share): folder
        for folder in (WorkFolder.plain.filter(workload_uid__in=waiting) if waiting else ())
    }
    sent = uploads_of(waiting) if waiting else {}
    return {
        row.pk: _desired_folder(row, known.get((row.workload_uid, row.share)), sent.get(row.workload_uid))
        for row in programs
    }


def _desired_folder(row: Slice, folder: WorkFolder | None, sent: FolderArchive | None) -> DesiredFolder:
    """`sent` is the folder that the work begins in, the first time and where nothing of it is left."""
    key = folder_key(row.workload_uid, row.share)
    if row.started_at is not None or (folder is not None and folder.node_id == row.node_id):
        return DesiredFolder(key=key, is_kept=True)
    if folder is None or folder.given_up or folder.sent_at is None:
        return DesiredFolder(key=key, archive=sent)
    archive = FolderArchive(
        transfer=str(folder.transfer),
        pieces=folder.pieces,
        size_bytes=folder.size_bytes,
        sha256=folder.sha256,
    )
    return DesiredFolder(key=key, archive=archive)


def folders_over(node: Node, request: SyncRequest) -> tuple[str, ...]:
    """Of the folders that lie idle on a node those that nothing goes on in any more."""
    if not request.folders:
        return ()
    idle = {key: folder_parsed(key) for key in request.folders}
    works = {found[0] for found in idle.values() if found}
    kept = {
        (folder.workload_uid, folder.share): folder.node_id
        for folder in WorkFolder.plain.filter(workload_uid__in=works)
    }
    open_here, open_at_all = set(), set()
    rows = Slice.plain.filter(workload_uid__in=works, closed_at=None)
    for workload_uid, share, node_id in rows.values_list("workload_uid", "share", "node_id"):
        open_at_all.add(workload_uid)
        if node_id == node.pk:
            open_here.add((workload_uid, share))
    return tuple(
        key
        for key, found in idle.items()
        if found is None
        or (
            found not in open_here
            and (kept[found] != node.pk if found in kept else found[0] not in open_at_all)
        )
    )


def folder_parsed(key: str) -> tuple[UUID, int] | None:
    """The workload and the share that a folder's name says; None for a name that is not ours."""
    text, _dot, share = key.rpartition(".")
    try:
        found = UUID(text), int(share)
    except ValueError:
        return None
    return found if folder_key(*found) == key else None


def outputs_get(workload_uid: UUID, share: int) -> WorkFolder | None:
    """Where the outputs of a share are; None where nobody waits for them."""
    return WorkFolder.plain.filter(workload_uid=workload_uid, share=share, outputs_only=True).first()


def folders_send(node: Node, request: SyncRequest) -> tuple[FolderSend, ...]:
    """The folders that a node is to bring to the portal."""
    if not request.folders:
        return ()
    rows = WorkFolder.plain.filter(node=node, transfer__isnull=False, sent_at=None, given_up="").order_by(
        "asked_at"
    )
    limit_bytes = int(settings.WEIR_FOLDER_LIMIT_MIB) * 1024 * 1024
    idle = set(request.folders)
    wanted = (
        FolderSend(
            key=str(row),
            transfer=str(row.transfer),
            limit_bytes=limit_bytes,
            outputs_only=row.outputs_only,
        )
        for row in rows[:100]
    )
    return tuple(each for each in wanted if each.key in idle)
