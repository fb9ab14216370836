"""Reads: work that was put aside because its account gave no more money."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from apps.scheduling.models import Workload
from apps.scheduling.states import DecisionKind, WorkloadState
from apps.tenancy.models import Tenant

FUNDS_CODE = "funds_used_up"


def unfunded_list(tenant: Tenant, workload_uids: Iterable[UUID]) -> list[UUID]:
    """Which of them are put aside for want of money."""
    rows = Workload.objects.of(tenant).filter(
        uid__in=list(workload_uids), state=WorkloadState.SUSPENDED, reason_code=FUNDS_CODE
    )
    return list(rows.values_list("uid", flat=True))


def unfunded_since(tenant: Tenant, workload_uid: UUID) -> datetime | None:
    """Since when it is put aside for want of money; None where it is not."""
    row = Workload.objects.of(tenant).filter(uid=workload_uid).first()
    if row is None or row.uid not in unfunded_list(tenant, [row.uid]):
        return None
    put_aside = row.decisions.filter(kind=DecisionKind.SUSPENDED).order_by("-pk")
    at: datetime | None = put_aside.values_list("at", flat=True).first()
    return at
