"""Submit work in the browser: the form, what it would get while it is being filled in, and the submission."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.module_loading import import_string
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.fleet.mig_profiles import mig_profiles
from apps.fleet.selectors import spec_list
from apps.identity.pages.access import cleaned, go, page, show
from apps.identity.pages.requests import TenantRequest
from apps.kernel.errors import WeirError
from apps.scheduling.engine.model.types import QueueState
from apps.scheduling.forms.again import AgainForm, asked_again, left_out
from apps.scheduling.forms.submit import SubmitForm
from apps.scheduling.models import Queue, Workload
from apps.scheduling.selectors.entitlements.hourly_price import hourly_price
from apps.scheduling.selectors.entitlements.resource_tickets import queue_list_of
from apps.scheduling.selectors.workloads import environment_list, workload_get
from apps.scheduling.services.cycle.start_estimates import workload_dry_run
from apps.scheduling.services.workloads.arrays import work_submit

SECTIONS = (
    (gettext_lazy("What runs"), ("name", "kind", "purpose", "command", "array", "secrets")),
    ("", ("web",)),
    (
        gettext_lazy("How much, of each share"),
        (
            "environment",
            "spec",
            "mig_profile",
            "compute_percent",
            "memory_mib",
            "shares",
            "shares_per_replica",
            "min_shares",
            "scratch_disk_mib",
        ),
    ),
    ("", ("whole_cards", "distinct_devices", "single_node")),
    (
        gettext_lazy("When and in which order"),
        (
            "queue",
            "business_system",
            "priority",
            "run_minutes",
            "earliest_start_at",
            "deadline_at",
            "placing",
            "checkpoint_signal",
            "signal",
        ),
    ),
    (gettext_lazy("After other work"), ("after_ok", "after_any", "after", "after_not_ok")),
    ("", ("image", "volumes", "assets", "outputs", "requirements")),
    ("", ("urgent", "preemptible", "oversubscribe", "requeue_on_loss", "wait_for_quota")),
)


def _form(request: TenantRequest, *args: Any, **kwargs: Any) -> SubmitForm:
    open_ = [
        row
        for row in queue_list_of(request.entered_tenant, request.actor.user_id)
        if row.state in (QueueState.UP, QueueState.DOWN)
    ]
    open_.sort(key=lambda row: not row.is_default)
    queues = [(row.code, _queue_label(row)) for row in open_]
    specs = [(row.code, str(row)) for row in spec_list().filter(is_enabled=True)]
    environments = [(str(row.uid), row.name) for row in environment_list(request.entered_tenant)]
    profiles = {one.name: one.text for one in mig_profiles()}
    systems = import_string(settings.WEIR_WORK_SYSTEMS)(actor=request.actor)
    return SubmitForm(
        *args,
        queues=queues,
        specs=specs,
        mig_profiles=list(profiles.items()),
        environments=environments,
        systems=systems,
        **kwargs,
    )


def _queue_label(queue: Queue) -> str:
    """Its name in the reader's language, its code, and its state where it starts nothing."""
    name = queue.name_zh if (get_language() or "").startswith("zh") else queue.name_en
    state = "" if queue.state == QueueState.UP else f" ({queue.get_state_display()})"
    return f"{name} · {queue.code}{state}"


@page("resources.operate")
def submit(request: TenantRequest) -> HttpResponse:
    """A form for work that no order stands behind (ELA-501, ELA-503)."""
    tenant = request.entered_tenant
    if request.method == "POST":
        form = _form(request, request.POST)
        asked = form.asked(cleaned(form))
        row = work_submit(actor=request.actor, tenant=tenant, asked=asked)
        messages.success(request, _("%(no)s is submitted.") % {"no": row.no})
        return go(request, "workloads:workload", row.uid)
    again = _again(request)
    form = _form(request, initial=asked_again(again) if again else None)
    parts = [(title, [form[name] for name in names if name in form.fields]) for title, names in SECTIONS]
    context = {"parts": parts, "again": again, "left_out": left_out(again) if again else []}
    return show(request, "scheduling/submit", context)


def _again(request: TenantRequest) -> Workload | None:
    """The work that is to be asked for once more, if one is named that the reader reaches."""
    uid = cleaned(AgainForm(request.GET))["again"]
    return workload_get(request.entered_tenant, uid, actor=request.actor) if uid else None


@require_POST
@page("resources.operate")
def dry_run(request: TenantRequest) -> HttpResponse:
    """When the work as it stands in the form would start, and with how much it could start now."""
    tenant = request.entered_tenant
    try:
        # Whatever it is called and runs: a form that is begun tells already when.
        given = {name: value for name, value in request.POST.items() if value}
        form = _form(request, {"name": "…", "command": "true", **given})
        asked = form.asked(cleaned(form))
        row, found, now = workload_dry_run(actor=request.actor, tenant=tenant, asked=asked)
        hourly = hourly_price(row)
        most = hourly * row.run_timeout_s / 3600 if hourly is not None and row.run_timeout_s else None
        context = {"row": row, "found": found, "now": now, "hourly": hourly, "most": most}
    except WeirError as error:
        context = {"error": error}
    return render(request, "scheduling/_dry_run.html", context)
