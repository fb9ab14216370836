"""Reading the fleet. Nodes and devices are the operators'; a caller of the slice readers has checked whose
workloads they are."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, F, Max, Min, Prefetch, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from apps.fleet.errors import NoSuchGroup, NoSuchSpec
from apps.fleet.migration_rules import move_why_not
from apps.fleet.models import (
    LOG_MAX_BYTES,
    Device,
    GroupGrant,
    LogChunk,
    MetricSeries,
    Node,
    ResourceGroup,
    Slice,
    Spec,
)
from apps.fleet.session_keys import unseal
from apps.fleet.states import MOVING, Desired, NodeState, SliceKind
from apps.fleet.types import LogExcerpt, SessionConnection
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.pick_list import Pick
from apps.kernel.unit_text import mib_text
from apps.kernel.words import having
from apps.tenancy.models import Tenant

LOG_LIMIT_BYTES = 1024 * 1024
# More than any node has devices, and within the column.
_INDEX_DIGITS = 6
# One more than a slice's output can hold: its very end and the beginning of the next are told apart.
LOG_STRIDE_BYTES = LOG_MAX_BYTES + 1
_CHARACTER_BYTES = 4


def component_is_installed(name: str) -> bool:
    """Whether any node of the pool has it among its components."""
    return node_list().filter(components__has_key=name).exists()


def node_list(*, search: str = "", state: str = "") -> QuerySet[Node]:
    """The nodes that were not removed, with their devices: those whose name or address contains `search`, in a state or
    in any."""
    devices = Device.objects.filter(left_at=None).select_related("group").order_by("index", "pk")
    rows = Node.objects.exclude(state=NodeState.REMOVED).prefetch_related(Prefetch("devices", devices))
    return _nodes_narrowed(rows, search, state)


def node_held_list(*, search: str = "", state: str = "") -> QuerySet[Node]:
    """Those of `node_list` whose name or address contains `search`, in a state or in any, each with `device_count` and
    what is held of its devices together: `held_percent` of `room_percent`, `held_mib` of `room_mib`."""
    here = Q(devices__left_at=None)
    permille = F("devices__memory_oversubscribe_permille")
    rows = Node.objects.exclude(state=NodeState.REMOVED).annotate(
        device_count=Count("devices", filter=here),
        held_percent=Sum("devices__held_percent", filter=here, default=0),
        room_percent=Sum(F("devices__oversubscribe_permille") / 10, filter=here, default=0),
        held_mib=Sum("devices__held_mib", filter=here, default=0),
        room_mib=Sum(F("devices__memory_mib") * permille / 1000, filter=here, default=0),
    )
    return _nodes_narrowed(rows, search, state)


def _nodes_narrowed(rows: QuerySet[Node], search: str, state: str) -> QuerySet[Node]:
    if search:
        rows = rows.filter(Q(name__icontains=search) | Q(address__icontains=search))
    return rows.filter(state=state) if state else rows


def nodes_named(uids: Iterable[UUID]) -> QuerySet[Node]:
    """The nodes of these numbers that were not removed."""
    return node_list().filter(uid__in=[str(uid) for uid in uids]).order_by("name")


def node_lost_list() -> QuerySet[Node]:
    """Nodes that are lost to the pool now."""
    return Node.objects.filter(state=NodeState.LOST)


def node_get(uid: str) -> Node:
    found = node_list().filter(uid=uid).first()
    if found is None:
        raise NotFound(_("There is no such node."))
    return found


def node_runs_image(node_uid: str, version: UUID) -> bool:
    """Whether a node is to run work in a version of an image now."""
    rows = Slice.objects.across().filter(node__uid=node_uid, desired=Desired.RUNNING)
    return rows.filter(work__contains={"image": {"version": str(version)}}).exists()


def device_list() -> QuerySet[Device]:
    """The devices in the pool, with their node and group."""
    rows = Device.objects.exclude(node__state=NodeState.REMOVED).filter(left_at=None)
    return rows.select_related("node", "group")


@dataclass(frozen=True, slots=True)
class CardModel:
    """A model of accelerator that the pool has: how many of it, and the memory of one."""

    vendor: str
    model: str
    memory_mib: int
    count: int
    is_simulated: bool

    @property
    def text(self) -> str:
        """As pickers show it."""
        return f"{self.vendor} {self.model} · {mib_text(self.memory_mib)} · {self.count} ×"


def card_models() -> list[CardModel]:
    """The models of accelerator in the pool; of cards of one model that differ in memory, the least memory."""
    rows = device_list().filter(memory_mib__gt=0).order_by("vendor", "model").values("vendor", "model")
    found = rows.annotate(
        memory=Min("memory_mib"), count=Count("pk"), simulated=Count("pk", filter=Q(is_simulated=True))
    )
    return [
        CardModel(row["vendor"], row["model"], row["memory"], row["count"], bool(row["simulated"]))
        for row in found
    ]


def device_get(uid: str) -> Device:
    """A device that is or was in the pool. Raises NotFound."""
    found = Device.objects.select_related("node", "group").filter(uid=uid).first()
    if found is None:
        raise NotFound(_("There is no device %(device)s.") % {"device": uid})
    return found


def devices_matching(words: Iterable[str]) -> QuerySet[Device]:
    """The devices in the pool that have every word in number, model, vendor or their node's name, by node and index;
    a word like #3 is an index."""
    rows = device_list().order_by("node__name", "index", "pk")
    for word in words:
        index = word.removeprefix("#")
        is_index = index != word and index.isdecimal() and len(index) < _INDEX_DIGITS
        rows = rows.filter(
            Q(index=int(index)) if is_index else having([word], "uid", "model", "vendor", "node__name")
        )
    return rows


