"""The operators' scheduling pages: queues, policy, who may what, start estimates, what-ifs."""

from functools import reduce
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_POST

from apps.identity.pages.access import cleaned, go, operator_page, paged, show
from apps.identity.pages.requests import PortalRequest
from apps.scheduling.forms.queues import DirectForm, NewQueueForm, PolicyForm, QueueForm, WhatIfForm
from apps.scheduling.models import Queue
from apps.scheduling.permissions import SchedulingPermission as P
from apps.scheduling.selectors.entitlements.resource_tickets import priority_list
from apps.scheduling.selectors.forecasts.what_if import what_if_get, what_if_list
from apps.scheduling.selectors.queues.queue_tree import Use, pool_room, queue_branch, queue_tree
from apps.scheduling.selectors.timeline import calibration, start_estimates_missed
from apps.scheduling.selectors.workloads import policy_get, queue_get, workload_list_across
from apps.scheduling.services.cycle.what_ifs import what_if_ask
from apps.scheduling.services.queues.queue_settings import (
    direct_commodity_set,
    policy_set,
    queue_change,
    queue_make,
)
from apps.scheduling.states import HOLDING_STATES, WhatIfState, WorkloadState
from apps.scheduling.text.direct_work import direct_said
from apps.scheduling.views.queues.policy_changes import changes_said, policy_history
from apps.scheduling.views.work.charts import calibration_options, what_if_options
from apps.tenancy.selectors import tenant_list

WAITING_SHOWN = 50
RUNNING_SHOWN = 20
LIVE = ["pool"]
POLICY_SECTIONS = (
    (
        gettext_noop("Order and place"),
        (
            "ordering",
            "placing",
            "has_backfill",
            "reserved_starts",
            "patience_s",
            "aging_s",
            "half_life_s",
            "ahead_s",
        ),
    ),
    (
        gettext_noop("Preemption and guarantees"),
        ("has_preemption", "fair_share_preempts", "has_reclaim", "grace_s", "min_run_s", "max_preemptions"),
    ),
    (
        gettext_noop("Elastic work and consolidation"),
        ("grows_elastic", "hysteresis_s", "consolidates", "max_moves"),
    ),
    (gettext_noop("How much at once"), ("max_open_per_user", "max_open_per_tenant")),
)


@operator_page(P.VIEW)
def queues(request: PortalRequest) -> HttpResponse:
    """The queues as a tree: use, guarantee, borrowed, waiting, states (PLAT-AICFG-23, ELA-1101)."""
    branches = queue_tree()
    percent, mib = pool_room()
    context = {
        "branches": branches,
        "total": reduce(Use.plus, (each.own for each in branches), Use()),
        "room_percent": percent,
        "room_mib": mib,
        "live": LIVE,
    }
    return show(request, "scheduling/queues", context)


@operator_page(P.VIEW, changes=P.MANAGE)
def queue(request: PortalRequest, code: str) -> HttpResponse:
    """One queue: what it may use, who may use it and when, and what waits in it."""
    row = queue_get(code)
    if request.method == "POST":
        queue_change(actor=request.actor, queue=row, **_settings(QueueForm(request.POST, queue=row)))
        messages.success(request, _("Queue %(code)s is changed; the next cycle follows it.") % {"code": row})
        return go(request, "scheduling_admin:queues")
    context = {
        "queue": row,
        "form": QueueForm(queue=row),
        "branch": queue_branch(row),
        **_queue_work(row),
        "may_manage": request.actor.may(P.MANAGE),
        "live": LIVE,
    }
    return show(request, "scheduling/queue", context)


def _queue_work(row: Queue) -> dict[str, object]:
    """What waits in the queue, in order, and what runs there, newest first; how much there is of each."""
    rows = workload_list_across().filter(queue=row)
    waiting = rows.filter(state=WorkloadState.PENDING)
    running = rows.filter(state__in=HOLDING_STATES)
    return {
        "waiting": waiting.order_by("position", "pk")[:WAITING_SHOWN],
        "waiting_count": waiting.count(),
        "running": running[:RUNNING_SHOWN],
        "running_count": running.count(),
    }


