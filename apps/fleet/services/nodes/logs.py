"""What nodes say: output of slices, taken by offset and bounded, and lines of the components' logs.

Internal to the app's services.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from apps.fleet.events import NodeSaid
from apps.fleet.models import LOG_MAX_BYTES, LogChunk, Node, Slice
from apps.fleet.services.clock_skew import clock_correct
from node_agent.protocol.slices import LogChunk as LogReport
from node_agent.protocol.sync import EventReport


def logs_take(reports: Iterable[LogReport], rows: Mapping[str, Slice]) -> tuple[list[LogChunk], set[str]]:
    """The chunks to save, and the slices whose output grew; `log_next` rises in memory.

    What lies beyond a gap is not taken, the acknowledgement asks for it again. Past the bound output is
    acknowledged and dropped: `log_next` tells readers that there was more.
    """
    chunks: list[LogChunk] = []
    grown: set[str] = set()
    for report in sorted(reports, key=lambda item: (item.slice_uid, item.offset)):
        row = rows.get(report.slice_uid)
        if row is None or report.offset > row.log_next:
            continue
        data = report.text.encode()[row.log_next - report.offset :]
        if not data:
            continue
        text = data[: max(LOG_MAX_BYTES - row.log_next, 0)].decode(errors="ignore")
        if text:
            chunks.append(LogChunk(slice=row, offset=row.log_next, size=len(text.encode()), text=text))
        # Also when the bound is passed: a reader who stands at the end is told of it.
        if row.log_next <= LOG_MAX_BYTES:
            grown.add(report.slice_uid)
        row.log_next += len(data)
    return chunks, grown


def events_take(
    node: Node, reports: Iterable[EventReport], rows: Mapping[str, Slice], *, now: datetime
) -> list[NodeSaid]:
    """The lines not taken in before, to be told; the node's `event_seq` rises in memory. A slice that is not the
    node's is not believed to be spoken of."""
    told = []
    for report in sorted(reports, key=lambda item: item.seq):
        if report.seq <= node.event_seq:
            continue
        node.event_seq = report.seq
        told.append(_said(node, report, rows.get(report.slice_uid or ""), now))
    return told


def _said(node: Node, report: EventReport, row: Slice | None, now: datetime) -> NodeSaid:
    return NodeSaid(
        node_uid=node.uid,
        node=node.name,
        at=min(clock_correct(node, report.at), now),
        level=report.level,
        component=report.component,
        slice_uid=str(row.uid) if row else "",
        text=report.text,
        workload_uid=str(row.workload_uid) if row else "",
        tenant=row.tenant.schema_name if row else "",
    )
