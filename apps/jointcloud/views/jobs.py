"""The pages of jobs over several centres: a tenant's own, and for operators all tenants'."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from apps.centers.errors import CenterNonsense, CenterSaysNo, CenterSilent
from apps.centers.selectors import center_names, centers_sampled, specs_plain
from apps.centers.services.abilities import centers_telling_logs
from apps.identity.pages.access import cleaned, go, page, show
from apps.identity.pages.lists.declared import Column, PageList, ranked
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.requests import PortalRequest
from apps.jointcloud.forms import JobChangeForm, JobForm, JobsForm
from apps.jointcloud.job_text import decision_text, reasons_text, state_text
from apps.jointcloud.models import Job
from apps.jointcloud.selectors.costs import job_cost
from apps.jointcloud.selectors.jobs import (
    job_decisions,
    job_get,
    job_get_across,
    job_list,
    job_list_across,
    job_tasks,
    replica_get,
)
from apps.jointcloud.selectors.settings import settings_now
from apps.jointcloud.services.changes import job_change, job_delete
from apps.jointcloud.services.following import job_stop
from apps.jointcloud.services.forgetting import is_over, is_settled
from apps.jointcloud.services.logs import replica_log
from apps.jointcloud.services.submission import job_submit
from apps.jointcloud.states import OPEN, WorkState
from apps.jointcloud.text import cause_text
from apps.kernel.errors import InvalidInput, NotFound
from apps.scheduling.permissions import ResourcePermission as P

JOBS = PageList(
    Column("job", gettext_lazy("Job"), sort="name", value="name"),
    Column("state", gettext_lazy("State"), sort=ranked("state", WorkState.values), value="get_state_display"),
    Column("tenant", gettext_lazy("Tenant"), sort="tenant__name", value="tenant.name", is_extra=True),
    Column(
        "person",
        gettext_lazy("Submitted by"),
        sort="submitted_by__display_name",
        value="submitted_by.display_name",
    ),
    Column("submitted", gettext_lazy("Submitted"), sort="created_at", value="created_at"),
    Column("ended", gettext_lazy("Ended"), sort="ended_at", value="ended_at"),
)
_TASKS_MOST = 10


@page(P.VIEW, plane="both")
def jobs(request: PortalRequest) -> HttpResponseBase:
    """The jobs, newest first."""
    chosen = cleaned(JobsForm(request.GET))
    tenant = request.entered_tenant
    rows = job_list_across(**chosen) if tenant is None else job_list(tenant, actor=request.actor, **chosen)
    return show_list(request, "jointcloud/jobs", JOBS, rows, {"chosen": chosen, "states": WorkState.choices})


@page(P.VIEW, plane="both")
def job(request: PortalRequest, job_id: str) -> HttpResponse:
    """One job: its state and why, then its tasks, where their replicas are, and why there."""
    row = _row(request, job_id)
    tasks, names = job_tasks(row), center_names()
    for task in tasks:
        task.waits_text = reasons_text(task.waits_for, names)  # type: ignore[attr-defined]
        task.data_said = ", ".join(map(str, task.data.all()))  # type: ignore[attr-defined]
        task.missing = task.replicas - len(task.current)  # type: ignore[attr-defined]
        for attempt in task.current:  # type: ignore[attr-defined]
            attempt.told = cause_text(attempt.reason)
    codes = {attempt.ai_center_id for task in tasks for attempt in task.current}  # type: ignore[attr-defined]
    decisions = job_decisions(row, 50)
    for each in decisions:
        each.text = decision_text(each, names)  # type: ignore[attr-defined]
    ended = is_over(row)
    context = {
        "job": row,
        "reason": state_text(row, tasks, names),
        "tasks": tasks,
        "decisions": decisions,
        "is_open": row.state in OPEN,
        "is_over": ended,
        "is_settled": ended and is_settled(row),
        "telling": centers_telling_logs(codes),
        "cost": job_cost(row, timezone.now()),
    }
    return show(request, "jointcloud/job", context)


@page(P.VIEW, plane="both")
def log(request: PortalRequest, job_id: str, task: int, replica: int) -> HttpResponse:
    """What a replica has printed, the first MiB of it, or why it is not told."""
    row = _row(request, job_id)
    attempt = replica_get(row, task, replica)
    context: dict[str, Any] = {"job": row, "attempt": attempt, "task": task, "replica": replica}
    try:
        context["part"] = replica_log(attempt)
    except (NotFound, CenterSaysNo, CenterSilent, CenterNonsense) as error:
        context["untold"] = error
    return show(request, "jointcloud/job_log", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@page(P.OPERATE)
def submit(request: PortalRequest) -> HttpResponse:
    """Submit a job: a form for it and each of its tasks."""
    told = request.POST if request.method == "POST" else request.GET
    text = told.get("more") or told.get("tasks", "1")
    count = min(int(text), _TASKS_MOST) if text.isascii() and text.isdigit() and len(text) < 4 else 1
    count = max(count, 1)
    specs, centers = specs_plain(), centers_sampled(request.actor.tenant)
    settings = settings_now()
    if request.method != "POST":
        initial = request.GET.dict() | {"center_ids": request.GET.getlist("center_ids")}
        form = JobForm(initial=initial, count=count, specs=specs, centers=centers, settings=settings)
        more = count + 1 if count < _TASKS_MOST else None
        return show(request, "jointcloud/submit", {"form": form, "more": more})
    form = JobForm(request.POST, count=count, specs=specs, centers=centers, settings=settings)
    assert request.entered_tenant is not None
    asked = form.asked(cleaned(form))
    try:
        row = job_submit(actor=request.actor, tenant=request.entered_tenant, asked=asked)
    except InvalidInput as error:
        # What is wrong is said at its field.
        error.inputs |= form.inputs_of(error.fields)
        raise
    messages.success(request, _("%(job)s is submitted.") % {"job": row.name})
    return go(request, "jointcloud:job", row.job_id)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@page(P.OPERATE, plane="both")
def change(request: PortalRequest, job_id: str) -> HttpResponse:
    """Change a job that has not ended."""
    row = _row(request, job_id)
    deadlines = row.tasks.values_list("deadline_at", flat=True)
    known: dict[str, Any] = {"job": row, "deadlines": deadlines, "settings": settings_now()}
    if request.method != "POST":
        return show(request, "jointcloud/job_change", {"job": row, "form": JobChangeForm(**known)})
    form = JobChangeForm(request.POST, **known)
    given = cleaned(form)
    changes, revision = form.changes(given), given["revision"]
    try:
        job_change(actor=request.actor, tenant=row.tenant, job_id=job_id, changes=changes, revision=revision)
    except InvalidInput as error:
        error.inputs |= {"weights": form.weight_fields[0].name}
        raise
    messages.success(request, _("%(job)s is changed.") % {"job": given["name"]})
    return go(request, "jointcloud:job", job_id)


@require_POST
@page(P.OPERATE, plane="both")
def delete(request: PortalRequest, job_id: str) -> HttpResponse:
    """Delete a job that is over."""
    row = _row(request, job_id)
    job_delete(actor=request.actor, tenant=row.tenant, job_id=job_id)
    messages.success(request, _("%(job)s is deleted.") % {"job": row.name})
    return go(request, "jointcloud:jobs")


@require_POST
@page(P.OPERATE, plane="both")
def stop(request: PortalRequest, job_id: str) -> HttpResponse:
    """Stop a job."""
    row = _row(request, job_id)
    job_stop(actor=request.actor, tenant=row.tenant, job_id=job_id)
    messages.success(request, _("%(job)s is asked to stop.") % {"job": row.name})
    return go(request, "jointcloud:job", job_id)


def _row(request: PortalRequest, job_id: str) -> Job:
    if request.entered_tenant is not None:
        return job_get(request.entered_tenant, job_id, actor=request.actor)
    return job_get_across(job_id)
