"""What work leaves as its outputs: expected at its end, fetched from its nodes, kept in the volume it named.

An archive is looked through before anything of it is written: room for all of it is held in the volume first. What is
broken off begins again and writes the same files over; the node keeps its own until the outputs are settled.
"""

import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import IO, Any, cast
from uuid import UUID, uuid4

from django.db.models import F
from django.utils import timezone

from apps.fleet.models import WorkFolder
from apps.fleet.services.folder_files import ArchiveReader
from apps.fleet.services.work_folders import folders_end, outputs_ask, outputs_get
from apps.kernel.actor import Actor
from apps.kernel.errors import NotFound, WeirError
from apps.kernel.events import emit
from apps.kernel.planes import current_schema, current_tenant
from apps.kernel.service import service
from apps.scheduling.selectors.workloads import workload_shares
from apps.storage.drivers.base import Driver
from apps.storage.drivers.chosen import driver
from apps.storage.errors import AlreadyThere, PathRefused, StorageAway, StorageFull, VolumeEnded, VolumeFull
from apps.storage.events import OutputsChanged
from apps.storage.models import Volume, WorkOutput
from apps.storage.paths import file_names
from apps.storage.selectors import key_of, writable_check
from apps.storage.services.volumes import volume_lock
from apps.storage.states import OutputState
from apps.storage.types import Names

# So long they wait at the portal for room in their volume.
WAIT = timedelta(days=3)
FILES_MAX = 20_000
_BLOCK_BYTES = 4 * 2**20
_SPARSE = "GNU.sparse."


@service(recorded=False)
def outputs_expect(*, actor: Actor, workload_uid: UUID, volume_uid: UUID) -> None:
    """Work with outputs is over: its nodes are asked for them, and a row for each share tells how far they are.
    Those for a volume whose order has ended are lost at once."""
    shares = outputs_ask(actor=actor, workload_uid=workload_uid)
    volume = Volume.objects.filter(uid=volume_uid).first()
    if not shares or volume is None:
        folders_end(actor=actor, workload_uid=workload_uid)
        return
    lost: dict[str, Any] = {}
    if volume.kept_until is not None:
        lost = {"state": OutputState.LOST, "problem_code": VolumeEnded.code, "settled_at": timezone.now()}
    no, count = workload_shares(current_tenant(), workload_uid)
    WorkOutput.objects.bulk_create(
        WorkOutput(
            workload_uid=workload_uid,
            share=share,
            volume=volume,
            path=no if count == 1 else f"{no}/share-{share}",
            **lost,
        )
        for share in shares
    )
    if lost:
        folders_end(actor=actor, workload_uid=workload_uid)


def outputs_follow(*, actor: Actor, workload_uid: UUID) -> None:
    """Keep what has come of a workload's outputs; once all is settled its nodes may delete theirs. No transaction is
    open while files are written. Coming twice changes nothing."""
    rows = WorkOutput.objects.filter(workload_uid=workload_uid)
    for row in rows.filter(state=OutputState.COMING).select_related("volume"):
        _follow(actor, row)
    if not rows.filter(state=OutputState.COMING).exists():
        folders_end(actor=actor, workload_uid=workload_uid)


def _follow(actor: Actor, row: WorkOutput) -> None:
    folder = outputs_get(row.workload_uid, row.share)
    if folder is None:
        output_lose(actor=actor, row=row, code="gone")
    elif folder.given_up:
        output_lose(actor=actor, row=row, code=folder.given_up, problem=folder.problem)
    elif row.volume is None:
        output_lose(actor=actor, row=row, code="volume_gone")
    elif folder.sent_at is not None:
        _fetch(actor, row, row.volume, folder)


def _fetch(actor: Actor, row: WorkOutput, volume: Volume, folder: WorkFolder) -> None:
    try:
        found = _survey(folder)
        if len(found.files) > FILES_MAX:
            output_lose(actor=actor, row=row, code="too_many")
            return
        output_room(actor=actor, row=row, size_bytes=found.size_bytes)
        grown = _fill(driver(volume), key_of(volume.uid), tuple(row.path.split("/")), folder, found)
        output_keep(actor=actor, row=row, found=found, grown_bytes=grown)
    except (VolumeFull, StorageFull, StorageAway) as error:
        if row.created_at < timezone.now() - WAIT:
            output_lose(actor=actor, row=row, code=error.code)
        else:
            output_wait(actor=actor, row=row, code=error.code)
    except VolumeEnded as error:
        output_lose(actor=actor, row=row, code=error.code)
    except (PathRefused, AlreadyThere):
        output_lose(actor=actor, row=row, code="path")
    except (tarfile.TarError, NotFound):
        output_lose(actor=actor, row=row, code="damaged")


# --- the archive ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Found:
    """What is in an archive: files and folders by name as it stands there."""

    files: dict[str, Names]
    folders: dict[str, Names]
    size_bytes: int
    left_out: int


