"""Approvals: the inbox, one task with its decision, urging."""

from collections.abc import Sequence
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.urls import get_script_prefix, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from apps.approvals.forms import DecisionForm, InboxForm, TogetherForm
from apps.approvals.progress import runs_of
from apps.approvals.selectors import may_decide, task_get, task_list
from apps.approvals.services import Decided, task_decide, task_urge, tasks_decide
from apps.approvals.states import DecisionKind, InstanceState, TaskState
from apps.identity.pages.access import cleaned, go, page, paged, show
from apps.identity.pages.requests import PortalRequest, TenantRequest
from apps.orgs.selectors.business_systems import progress_get_across
from apps.orgs.services.progress import KIND as PROGRESS

_TOLD = {
    DecisionKind.APPROVE: gettext_lazy("Approved: %(numbers)s"),
    DecisionKind.REFUSE: gettext_lazy("Refused: %(numbers)s"),
    DecisionKind.SEND_BACK: gettext_lazy("Sent back: %(numbers)s"),
}


@page()
def inbox(request: TenantRequest) -> HttpResponse:
    """What waits for the reader's decision, and what he decided (PLAT-TODO-1, -2, -6, -7)."""
    chosen = cleaned(InboxForm(request.GET))
    rows = paged(request, task_list(actor=request.actor, **chosen))
    waiting = task_list(actor=request.actor).count()
    context = {"rows": rows, "chosen": chosen, "waiting": waiting, "states": InstanceState.choices}
    context["may_decide"] = request.actor.may("approvals.decide") and chosen["tab"] != "done"
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
        "runs": runs_of(row.instance.subject_uid),
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
    decided_tell(request, given["decision"], [Decided(row.instance.subject_no)])
    return go(request, _inbox_url())


@require_POST
@page("approvals.decide")
def decide_together(request: TenantRequest) -> HttpResponse:
    """Decide all that was ticked alike, each by itself (PLAT-TODO-5)."""
    given = cleaned(TogetherForm(request.POST))
    decided = tasks_decide(
        actor=request.actor,
        task_uids=given["chosen"],
        decision=given["decision"],
        comment=given["comment"],
    )
    decided_tell(request, given["decision"], decided)
    return go(request, "approvals:inbox")


def decided_tell(request: PortalRequest, decision: str, decided: Sequence[Decided]) -> None:
    """Say what was decided, by its numbers, and of each that was not the reason."""
    if done := ", ".join(one.no for one in decided if one.problem is None):
        # What was refused is no success: green is for what goes on.
        level = messages.SUCCESS if decision == DecisionKind.APPROVE else messages.INFO
        messages.add_message(request, level, _TOLD[DecisionKind(decision)] % {"numbers": done})
    for one in decided:
        if one.problem is not None:
            words = {"no": one.no, "reason": one.problem.message}
            messages.warning(request, _("Not decided: %(no)s. %(reason)s") % words)


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
