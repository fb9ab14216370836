"""The member's home: what waits, what runs, what it costs, what was asked lately; and what pages are made of."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.approvals.selectors import task_list
from apps.billing.charts import trend_option
from apps.billing.selectors.accounts import account_overview
from apps.billing.selectors.costs import cost_by_day, cost_total, own_cost_total
from apps.console.centre.forms import CentreForm
from apps.console.centre.views import MANAGE
from apps.console.labels import COLOUR_MEANINGS, STATE_COLOURS
from apps.identity.pages.access import operator_page, page, paged, show
from apps.identity.pages.requests import PortalRequest, TenantRequest
from apps.kernel.actor import Actor
from apps.kernel.reach import Records
from apps.orders.selectors import form_list
from apps.scheduling.selectors.usage.model_usage import quota_list
from apps.scheduling.selectors.workloads import workload_list
from apps.scheduling.states import FINAL_STATES
from apps.tenancy.models import Tenant

SHOWN = 5
_ICONS = settings.BASE_DIR / "static" / "src" / "icons.txt"


@page()
def home(request: TenantRequest) -> HttpResponse:
    """The first page after signing in (PLAT-OVW): each card as far as the active role may see."""
    actor, tenant = request.actor, request.entered_tenant
    context: dict[str, Any] = {"topics": _topics(request), "live": _topics(request)}
    if actor.may("approvals.decide"):
        tasks = task_list(actor=actor)
        context |= {"tasks": tasks[:SHOWN], "task_count": tasks.count()}
    if actor.may("resources.view"):
        running = workload_list(tenant, actor=actor).exclude(state__in=FINAL_STATES)
        context |= {"resources": running[:SHOWN], "resource_count": running.count()}
        context["quotas"] = quota_list(tenant)
        if actor.kind == "user":
            context["own_cost"] = own_cost_total(actor=actor, tenant=tenant, since=_month_begin(tenant))
    if actor.may("orders.view"):
        context["forms"] = form_list(actor=actor)[:SHOWN]
        context["form_count"] = form_list(actor=actor, tab="in_progress").count()
    if actor.may("billing.view") and actor.reaches_all(Records.COSTS):
        context["overview"] = account_overview(tenant=tenant)
    context["next_steps"] = next_steps(actor)
    return show(request, "console/home", context)


@dataclass(frozen=True, slots=True)
class NextStep:
    """Something that a member can begin: icon, name, what comes of it, and where."""

    icon: str
    name: str
    text: str
    url: str


def next_steps(actor: Actor) -> list[NextStep]:
    """What the active role can begin, in the order of an engineer's first day."""
    found = []
    if actor.may("orgs.manage"):
        people = _("By a link or by mail, each with a role: one who applies, one who decides, one who pays.")
        systems = _(
            "What work is done for, and who takes part in it: applications and costs are told apart by it."
        )
        found += [
            NextStep("user-plus", _("Invite your people"), people, reverse("people:new")),
            NextStep("sitemap", _("Business systems"), systems, reverse("orgs:organizations")),
        ]
    if actor.may("orders.apply"):
        order = _("Say how much of it and for how long, see its price, and apply.")
        found.append(NextStep("building-store", _("Order a service"), order, reverse("catalog:commodities")))
    if actor.may("resources.operate"):
        environments = _("A notebook or a terminal on a share of a device, in the browser.")
        work = _("A command, a script or an image, with its data; it says first when it would start.")
        found += [
            NextStep("flask", _("Open an environment"), environments, reverse("workloads:environments")),
            NextStep("rocket", _("Submit work"), work, reverse("workloads:submit")),
        ]
    if actor.may("storage.use"):
        files = _("Data sets, code and models: they are mounted where your work runs.")
        found.append(NextStep("upload", _("Upload files"), files, reverse("files:volumes")))
    if actor.kind == "user":
        client = _("One line installs it; from then on the pool is a command and a Python module away.")
        found.append(NextStep("terminal-2", _("Command line and Python"), client, reverse("client:install")))
    return found


def _topics(request: TenantRequest) -> list[str]:
    schema = request.entered_tenant.schema_name
    topics = [f"user.{request.actor.user_id}", f"tenant.{schema}.resources"]
    return [*topics, f"tenant.{schema}.billing"] if request.actor.may("billing.view") else topics


@page("billing.view")
def trend(request: TenantRequest) -> HttpResponse:
    """Cost by day of the present month."""
    tenant = request.entered_tenant
    since = _month_begin(tenant)
    days = cost_by_day(actor=request.actor, tenant=tenant, since=since)
    total = cost_total(actor=request.actor, tenant=tenant, since=since)
    context = {"option": trend_option(days), "total": total, "days": days}
    return render(request, "console/_trend.html", context)


def _month_begin(tenant: Tenant) -> datetime:
    now = timezone.localtime(timezone.now(), ZoneInfo(tenant.timezone))
    return now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


@require_safe
@operator_page(MANAGE)
def components(request: PortalRequest) -> HttpResponse:
    """What pages are put together from, live: for who builds or checks them (docs/design.md)."""
    colours = [
        {"code": code, "meaning": meaning, "states": sorted(s for s, c in STATE_COLOURS.items() if c == code)}
        for code, meaning in COLOUR_MEANINGS.items()
    ]
    context = {
        "colours": colours,
        "gaps": ["gap-1", "gap-2", "gap-3", "gap-4", "gap-5"],
        "icons": _ICONS.read_text(encoding="utf-8").split(),
        "form": CentreForm(),
        "page": paged(request, range(1, 48), per_page=3),
    }
    return show(request, "console/components", context)
