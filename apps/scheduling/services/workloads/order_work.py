"""Work that an order asks for: what could never run is refused when the order is asked for, and again at delivery.

Internal to the app's services, but for `order_lines_check`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from apps.fleet.services.slices.slice_lifecycle import work_check
from apps.scheduling.models import Workload
from apps.scheduling.services.workloads import checks
from apps.scheduling.services.workloads.admission import asked_of, limits_check
from apps.scheduling.types import Amounts
from apps.tenancy.models import Tenant
from node_agent.protocol.fields import HOST_DRIVER


def order_row(
    *,
    tenant: Tenant,
    user_id: int | None,
    amounts: Amounts,
    work: Mapping[str, Any],
    run_timeout_s: int | None,
    queue: str = "",
    **fields: Any,
) -> Workload:
    """The workload, not saved, of an order's line in its queue; WeirError where it could never run.

    Raises InvalidInput, QueueClosed, QueueNotAdmitting, RunTooLong, NotAuthorisedForGroup, ShareTooLarge, GangTooLarge,
    HostTooSmall, BeyondQuota.
    """
    checks.amounts_check(amounts)
    work_check(dict(work), run_timeout_s)
    place = checks.queue_open(queue, tenant)
    row = Workload(
        tenant=tenant,
        submitted_by_id=user_id,
        queue=place,
        shares=amounts.shares,
        compute_percent=amounts.compute_percent,
        memory_mib=amounts.memory_mib,
        host_cpu_milli=amounts.host_cpu_milli,
        host_memory_mib=amounts.host_memory_mib,
        driver=HOST_DRIVER if amounts.is_on_host else "",
        work=dict(work),
        run_timeout_s=checks.run_time_of(place, run_timeout_s),
        **fields,
    )
    checks.group_check(row)
    checks.hopeless_check(row)
    return row


def order_lines_check(
    *,
    tenant: Tenant,
    user_id: int,
    lines: Sequence[tuple[Amounts, Mapping[str, Any]]],
    run_timeout_s: int | None,
) -> None:
    """Refuse an application whose lines, each with its work, could never run, or would be more together than the
    applicant may hold. Raises what `order_row` raises, and QuotaExceeded."""
    asked: Counter[str] = Counter()
    for amounts, work in lines:
        row = order_row(
            tenant=tenant, user_id=user_id, amounts=amounts, work=work, run_timeout_s=run_timeout_s
        )
        asked.update(asked_of(row))
    limits_check(tenant, user_id, asked)
