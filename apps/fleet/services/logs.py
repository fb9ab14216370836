"""Output of slices: taken by offset, overlap trimmed, bounded. Internal to the app's services."""

from collections.abc import Iterable, Mapping

from apps.fleet.models import LOG_MAX_BYTES, LogChunk, Slice
from node_agent.protocol.slices import LogChunk as LogReport


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
