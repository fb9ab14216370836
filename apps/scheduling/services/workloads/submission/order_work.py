"""Work that an order asks for: what could never run is refused when the order is asked for, and again at delivery."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from apps.fleet.mig_profiles import mig_profile_get
from apps.fleet.selectors import spec_get
from apps.fleet.services.slices.slice_lifecycle import work_check
from apps.kernel.actor import Actor, act_subject
from apps.kernel.bulk import insert_many
from apps.kernel.errors import InvalidInput
from apps.kernel.events import emit
from apps.kernel.prepared_queries import Param, PreparedQuery, pipeline
from apps.kernel.service import service
from apps.kernel.unit_text import mib_text
from apps.scheduling.locks import submissions_lock
from apps.scheduling.models import Workload
from apps.scheduling.services.decisions import decided, submitted
from apps.scheduling.services.workloads.admission import asked_of, limit_check, limits_check
from apps.scheduling.services.workloads.submission import checks
from apps.scheduling.states import DecisionKind
from apps.scheduling.types import OrderedWork
from apps.tenancy.models import Tenant
from node_agent.protocol.fields import HOST_DRIVER

PINS = frozenset({"node", "device"})

_OF_ORDER = PreparedQuery(lambda: Workload.plain.filter(tenant=Param("tenant"), order_uid=Param("order")))


@service()
def workload_submit(
    *,
    actor: Actor,
    tenant: Tenant,
    order_uid: UUID,
    order_no: str,
    name_en: str,
    name_zh: str,
    ordered: OrderedWork,
    run_timeout_s: int | None = None,
    priority: int = 0,
    labels: Mapping[str, str] | None = None,
    pins: Mapping[str, str] | None = None,
    user_id: int | None = None,
    organization: UUID | None = None,
    business_system: UUID | None = None,
) -> Workload:
    """Put an order's work in a queue; asking again for the same order gives the same workload.

    `pins` may name node or device (uids).
    `user_id` is who applied for it, whose limits it counts against, `organization` where he belonged, and
    `business_system` the one it is for. Raises what `order_row` raises, and QuotaExceeded.
    """
    submissions_lock(tenant)
    if found := _OF_ORDER.first(tenant=tenant.pk, order=order_uid):
        return found
    if set(pins or {}) - PINS:
        raise InvalidInput(fields={"pins": _("one of %(pins)s") % {"pins": ", ".join(sorted(PINS))}})
    row = order_row(
        tenant=tenant,
        user_id=user_id,
        ordered=ordered,
        run_timeout_s=run_timeout_s,
        order_uid=order_uid,
        no=f"W-{order_no}",
        name_en=name_en,
        name_zh=name_zh,
        priority=priority,
        labels=dict(labels or {}),
        more_pins=dict(pins or {}),
        organization_id=organization,
        business_system_uid=business_system,
    )
    limit_check(row)
    act_subject("workload", row.uid, order=order_no)
    with pipeline():
        insert_many([row])
        decided(row, DecisionKind.SUBMITTED, actor)
        emit(submitted(row), actor=actor)
    return row


def order_row(
    *,
    tenant: Tenant,
    user_id: int | None,
    ordered: OrderedWork,
    run_timeout_s: int | None,
    more_pins: Mapping[str, str] | None = None,
    **fields: Any,
) -> Workload:
    """The workload, not saved, of an order's line in its queue, the default one where it names none (PLAT-CLU-50);
    WeirError where it could never run.

    Raises InvalidInput, QueueClosed, QueueNotAdmitting, RunTooLong, NotAuthorisedForGroup, NoSuchModel, NoSuchSpec,
    ShareTooLarge, GangTooLarge, HostTooSmall, BeyondQuota.
    """
    amounts, work = ordered.amounts, dict(ordered.work)
    checks.amounts_check(amounts)
    if ordered.spec:
        _spec_check(ordered)
    if ordered.mig_profile:
        _mig_check(ordered)
    work_check({**work, "kind": ordered.kind}, run_timeout_s)
    place = checks.queue_open(ordered.queue, tenant)
    if run_timeout_s is None:
        checks.endless_check(place)
    row = Workload(
        tenant=tenant,
        submitted_by_id=user_id,
        queue=place,
        shares=amounts.shares,
        compute_percent=amounts.compute_percent,
        memory_mib=amounts.memory_mib,
        host_cpu_milli=amounts.host_cpu_milli,
        host_memory_mib=amounts.host_memory_mib,
        scratch_disk_mib=amounts.scratch_disk_mib,
        driver=HOST_DRIVER if amounts.is_on_host else ordered.driver,
        kind=ordered.kind,
        purpose=ordered.purpose,
        spec=ordered.spec,
        mig_profile=ordered.mig_profile,
        resource_group=ordered.resource_group,
        pins=checks.pins_of(vendor=ordered.vendor, model=ordered.model)
        | dict(more_pins or {})
        | {name: getattr(ordered, name) for name in ("storage", "containers") if getattr(ordered, name)},
        work=work,
        secrets=dict(ordered.secrets),
        # A service goes on elsewhere where its node is lost: it is to be there.
        requeue_on_loss="service" in work,
        run_timeout_s=checks.run_time_of(place, run_timeout_s),
        **fields,
    )
    checks.group_check(row)
    checks.hopeless_check(row)
    return row


def _spec_check(ordered: OrderedWork) -> None:
    """What is sold by a specification is exactly that, and one that is on offer."""
    spec = spec_get(ordered.spec)
    asked = (ordered.amounts.compute_percent, ordered.amounts.memory_mib)
    if asked != (spec.compute_percent, spec.memory_mib):
        raise InvalidInput(
            _(
                "The specification %(spec)s is %(percent)s %% of a card and %(memory)s, and something else is ordered."
            )
            % {"spec": spec, "percent": spec.compute_percent, "memory": mib_text(spec.memory_mib)},
            cure=_("Ask the operators to bring the commodity up to date."),
        )


def _mig_check(ordered: OrderedWork) -> None:
    """What is sold as a MIG profile is exactly that, and one that cards here give. Raises NoSuchMigProfile."""
    profile = mig_profile_get(ordered.mig_profile, vendor=ordered.vendor, model=ordered.model)
    asked = (ordered.amounts.compute_percent, ordered.amounts.memory_mib)
    if asked != (profile.compute_percent, profile.memory_mib):
        raise InvalidInput(
            _(
                "The MIG profile %(name)s is %(percent)s %% of a card and %(memory)s, and something else is ordered."
            )
            % {
                "name": profile.name,
                "percent": profile.compute_percent,
                "memory": mib_text(profile.memory_mib),
            },
            cure=_("Ask the operators to bring the commodity up to date."),
        )


def order_lines_check(
    *,
    tenant: Tenant,
    user_id: int,
    lines: Sequence[OrderedWork],
    run_timeout_s: int | None,
) -> None:
    """Refuse an application whose lines could never run, or would be more together than the
    applicant may hold. Raises what `order_row` raises, and QuotaExceeded."""
    asked: Counter[str] = Counter()
    for ordered in lines:
        row = order_row(tenant=tenant, user_id=user_id, ordered=ordered, run_timeout_s=run_timeout_s)
        asked.update(asked_of(row))
    limits_check(tenant, user_id, asked)
