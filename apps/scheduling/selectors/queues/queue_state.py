"""The queues that stand, in the words of their file (ELA-1701)."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from django.db.models import Count

from apps.fleet.selectors import group_list
from apps.scheduling.engine.model.types import Ordering
from apps.scheduling.models import Queue, SchedulingPolicy, TenantShare, Workload
from apps.scheduling.queue_config.schema import NEVER, PREEMPTS, cards_of, queue_file_text
from apps.scheduling.queue_config.time_windows import clock_of
from apps.scheduling.queue_config.volcano import NVIDIA, manifests_text, state_of
from apps.scheduling.selectors.workloads import policy_get, queue_list
from apps.scheduling.states import FINAL_STATES

FAIR = frozenset({Ordering.FAIR_SHARE.value, Ordering.DOMINANT_SHARE.value})
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True)
class State:
    """What a file would have to say for nothing to change: queues by code, in the order in which they are served."""

    queues: Mapping[str, Mapping[str, Any]]
    fair_share: Mapping[str, Any]

    @property
    def text(self) -> str:
        return queue_file_text(list(self.queues.values()), self.fair_share)

    @property
    def digest(self) -> str:
        """16 hexadecimal digits of the text's SHA-256: a change of any queue or of the fair share gives other ones."""
        return sha256(self.text.encode()).hexdigest()[:16]


def queue_state() -> State:
    """The queues and the fair share as they stand now."""
    rows = queue_list().prefetch_related("windows", "user_groups")
    return State({row.code: _queue(row) for row in rows}, fair_share_of(policy_get()))


def volcano_text(*, resource: str = NVIDIA) -> str:
    """The queues as Volcano's, each with the state that is observed of it (ELA-1703, ELA-1704)."""
    state = queue_state()
    held = Workload.objects.across().exclude(state__in=FINAL_STATES)
    counts = dict(held.order_by().values_list("queue__code").annotate(count=Count("pk")))
    states = dict(Queue.objects.filter(retired_at=None).values_list("code", "state"))
    told = [(queue, state_of(states[code], counts.get(code, 0))) for code, queue in state.queues.items()]
    return manifests_text(told, list(group_list().values_list("code", flat=True)), resource)


def fair_share_of(policy: SchedulingPolicy) -> dict[str, Any]:
    """Whether tenants are served by their shares where a queue does not say otherwise (ELA-1009)."""
    shares = (
        TenantShare.objects.across()
        .order_by("tenant__schema_name")
        .values_list("tenant__schema_name", "share")
    )
    return {
        "enabled": policy.ordering in FAIR,
        "preemptionPolicy": _preemption(policy.fair_share_preempts),
        "shares": dict(shares),
    }


def _preemption(preempts: bool) -> str:
    return PREEMPTS if preempts else NEVER


def _queue(row: Queue) -> dict[str, Any]:
    return {
        "name": row.code,
        "weight": row.weight,
        "maxCapacity": cards_of(row.max_compute_percent) or None,
        "guaranteedCapacity": cards_of(row.guaranteed_compute_percent),
        "preemptionPolicy": _preemption(row.preempts),
        "onlyBorrows": row.max_compute_percent == 0,
        "parent": row.parent.code if row.parent else None,
        "priority": row.priority,
        "ordering": row.ordering,
        "placing": row.placing,
        "resourceGroup": row.resource_group,
        "borrowCapacity": cards_of(row.borrow_compute_percent),
        "lendCapacity": cards_of(row.lend_compute_percent),
        "maxMemoryMiB": row.max_memory_mib,
        "guaranteedMemoryMiB": row.guaranteed_memory_mib,
        "borrowMemoryMiB": row.borrow_memory_mib,
        "lendMemoryMiB": row.lend_memory_mib,
        "reclaims": row.reclaims,
        "default": row.is_default,
        "maxRunSeconds": row.max_run_s,
        "oversubscribe": row.sharing_text,
        "titleEn": row.name_en,
        "titleZh": row.name_zh,
        "tenants": sorted(each.tenant.schema_name for each in row.admitted.all()),
        "windows": [_window(*span) for span in sorted(
            (each.weekday, each.from_minute, each.to_minute) for each in row.windows.all())],
        "userGroups": sorted(each.code for each in row.user_groups.all()),
    }  # fmt: skip


def _window(weekday: int, begin: int, end: int) -> str:
    """In English whoever asks: a file is read anywhere."""
    return f"{_DAYS[weekday]} {clock_of(begin)}-{clock_of(end)}"