def device_picks(rows: Iterable[Device]) -> list[Pick]:
    """Devices as they are chosen."""
    return [
        Pick(row.uid, f"{row.node.name} #{row.index}", f"{row.model} · {mib_text(row.memory_mib)}")
        for row in rows
    ]


def device_names(uids: Iterable[str]) -> dict[str, str]:
    """What devices are called, by number, those out of the pool too."""
    rows = Device.objects.filter(uid__in=set(uids)).select_related("node")
    return {pick.value: pick.title for pick in device_picks(rows)}


def surplus_get(workload_uid: UUID) -> tuple[int, int]:
    """Percent and MiB that devices keep for a workload beyond its shares, until their nodes have shrunk them."""
    rows = Slice.plain.filter(workload_uid=workload_uid, final_at=None)
    sums = rows.aggregate(percent=Sum("surplus_percent"), mib=Sum("surplus_mib"))
    return sums["percent"] or 0, sums["mib"] or 0


def devices_used(rows: Iterable[Device]) -> list[Device]:
    """Devices with the slices that hold them now (`uses`), what these get and what they use of it together."""
    devices = list(rows)
    slices: dict[int, list[Slice]] = {}
    for row in slice_open_list().filter(device__in=[device.pk for device in devices]).order_by("pk"):
        slices.setdefault(row.device_id, []).append(row)
    for device in devices:
        device.uses = slices.get(device.pk, [])
        device.delivered_percent = sum(row.delivered_percent or 0 for row in device.uses)
        device.used_mib = sum(row.memory_used_mib or 0 for row in device.uses)
    return devices


def slice_list(*, workload_uids: Iterable[UUID | str]) -> QuerySet[Slice]:
    """The slices of workloads in the order they were wanted, with device and node."""
    rows = Slice.objects.across().filter(workload_uid__in=list(workload_uids))
    return rows.select_related("device", "node").order_by("workload_uid", "pk")


def metric_series_list(*, workload_uids: Iterable[UUID | str], name: str = "") -> QuerySet[MetricSeries]:
    """What workloads have written of themselves, by name; with `name` the metrics in whose names that occurs."""
    return MetricSeries.objects.across().filter(workload_uid__in=list(workload_uids), name__icontains=name)


def slice_share_numbers(uids: Iterable[UUID]) -> set[int]:
    """The numbers that these slices have among the shares of their workload."""
    return set(Slice.plain.filter(uid__in=uids).values_list("share", flat=True))


def device_memory_most() -> int:
    """The memory of the pool's largest card, in MiB; 0 without any."""
    return Device.objects.aggregate(most=Max("memory_mib"))["most"] or 0


def slice_open_list(*, node_uid: str = "", device_uid: str = "") -> QuerySet[Slice]:
    """The slices that hold a share now, of a node or device, across tenants: for operators."""
    rows = Slice.objects.across().filter(final_at=None).select_related("device", "node", "tenant")
    if node_uid:
        rows = rows.filter(node__uid=node_uid)
    if device_uid:
        rows = rows.filter(device__uid=device_uid)
    return rows


def slice_get(uid: UUID | str) -> Slice:
    """A slice of whatever tenant: for operators. Raises NotFound."""
    rows = Slice.objects.across().select_related("device__group", "node", "tenant")
    try:
        found = rows.filter(uid=UUID(str(uid))).first()
    except ValueError:
        found = None
    if found is None:
        raise NotFound(_("There is no such slice."))
    return found