@operator_page(P.MANAGE)
def queue_new(request: PortalRequest) -> HttpResponse:
    """A new queue, anywhere in the tree."""
    if request.method == "POST":
        given = _settings(NewQueueForm(request.POST))
        named = {name: given["changes"].pop(name) for name in ("code", "name_en", "name_zh")}
        row = queue_make(actor=request.actor, **named, **given)
        messages.success(request, _("Queue %(code)s created.") % {"code": row})
        return go(request, "scheduling_admin:queues")
    return show(request, "scheduling/queue", {"queue": None, "form": NewQueueForm(), "may_manage": True})


def _settings(form: QueueForm) -> dict[str, Any]:
    changes = cleaned(form)
    tenants, windows, groups = (changes.pop(name) for name in ("tenants", "windows", "user_groups"))
    return {"changes": changes, "tenants": list(tenants), "windows": windows, "user_groups": list(groups)}


@operator_page(P.VIEW, changes=P.MANAGE)
def policy(request: PortalRequest) -> HttpResponse:
    """The global policy, and who changed it when (PLAT-AICFG-18)."""
    if request.method == "POST":
        policy_set(actor=request.actor, changes=cleaned(PolicyForm(request.POST)))
        messages.success(request, _("The scheduling policy is changed; the next cycle follows it."))
        return go(request, "scheduling_admin:policy")
    row = policy_get()
    form = PolicyForm(initial={name: getattr(row, name) for name in PolicyForm.base_fields})
    context = {
        "parts": [(_(title), [form[name] for name in names]) for title, names in POLICY_SECTIONS],
        "direct": DirectForm(initial={"commodity": row.direct_commodity_id}),
        "history": policy_history(),
        "may_manage": request.actor.may(P.MANAGE),
    }
    return show(request, "scheduling/policy", context)


@require_POST
@operator_page(P.MANAGE)
def policy_direct(request: PortalRequest) -> HttpResponse:
    """Say what work without an order is charged as."""
    commodity = cleaned(DirectForm(request.POST))["commodity"]
    direct_commodity_set(actor=request.actor, commodity=commodity)
    messages.success(request, direct_said(commodity))
    return go(request, "scheduling_admin:policy")


@operator_page(P.VIEW)
def priorities(request: PortalRequest) -> HttpResponse:
    """Who may ask for which priority (PLAT-AICFG-24)."""
    rows = paged(request, priority_list())
    return show(request, "scheduling/priorities", {"rows": rows, "may_manage": request.actor.may(P.MANAGE)})


@operator_page(P.VIEW)
def start_estimates(request: PortalRequest) -> HttpResponse:
    """Whether start estimates came true: share inside the interval, how far off, day by day."""
    found = calibration()
    context = {
        "found": found,
        "charts": SimpleNamespace(**calibration_options(found)),
        "missed": start_estimates_missed(),
    }
    return show(request, "scheduling/start_estimates", context)


@operator_page(P.VIEW, changes=P.MANAGE)
def what_ifs(request: PortalRequest) -> HttpResponse:
    """Settings tried on past submissions; a new try."""
    if request.method == "POST":
        given = WhatIfForm(request.POST)
        row = what_if_ask(actor=request.actor, **given.asked(cleaned(given)))
        return go(request, "scheduling_admin:what_if", row.uid)
    context = {
        "rows": paged(request, what_if_list()),
        "form": WhatIfForm(),
        "may_manage": request.actor.may(P.MANAGE),
        "live": ["what-ifs"],
    }
    return show(request, "scheduling/what_ifs", context)


@operator_page(P.VIEW)
def what_if(request: PortalRequest, uid: UUID) -> HttpResponse:
    """What came of a try: waiting, use, fairness and money, before and after."""
    row = what_if_get(uid)
    is_done = row.state == WhatIfState.DONE
    context = {
        "row": row,
        "changes": changes_said(row.changes),
        "tenants": _by_tenant(row.result) if is_done else [],
        "figures": row.result.get("figures", []) if is_done else [],
        "charts": SimpleNamespace(**what_if_options(row.result)) if is_done else None,
        "live": ["what-ifs"],
    }
    return show(request, "scheduling/what_if", context)


def _by_tenant(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The figures of each tenant, under the name that it has now."""
    names = dict(tenant_list().values_list("schema_name", "name"))
    return [each | {"name": names.get(each["tenant"], each["tenant"])} for each in result["tenants"]]
