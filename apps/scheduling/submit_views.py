"""Submit work in the browser: the form, what it would get while it is being filled in, and the submission."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from apps.fleet.selectors import spec_list
from apps.identity.pages import cleaned, go, page, show
from apps.kernel.errors import WeirError
from apps.scheduling.engine.types import QueueState
from apps.scheduling.forms import SubmitForm
from apps.scheduling.selectors import queue_list
from apps.scheduling.services.direct import workload_request
from apps.scheduling.services.promises import workload_dry_run
from apps.tenancy.models import Tenant

PARTS = (
    (gettext_lazy("What runs"), ("name", "kind", "purpose", "command")),
    (
        gettext_lazy("How much, of each share"),
        ("spec", "compute_percent", "memory_mib", "shares", "min_shares"),
    ),
    ("", ("whole_cards", "distinct_devices", "single_node")),
    (
        gettext_lazy("When and in which order"),
        ("queue", "priority", "run_minutes", "earliest_start_at", "deadline_at", "placing"),
    ),
    ("", ("urgent", "preemptible", "requeue_on_loss", "wait_for_quota")),
)


def _form(tenant: Tenant, *args: Any) -> SubmitForm:
    queues = [
        (row.code, f"{row.code}" if row.state == QueueState.UP else f"{row.code} ({row.get_state_display()})")
        for row in queue_list()
        if row.state in (QueueState.UP, QueueState.DOWN) and _admits(row, tenant)
    ]
    specs = [(row.code, str(row)) for row in spec_list().filter(is_enabled=True)]
    return SubmitForm(*args, queues=sorted(queues, key=lambda each: each[0] != "default"), specs=specs)


def _admits(queue: Any, tenant: Tenant) -> bool:
    admitted = {each.tenant_id for each in queue.admitted.all()}
    return not admitted or tenant.pk in admitted


@page("resources.operate")
def submit(request: HttpRequest) -> HttpResponse:
    """A form for work that no order stands behind (ELA-501, ELA-503)."""
    tenant = request.entered_tenant
    if request.method == "POST":
        form = _form(tenant, request.POST)
        row = workload_request(actor=request.actor, tenant=tenant, asked=form.asked(cleaned(form)))
        messages.success(request, _("%(no)s waits for its turn.") % {"no": row.no})
        return go(request, "scheduling:resource", row.uid)
    form = _form(tenant)
    parts = [(title, [form[name] for name in names]) for title, names in PARTS]
    return show(request, "scheduling/submit", {"parts": parts})


@require_POST
@page("resources.operate")
def dry_run(request: HttpRequest) -> HttpResponse:
    """When the work as it stands in the form would start, and with how much it could start now."""
    tenant = request.entered_tenant
    try:
        # Whatever it is called and runs: a form that is begun tells already when.
        given = {name: value for name, value in request.POST.items() if value}
        form = _form(tenant, {"name": "…", "command": "true", **given})
        row, found, now = workload_dry_run(
            actor=request.actor, tenant=tenant, asked=form.asked(cleaned(form))
        )
        context = {"row": row, "found": found, "now": now}
    except WeirError as error:
        context = {"error": error}
    return render(request, "scheduling/_dry_run.html", context)