def session_list() -> QuerySet[Slice]:
    """The sessions that run or are about to, across tenants: for operators (targets of moves among them)."""
    return slice_open_list().filter(kind=SliceKind.SESSION).order_by("-created_at", "-pk")


def move_target_list(source: Slice) -> list[tuple[Device, str]]:
    """Every other device with why the session cannot move there; those where it can come first (POOL-12.23)."""
    rows = device_list().exclude(pk=source.device_id).order_by("node__name", "index")
    found = [(device, _why_not(source, device)) for device in rows]
    return sorted(found, key=lambda pair: bool(pair[1]))


def _why_not(source: Slice, device: Device) -> str:
    why = move_why_not(source, device)
    if why is not None:
        return why.text
    if device.free_percent < source.compute_percent or device.free_mib < source.memory_mib:
        return _("It has no room for the share.")
    return ""


def session_connection_get(workload_uid: UUID | str) -> list[SessionConnection]:
    """How a client reaches each share of a session, in the order of the shares; the caller has checked that it is
    the submitter's. A share on the move is at its source until it has moved."""
    rows = Slice.objects.across().filter(
        workload_uid=workload_uid, kind=SliceKind.SESSION, final_at=None, desired=Desired.RUNNING
    )
    rows = rows.exclude(move_state__in=MOVING).select_related("device", "node")
    rows = rows.order_by(Coalesce("seat", "pk"), "pk")
    return [_connection(index, row) for index, row in enumerate(rows)]


def _connection(index: int, row: Slice) -> SessionConnection:
    return SessionConnection(
        index=index,
        slice_uid=str(row.uid),
        state=row.state,
        host=row.session.get("host") or row.node.address,
        port=row.session.get("port"),
        fingerprint=row.session.get("fingerprint") or "",
        token=unseal(row.session_key),
        node=row.node.name,
        device=row.device.uid,
        model=row.device.model,
        compute_percent=row.compute_percent,
        memory_mib=row.memory_mib,
    )


# --- resource groups and specs ---------------------------------------------------------------------------------


def group_list() -> QuerySet[ResourceGroup]:
    """The groups with their devices and grants: for operators."""
    grants = GroupGrant.objects.across().select_related("tenant").prefetch_related("clients")
    devices = device_list().order_by("node__name", "index")
    return ResourceGroup.objects.prefetch_related(Prefetch("grants", grants), Prefetch("devices", devices))


def group_get(code: str) -> ResourceGroup:
    """The group of a code. Raises NoSuchGroup."""
    found = ResourceGroup.objects.filter(code=code).first()
    if found is None:
        raise NoSuchGroup(
            _("There is no resource group %(code)s.") % {"code": code}, fields={"resource_group": code}
        )
    return found


def group_allowed(*, group: str, tenant: Tenant, user_id: int | None) -> bool:
    """Whether this person of the tenant may use the group now (POOL-12.13)."""
    mine = GroupGrant.objects.of(tenant).filter(group__code=group)
    return mine.filter(Q(is_open=True) | Q(clients__pk=user_id)).exists()


def spec_list() -> QuerySet[Spec]:
    return Spec.objects.all()


def spec_get(code: str) -> Spec:
    """The spec on offer under a code. Raises NoSuchSpec for one that is not, or not any more."""
    found = Spec.objects.filter(code=code, is_enabled=True).first()
    if found is None:
        text = _("There is no resource specification %(code)s.") % {"code": code}
        raise NoSuchSpec(text, fields={"spec": text})
    return found


# --- output ----------------------------------------------------------------------------------------------------


