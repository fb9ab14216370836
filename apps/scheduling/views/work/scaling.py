"""The scaling rules of a queue, and of one's own work: what is set, add one, remove one (ELA-907)."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.identity.pages.access import cleaned, go, operator_page, page
from apps.identity.pages.requests import PortalRequest, TenantRequest
from apps.kernel.errors import NotFound
from apps.scheduling.forms.scaling import FORMS
from apps.scheduling.models import ScalingRule
from apps.scheduling.permissions import ResourcePermission, SchedulingPermission
from apps.scheduling.selectors.scaling import rules_of_queue, rules_of_work
from apps.scheduling.selectors.workloads import queue_get, workload_get
from apps.scheduling.services.scaling import (
    queue_rule_make,
    queue_rule_remove,
    work_rule_make,
    work_rule_remove,
)
from apps.scheduling.states import ScalingBy
from apps.scheduling.text.scaling import rule_sentence


def _panel(
    request: PortalRequest, rules: Iterable[ScalingRule], *, act: str, may: bool, is_own: bool
) -> HttpResponse:
    """Rules with their sentences, and a form for each kind. `act`: where the forms go; `is_own`: of one's own work."""
    context = {
        "rules": [(rule, rule_sentence(rule), f"{act}{rule.uid}/remove/") for rule in rules],
        "forms": [(by, ScalingBy(by).label, form()) for by, form in FORMS.items()],
        "act": act,
        "may": may,
        "is_own": is_own,
    }
    return render(request, "scheduling/_scaling.html", context)


def _given(request: PortalRequest) -> dict[str, Any]:
    """What the services take, of the form that was filled in."""
    by = request.POST.get("by", "")
    if by not in FORMS:
        raise NotFound()
    return {"by": by, **cleaned(FORMS[by](request.POST))}


@operator_page(SchedulingPermission.VIEW, changes=SchedulingPermission.MANAGE)
def queue_rules(request: PortalRequest, code: str) -> HttpResponse:
    """The rules of a queue; one more."""
    row = queue_get(code)
    if request.method == "POST":
        queue_rule_make(actor=request.actor, queue=row, given=_given(request))
        messages.success(request, _("The rule is set; elastic work follows it."))
        return go(request, "scheduling_admin:queue", row.code)
    return _panel(
        request,
        rules_of_queue(row),
        act=reverse("scheduling_admin:queue_rules", args=[row.code]),
        may=request.actor.may(SchedulingPermission.MANAGE),
        is_own=False,
    )


@require_POST
@operator_page(SchedulingPermission.MANAGE)
def queue_rule_drop(request: PortalRequest, code: str, uid: UUID) -> HttpResponse:
    queue_rule_remove(actor=request.actor, queue=queue_get(code), uid=uid)
    messages.success(request, _("The rule is removed."))
    return go(request, "scheduling_admin:queue", code)


@page("resources.view", changes="resources.operate")
def work_rules(request: TenantRequest, uid: UUID) -> HttpResponse:
    """The rules of one's own work; one more."""
    row = workload_get(request.entered_tenant, uid, actor=request.actor)
    if request.method == "POST":
        work_rule_make(actor=request.actor, tenant=row.tenant, workload_uid=row.uid, given=_given(request))
        messages.success(request, _("The rule is set; elastic work follows it."))
        return go(request, "workloads:workload", row.uid)
    may = request.actor.may(ResourcePermission.OPERATE) and not row.is_final
    return _panel(
        request,
        rules_of_work(row),
        act=reverse("workloads:rules", args=[row.uid]),
        may=may,
        is_own=True,
    )


@require_POST
@page("resources.operate")
def work_rule_drop(request: TenantRequest, uid: UUID, rule: UUID) -> HttpResponse:
    row = workload_get(request.entered_tenant, uid, actor=request.actor)
    work_rule_remove(actor=request.actor, tenant=row.tenant, workload_uid=row.uid, uid=rule)
    messages.success(request, _("The rule is removed."))
    return go(request, "workloads:workload", row.uid)
