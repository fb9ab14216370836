"""Reading the fleet. Nodes and devices are the operators'; a caller of the slice readers has checked whose
workloads they are."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Prefetch, QuerySet
from django.utils.translation import gettext as _

from apps.fleet.models import LOG_MAX_BYTES, Device, LogChunk, Node, Slice
from apps.fleet.states import NodeState
from apps.fleet.types import LogPart
from apps.kernel.errors import InvalidInput, NotFound

LOG_LIMIT_BYTES = 1024 * 1024
# One more than a slice's output can hold: its very end and the beginning of the next are told apart.
LOG_STRIDE_BYTES = LOG_MAX_BYTES + 1
_CHARACTER_BYTES = 4


def node_list() -> QuerySet[Node]:
    """The nodes that were not removed, with their devices."""
    return Node.objects.exclude(state=NodeState.REMOVED).prefetch_related(
        Prefetch("devices", queryset=Device.objects.order_by("index", "pk"))
    )


def node_get(uid: str) -> Node:
    found = node_list().filter(uid=uid).first()
    if found is None:
        raise NotFound(_("There is no such node."))
    return found


def device_list() -> QuerySet[Device]:
    """The devices of nodes that were not removed, with their node."""
    return Device.objects.exclude(node__state=NodeState.REMOVED).select_related("node")


def slice_list(*, workload_uids: Iterable[UUID | str]) -> QuerySet[Slice]:
    """The slices of workloads in the order they were wanted, with device and node."""
    rows = Slice.objects.across().filter(workload_uid__in=list(workload_uids))
    return rows.select_related("device", "node").order_by("workload_uid", "pk")


def slice_open_list(*, node_uid: str = "", device_uid: str = "") -> QuerySet[Slice]:
    """The slices that hold a share now, of a node or device, across tenants: for operators."""
    rows = Slice.objects.across().filter(final_at=None).select_related("device", "node", "tenant")
    if node_uid:
        rows = rows.filter(node__uid=node_uid)
    if device_uid:
        rows = rows.filter(device__uid=device_uid)
    return rows


def log_read(*, workload_uid: UUID | str, offset: int = 0, limit: int = 65536) -> LogPart:
    """A piece of a workload's output from byte `offset`, at most `limit` bytes, cut between characters.

    Of a workload with several slices the outputs follow one another, each from a multiple of `LOG_STRIDE_BYTES`:
    `next_offset` leads from one to the next, so treat it as a ticket and not as a length. Where output was not
    kept, one line in the reader's language says so.
    """
    if offset < 0 or limit < 4:
        raise InvalidInput(_("The offset begins at 0 and the limit at 4."))
    rows = list(slice_list(workload_uids=[workload_uid]))
    ordinal, inner = divmod(offset, LOG_STRIDE_BYTES)
    text = ""
    while ordinal < len(rows) and not text:
        row = rows[ordinal]
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
    return LogPart(text=text, next_offset=ordinal * LOG_STRIDE_BYTES + inner, ended=ended)


def _is_cut(row: Slice, inner: int) -> bool:
    """Whether all that was kept ends here and there was more; a character on the bound is dropped as a whole."""
    return row.log_next > LOG_MAX_BYTES and inner > LOG_MAX_BYTES - _CHARACTER_BYTES


def _piece(row: Slice, offset: int, limit: int) -> tuple[str, int]:
    chunks = LogChunk.objects.filter(slice=row, offset__lt=offset + limit, offset__gt=offset - _CHUNK_BYTES)
    data = b""
    for chunk in chunks.order_by("offset"):
        start = offset + len(data) - chunk.offset
        if 0 <= start < chunk.size:
            data += chunk.text.encode()[start:]
    text = data[:limit].decode(errors="ignore")
    return text, offset + len(text.encode())


_CHUNK_BYTES = 64 * 1024