def log_read(
    *,
    workload_uid: UUID | str,
    offset: int = 0,
    limit: int = 65536,
    share: int | None = None,
    attempt: int | None = None,
) -> LogExcerpt:
    """A piece of a workload's output from byte `offset`, at most `limit` bytes, cut between characters.

    Of a workload with several slices the outputs follow one another, each from a multiple of `LOG_STRIDE_BYTES`:
    `next_offset` leads from one to the next, so treat it as a ticket and not as a length. With `share` or `attempt`
    only those of that share or attempt do. Where output was not kept, one line in the reader's language says so.
    """
    if offset < 0 or limit < 4:
        raise InvalidInput(_("The offset begins at 0 and the limit at 4."))
    asked = {"share": share, "attempt": attempt}
    found = slice_list(workload_uids=[workload_uid])
    rows = list(found.filter(**{name: number for name, number in asked.items() if number is not None}))
    ordinal, inner = divmod(offset, LOG_STRIDE_BYTES)
    text = ""
    last = rows[min(ordinal, len(rows) - 1)] if rows else None
    while ordinal < len(rows) and not text:
        row = last = rows[ordinal]
        text, inner = _piece(row, inner, min(limit, LOG_LIMIT_BYTES))
        if text:
            break
        if _is_cut(row, inner):
            line = _("[output beyond %(most)s MiB is not kept]") % {"most": LOG_MAX_BYTES // 2**20}
            text = f"\n{line}\n"
        elif row.closed_at is None or inner < row.log_next:
            break
        ordinal, inner = ordinal + 1, 0
    is_all_over = bool(rows) and all(row.closed_at is not None for row in rows)
    ended = is_all_over and not text and ordinal >= len(rows)
    next_offset = ordinal * LOG_STRIDE_BYTES + inner
    whose = (last.share, last.attempt) if last is not None else (share or 0, attempt or 1)
    return LogExcerpt(text, next_offset, ended, *whose)


def log_bytes_read(*, workload_uid: UUID | str, offset: int, limit: int) -> bytes:
    """At most `limit` bytes (a MiB at most) of a workload's output from any byte `offset`, as they were kept; nothing
    where there is no more yet. Lines of the node itself at the end are left out. Of a workload with several slices the
    outputs follow one another without a gap, the next once all of the one before has come."""
    found, most = b"", min(limit, LOG_LIMIT_BYTES)
    for row in slice_list(workload_uids=[workload_uid]):
        printed = _printed(row)
        if offset < printed:
            found += _bytes(row, offset, min(most - len(found), printed - offset))
        offset = max(0, offset - printed)
        if len(found) >= most or row.closed_at is None:
            break
    return found


def log_end_read(*, workload_uid: UUID | str, characters: int) -> str:
    """The last that a workload has printed, of the slice that began last; at most so many characters."""
    row = slice_list(workload_uids=[workload_uid]).last()
    if row is None:
        return ""
    size = 4 * characters
    begin = max(0, min(row.log_next, LOG_MAX_BYTES) - size)
    text, _next = _piece(row, begin, size)
    return text[-characters:]


def _is_cut(row: Slice, inner: int) -> bool:
    """Whether all that was kept ends here and there was more; a character on the bound is dropped as a whole."""
    return row.log_next > LOG_MAX_BYTES and inner > LOG_MAX_BYTES - _CHARACTER_BYTES


def _piece(row: Slice, offset: int, limit: int) -> tuple[str, int]:
    text = _bytes(row, offset, limit).decode(errors="ignore")
    return text, offset + len(text.encode())


# What a node adds to an output (node_agent/runtime/shim/output.py), the last line perhaps come in part.
_NOTES = re.compile(rb"(?:\n\[weir\] [^\n]*\n)*(?:\n\[(?:w|we|wei|weir|weir\]|weir\] [^\n]*)?)?\Z")
_NOTES_BYTES = 4096


def _printed(row: Slice) -> int:
    """How many of the bytes that are kept its work has printed: without the node's own lines at their end, one of which
    may have come in part. A line of the work that looks like them is told once something else follows it."""
    kept = _kept(row)
    begin = max(0, kept - _NOTES_BYTES)
    found = _NOTES.search(_bytes(row, begin, kept - begin))
    return begin + found.start() if found else kept


def output_is_whole(row: Slice) -> bool:
    """Whether all that a slice that has ended has printed has come, which may be after its end: the node's own line of
    the end stands behind it, or more has come than is kept."""
    kept = _kept(row)
    return row.log_next > kept or _printed(row) < kept


def _kept(row: Slice) -> int:
    """How many bytes of its output are kept: beyond the bound none is, nor a character that lies on it."""
    if row.log_next <= LOG_MAX_BYTES:
        return row.log_next
    last = LogChunk.objects.filter(slice=row).order_by("offset").last()
    return last.offset + last.size if last else 0


def _bytes(row: Slice, offset: int, limit: int) -> bytes:
    chunks = LogChunk.objects.filter(slice=row, offset__lt=offset + limit, offset__gt=offset - _CHUNK_BYTES)
    data = b""
    for chunk in chunks.order_by("offset"):
        start = offset + len(data) - chunk.offset
        if 0 <= start < chunk.size:
            data += chunk.text.encode()[start:]
    return data[:limit]


_CHUNK_BYTES = 64 * 1024
