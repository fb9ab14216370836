"""Approvals: the inbox, one task with its decision, urging."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.urls import get_script_prefix, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.approvals.forms import DecisionForm, InboxForm
from apps.approvals.selectors import may_decide, process_list, task_get, task_list
from apps.approvals.services import task_decide, task_urge
from apps.approvals.states import DecisionKind, InstanceState, TaskState
from apps.identity.pages.access import cleaned, go, page, paged, show
from apps.identity.pages.requests import TenantRequest
from apps.orgs.selectors.business_systems import progress_get_across
from apps.orgs.services.progress import KIND as PROGRESS


@page()
def inbox(request: TenantRequest) -> HttpResponse:
    """What waits for the reader's decision, and what he decided (PLAT-TODO-1, -2, -6, -7)."""
    chosen = cleaned(InboxForm(request.GET))
    rows = paged(request, task_list(actor=request.actor, **chosen))
    waiting = task_list(actor=request.actor).count()
    context = {"rows": rows, "chosen": chosen, "waiting": waiting, "states": InstanceState.choices}
    return show(request, "approvals/inbox", context)


@page()
def task(request: TenantRequest, uid: UUID) -> HttpResponse:
    """One task: what is asked, what was decided so far, and the decision (PLAT-TODO-4, PLAT-TODO-5)."""
    actor = request.actor
    row = task_get(actor=actor, uid=uid)
    labels = dict(DecisionKind.choices)
    subject = f"{row.instance.subject_kind}.{row.instance.subject_uid}"
    context = {
        "task": row,
        "processes": process_list(row.instance.subject_uid),
        "decisions": [(code, labels[code]) for code in row.decisions] if may_decide(row, actor) else [],
        "may_urge": row.state == TaskState.WAITING and actor.user_id == row.instance.applicant_id,
        "subject": subject,
        "live": [subject],
    }
    if row.instance.subject_kind == PROGRESS:
        context["report"] = progress_get_across(row.instance.subject_uid)
    return show(request, "approvals/task", context)


@require_POST
@page("approvals.decide")
def decide(request: TenantRequest, uid: UUID) -> HttpResponse:
    given = cleaned(DecisionForm(request.POST))
    row = task_decide(actor=request.actor, task_uid=uid, **given)
    messages.success(request, _("Your decision on %(no)s is kept.") % {"no": row.instance.subject_no})
    return go(request, _inbox_url())


def _inbox_url() -> str:
    """Where the next decision waits: for an operator, who is under `/t/<schema>/`, on the operator pages."""
    entered = get_script_prefix()
    if entered == "/":
        return reverse("approvals:inbox")
    return "/" + reverse("operator:inbox", urlconf="portal.urls_provider").removeprefix(entered)


@require_POST
@page()
def urge(request: TenantRequest, uid: UUID) -> HttpResponse:
    row = task_urge(actor=request.actor, task_uid=uid)
    messages.success(request, _("Those who decide on %(no)s are urged.") % {"no": row.instance.subject_no})
    return go(request, "approvals:task", row.uid)