def _members(folder: WorkFolder) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
    assert folder.transfer is not None
    pieces = io.BufferedReader(ArchiveReader(folder.transfer, folder.pieces), _BLOCK_BYTES)
    with tarfile.open(fileobj=cast(IO[bytes], pieces), mode="r|") as archive:
        for member in archive:
            yield archive, member


def _survey(folder: WorkFolder) -> Found:
    """What of an archive can be kept: plain files and folders with names that a volume can have."""
    files: dict[str, Names] = {}
    folders: dict[str, Names] = {}
    sizes: dict[str, int] = {}
    left_out = 0
    for _archive, member in _members(folder):
        is_sparse = member.issparse() or any(key.startswith(_SPARSE) for key in member.pax_headers)
        try:
            names = file_names(member.name)
        except PathRefused:
            names = ()
        if not names or is_sparse or not (member.isreg() or member.isdir()):
            left_out += 1
        elif member.isdir():
            folders[member.name] = names
        else:
            files[member.name], sizes[member.name] = names, member.size
    return Found(files, folders, sum(sizes.values()), left_out)


def _fill(store: Driver, key: str, top: Names, folder: WorkFolder, found: Found) -> int:
    """Write all of it below `top`; by how many bytes the volume has grown."""
    grown = 0
    for names in ((), *found.folders.values()):
        try:
            store.folder_make(key, (*top, *names))
        except AlreadyThere:
            # Of an earlier try; were it no folder, what is to lie in it is refused.
            continue
    for archive, member in _members(folder):
        if member.isreg() and member.name in found.files:
            content = archive.extractfile(member)
            assert content is not None
            grown += _place(store, key, (*top, *found.files[member.name]), content)
    return grown


def _place(store: Driver, key: str, names: Names, content: IO[bytes]) -> int:
    """A file takes its place whole."""
    part, offset = uuid4(), 0
    store.upload_make(key, part)
    try:
        while block := content.read(_BLOCK_BYTES):
            store.upload_write(key, part, offset, block)
            offset += len(block)
        return store.upload_place(key, part, names, replaces=True)
    except WeirError:
        store.upload_remove(key, part)
        raise


# --- what becomes of them ------------------------------------------------------------------------------------------


@service(recorded=False)
def output_room(*, actor: Actor, row: WorkOutput, size_bytes: int) -> None:
    """Hold room for all of it in its volume, once: what has it is written whole. Raises VolumeFull, VolumeEnded."""
    found = _coming_lock(row)
    if found is None or found.volume is None:
        return
    volume = volume_lock(found.volume)
    writable_check(volume)
    if found.room_bytes == size_bytes:
        return
    if size_bytes > volume.room_bytes + found.room_bytes:
        raise VolumeFull()
    more = size_bytes - int(found.room_bytes)
    Volume.objects.filter(pk=volume.pk).update(upload_bytes=F("upload_bytes") + more)
    WorkOutput.objects.filter(pk=row.pk).update(room_bytes=size_bytes)


@service(recorded=False)
def output_keep(*, actor: Actor, row: WorkOutput, found: Found, grown_bytes: int) -> None:
    """All of it lies in its volume."""
    facts = {"size_bytes": found.size_bytes, "files": len(found.files), "left_out": found.left_out}
    if _settle(actor, row, OutputState.KEPT, **facts) and row.volume is not None:
        volume = volume_lock(row.volume)
        used = max(0, int(volume.used_bytes) + grown_bytes)
        Volume.objects.filter(pk=volume.pk).update(used_bytes=used, change_no=F("change_no") + 1)


@service(recorded=False)
def output_wait(*, actor: Actor, row: WorkOutput, code: str) -> None:
    """It cannot be kept now: it is tried again by the clock."""
    if WorkOutput.objects.filter(pk=row.pk, state=OutputState.COMING).update(problem_code=code):
        emit(OutputsChanged(current_schema(), row.workload_uid), actor=actor)


@service(recorded=False)
def output_lose(*, actor: Actor, row: WorkOutput, code: str, problem: str = "") -> None:
    """It will never be kept; its owner reads why."""
    _settle(actor, row, OutputState.LOST, problem_code=code[:16], problem=problem)


def _settle(actor: Actor, row: WorkOutput, state: str, **facts: object) -> bool:
    found = _coming_lock(row)
    if found is None:
        return False
    if found.volume_id is not None:
        held = Volume.objects.filter(pk=found.volume_id)
        held.update(upload_bytes=F("upload_bytes") - found.room_bytes)
    told = {"problem_code": "", "room_bytes": 0, "settled_at": timezone.now(), **facts}
    WorkOutput.objects.filter(pk=row.pk).update(state=state, **told)
    emit(OutputsChanged(current_schema(), row.workload_uid), actor=actor)
    return True


def _coming_lock(row: WorkOutput) -> WorkOutput | None:
    """The row, locked, if it is not settled; its volume is locked before it."""
    if row.volume_id is not None:
        list(Volume.objects.select_for_update(no_key=True).filter(pk=row.volume_id))
    rows = WorkOutput.objects.select_for_update(of=("self",), no_key=True).select_related("volume")
    return rows.filter(pk=row.pk, state=OutputState.COMING).first()
