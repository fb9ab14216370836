"""Submit work in the browser: the form, what it would get while it is being filled in, and the submission."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.forms import BoundField
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.module_loading import import_string
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.fleet.mig_profiles import mig_profiles
from apps.fleet.selectors import spec_list
from apps.identity.pages.access import cleaned, go, page, show
from apps.identity.pages.picks import OFFERED, picks_shown
from apps.identity.pages.requests import TenantRequest
from apps.kernel.errors import WeirError
from apps.scheduling.engine.model.types import QueueState
from apps.scheduling.forms.again import AgainForm, asked_again, left_out
from apps.scheduling.forms.submit import SubmitForm
from apps.scheduling.models import Queue, Workload
from apps.scheduling.selectors.entitlements.hourly_price import hourly_price
from apps.scheduling.selectors.entitlements.resource_tickets import queue_list_of
from apps.scheduling.selectors.workloads import environment_list, work_picks, workload_get
from apps.scheduling.services.cycle.start_estimates import workload_dry_run
from apps.scheduling.services.workloads.arrays import work_submit


@dataclass(frozen=True, slots=True)
class Section:
    """Fields of the form that stand together; `is_rare`: folded, unless one of them says something."""

    title: Any
    names: tuple[str, ...]
    flags: tuple[str, ...] = ()
    is_rare: bool = False


SECTIONS = (
    Section(gettext_lazy("What runs"), ("name", "kind", "command", "image"), ("web",)),
    Section(
        gettext_lazy("How much, of each share"),
        ("environment", "spec", "mig_profile", "compute_percent", "memory_mib", "shares"),
        ("whole_cards",),
    ),
    Section(gettext_lazy("Where it waits and how long it runs"), ("queue", "run_minutes", "business_system")),
    Section(gettext_lazy("Its files"), ("volumes", "outputs")),
    Section(
        gettext_lazy("More that the program needs"),
        ("purpose", "array", "secrets", "assets", "requirements"),
        is_rare=True,
    ),
    Section(
        gettext_lazy("How its shares lie"),
        ("shares_per_replica", "min_shares", "scratch_disk_mib", "placing"),
        ("distinct_devices", "single_node", "oversubscribe"),
        is_rare=True,
    ),
    Section(
        gettext_lazy("Order and time"),
        ("priority", "earliest_start_at", "deadline_at"),
        ("urgent", "preemptible", "wait_for_quota"),
        is_rare=True,
    ),
    Section(
        gettext_lazy("After other work"), ("after_ok", "after_any", "after", "after_not_ok"), is_rare=True
    ),
    Section(
        gettext_lazy("When it is stopped or lost"),
        ("checkpoint_signal", "signal"),
        ("requeue_on_loss",),
        is_rare=True,
    ),
)


def _parts(form: SubmitForm) -> list[dict[str, Any]]:
    """The sections as the page shows them; one that is rare is open where it says what the form does not by itself."""
    parts = []
    for each in SECTIONS:
        fields, flags = (
            [form[name] for name in names if name in form.fields] for names in (each.names, each.flags)
        )
        parts.append(
            {
                "title": each.title,
                "fields": fields,
                "flags": flags,
                "is_rare": each.is_rare,
                "is_open": any(_says_something(field) for field in (*fields, *flags)),
            }
        )
    return parts


def _says_something(field: BoundField) -> bool:
    empty = field.field.empty_values
    value, usual = field.value(), field.field.initial
    return not (value in empty and usual in empty) and value is not False and value != usual


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
    found = asked_again(again, request.actor) if again else {}
    parts = _parts(_form(request, initial=found))
    context = {"parts": parts, "again": again, "left_out": left_out(again, found) if again else []}
    return show(request, "scheduling/submit", context)


def _again(request: TenantRequest) -> Workload | None:
    """The work that is to be asked for once more, if one is named that the reader reaches."""
    uid = cleaned(AgainForm(request.GET))["again"]
    return workload_get(request.entered_tenant, uid, actor=request.actor) if uid else None


@require_safe
@page("resources.operate")
def work_choices(request: TenantRequest) -> HttpResponse:
    """What a field of work offers: other work, which it is to run after."""
    tenant = request.entered_tenant
    return picks_shown(request, lambda words: work_picks(tenant, request.actor, words, OFFERED + 1))


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
