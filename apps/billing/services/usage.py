"""Taking in usage reports: each once, none that overlaps or cannot be true, nothing silently dropped."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from django.utils import timezone

from apps.billing.events import UsageRefused
from apps.billing.models import Charge, UsageRecord, UsageRefusal
from apps.billing.states import RefusalCode
from apps.billing.types import Usage, UsageReceipt
from apps.kernel.actor import Actor
from apps.kernel.errors import Forbidden
from apps.kernel.events import emit
from apps.kernel.service import service

# Clocks of nodes may differ this much from ours before a report is called impossible.
CLOCK_SKEW = timedelta(minutes=5)
INTERVAL_MAX = timedelta(days=1)
CPUS_MAX = 65536
PERCENT_MAX = 100
MEMORY_MAX_MIB = 2**40
_SECOND = timedelta(seconds=1)

Interval = tuple[datetime, datetime]


@service(recorded=False)
def usage_record(*, actor: Actor, workload_uid: UUID, reports: Sequence[Usage]) -> UsageReceipt:
    """Record what agents vouch for (PLAT-OPS-38), once by (slice, seq): a message may come twice or late.

    A report that overlaps, lies outside the charge's time or cannot be true is kept as a refusal with its
    reason and never billed; the others are recorded all the same.
    """
    if actor.kind not in ("agent", "system"):
        raise Forbidden()
    charge = Charge.plain.select_for_update(no_key=True).filter(workload_uid=workload_uid).first()
    book = _Book(charge, actor, reports)
    for report in sorted(reports, key=lambda usage: (usage.slice_uid, usage.seq)):
        book.take(report)
    UsageRecord.plain.bulk_create(book.recorded)
    refused = [_refusal(workload_uid, report, code) for report, code in book.refused]
    UsageRefusal.objects.bulk_create(refused, ignore_conflicts=True)
    for row in refused:
        emit(UsageRefused(row.workload_uid, row.slice_uid, row.seq, row.code), actor=actor)
    return UsageReceipt(
        recorded=len(book.recorded),
        repeated=book.repeated,
        refused=tuple((report.slice_uid, report.seq, str(code)) for report, code in book.refused),
    )


class _Book:
    """One workload's reports sorted into recorded, repeated and refused, against what is recorded already."""

    def __init__(self, charge: Charge | None, actor: Actor, reports: Sequence[Usage]) -> None:
        self.charge = charge
        self.actor = actor
        self.now = timezone.now()
        self.recorded: list[UsageRecord] = []
        self.refused: list[tuple[Usage, RefusalCode]] = []
        self.repeated = 0
        self.known: dict[tuple[str, int], Interval] = {}
        self.taken: dict[str, list[Interval]] = defaultdict(list)
        if charge is not None and reports:
            self._read(reports)

    def _read(self, reports: Sequence[Usage]) -> None:
        slices = {report.slice_uid for report in reports}
        rows = UsageRecord.plain.filter(slice_uid__in=slices)
        by_seq = rows.filter(seq__in={report.seq for report in reports})
        for slice_uid, seq, start_at, end_at in by_seq.values_list("slice_uid", "seq", "start_at", "end_at"):
            self.known[slice_uid, seq] = (start_at, end_at)
        first = min(report.start_at for report in reports)
        last = max(report.end_at for report in reports)
        near = rows.filter(end_at__gt=first, start_at__lt=last)
        for slice_uid, start_at, end_at in near.values_list("slice_uid", "start_at", "end_at"):
            self.taken[slice_uid].append((start_at, end_at))

    def take(self, report: Usage) -> None:
        known = self.known.get((report.slice_uid, report.seq))
        code = self._impossible(report) or self._outside(report)
        cut = self._cut(report)
        if known is not None and known in ((report.start_at, report.end_at), (cut.start_at, cut.end_at)):
            self.repeated += 1
        elif known is not None:
            self.refused.append((report, RefusalCode.REWRITTEN))
        elif code is not None:
            self.refused.append((report, code))
        elif any(start < cut.end_at and end > cut.start_at for start, end in self.taken[cut.slice_uid]):
            self.refused.append((report, RefusalCode.OVERLAP))
        else:
            self._keep(cut)

    def _keep(self, report: Usage) -> None:
        assert self.charge is not None, "without a charge every report is refused"
        interval = (report.start_at, report.end_at)
        self.known[report.slice_uid, report.seq] = interval
        self.taken[report.slice_uid].append(interval)
        self.recorded.append(_record(self.charge, report))

    def _impossible(self, report: Usage) -> RefusalCode | None:
        length = report.end_at - report.start_at
        if length <= timedelta(0):
            return RefusalCode.BACKWARDS
        if length % _SECOND:
            return RefusalCode.NOT_WHOLE
        if length > INTERVAL_MAX:
            return RefusalCode.TOO_LONG
        if report.end_at > self.now + CLOCK_SKEW:
            return RefusalCode.FUTURE
        return None if _figures_sound(report, length) else RefusalCode.ABSURD

    def _outside(self, report: Usage) -> RefusalCode | None:
        if self.charge is None:
            return RefusalCode.NO_CHARGE
        if self.actor.kind == "agent" and report.node_uid != self.actor.node_uid:
            return RefusalCode.FOREIGN_NODE
        if report.start_at < self.charge.opened_at - CLOCK_SKEW:
            return RefusalCode.BEFORE_OPEN
        cut = self._cut(report)
        return RefusalCode.AFTER_CLOSE if cut.end_at <= cut.start_at else None

    def _cut(self, report: Usage) -> Usage:
        """The part of the interval that lies before the charge's end, in whole seconds."""
        closed_at = self.charge.closed_at if self.charge else None
        if closed_at is None or report.end_at <= closed_at:
            return report
        whole = max(timedelta(0), closed_at - report.start_at) // _SECOND
        return replace(report, end_at=report.start_at + whole * _SECOND)


def _figures_sound(report: Usage, length: timedelta) -> bool:
    # Work on the host alone holds neither compute nor memory of a card; a share of a card has compute.
    is_on_host = report.compute_percent == 0 and report.memory_mib == 0
    return (
        report.seq >= 1
        and (is_on_host or 1 <= report.compute_percent <= PERCENT_MAX)
        and 0 <= report.memory_mib <= MEMORY_MAX_MIB
        and 0 <= report.memory_peak_mib <= MEMORY_MAX_MIB
        and 0 <= report.cpu_seconds <= int(length.total_seconds()) * CPUS_MAX
    )


def _record(charge: Charge, report: Usage) -> UsageRecord:
    return UsageRecord(
        tenant_id=charge.tenant_id,
        charge=charge,
        workload_uid=charge.workload_uid,
        slice_uid=report.slice_uid,
        seq=report.seq,
        start_at=report.start_at,
        end_at=report.end_at,
        seconds=(report.end_at - report.start_at) // _SECOND,
        compute_percent=report.compute_percent,
        memory_mib=report.memory_mib,
        cpu_seconds=report.cpu_seconds,
        memory_peak_mib=report.memory_peak_mib,
        storage_gib=report.storage_gib,
        node_uid=report.node_uid,
        device_uid=report.device_uid,
        report_id=report.report_id,
    )


def _refusal(workload_uid: UUID, report: Usage, code: RefusalCode) -> UsageRefusal:
    return UsageRefusal(
        workload_uid=str(workload_uid),
        slice_uid=report.slice_uid,
        seq=str(report.seq),
        code=code,
        report=report.as_json(),
    )
