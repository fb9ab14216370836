"""The operators' pages of the centres, the network specifications, and who offers which."""

from collections.abc import Iterable

from django.http import HttpResponse, HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.centers.adapters.kinds import kinds
from apps.centers.forms import CentersForm, OfferForm, SpecForm, SpecsForm, price_shown
from apps.centers.labels import (
    accelerators_said,
    amount_said,
    has_secrets,
    kind_said,
    quantities_said,
    sample_rows,
    sharing_said,
    tenants_said,
)
from apps.centers.models import Center, ResourceSpec, SpecOffer
from apps.centers.permissions import CentersPermission as P
from apps.centers.selectors import (
    center_get,
    center_list,
    center_offers,
    center_tenants,
    offer_list,
    remote_task_count,
    remote_task_list,
    resource_spec_get,
    resource_spec_list,
)
from apps.centers.states import CenterStatus, ServiceType
from apps.identity.pages.access import cleaned, operator_page, show
from apps.identity.pages.lists.declared import Column, PageList, ranked
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.requests import PortalRequest

_BEST_FIRST = (CenterStatus.AVAILABLE, CenterStatus.UNKNOWN, CenterStatus.UNAVAILABLE)
_TASKS_SHOWN = 50
CENTERS = PageList(
    Column("center", gettext_lazy("AI computing centre"), sort="name", value="name"),
    Column("status", gettext_lazy("Status"), sort=ranked("status", _BEST_FIRST), value="get_status_display"),
    Column("kind", gettext_lazy("Kind"), sort="kind", value=lambda row: kind_said(row.kind)),
    Column("region", gettext_lazy("Region"), sort="region", value="region", is_extra=True),
    Column("accelerators", gettext_lazy("Accelerators free"), value="accelerators"),
    Column("cpu", gettext_lazy("CPU cores free"), value="cpu"),
    Column("memory", gettext_lazy("Memory free"), value="memory"),
    Column("tasks", gettext_lazy("Tasks running and waiting"), value="tasks"),
    Column("offers", gettext_lazy("Specifications"), sort="offer_count", value="offer_count", is_extra=True),
    Column("answered", gettext_lazy("Last answer"), sort="answered_at", value="answered_at"),
    Column("joined", gettext_lazy("Joined"), sort="created_at", value="created_at", is_extra=True),
    order="center",
)


@operator_page(P.VIEW)
def centers(request: PortalRequest) -> HttpResponseBase:
    """The centres of the network, with what is free in each (JC-6.1.1-1)."""
    chosen = cleaned(CentersForm(request.GET))
    context = {"chosen": chosen, "statuses": CenterStatus.choices}
    return show_list(
        request, "centers/centers", CENTERS, center_list(**chosen), context, prepare=centers_said
    )


def centers_said(rows: Iterable[Center]) -> list[Center]:
    """Put on each what its last sample says, in words."""
    found = list(rows)
    for row in found:
        sample = getattr(row, "sample", None)
        row.kind_label = kind_said(row.kind)  # type: ignore[attr-defined]
        row.silent_s = silent_s(row)  # type: ignore[attr-defined]
        said = dict.fromkeys(("accelerators", "cpu", "memory", "tasks"), "–")
        if sample is not None:
            free, total = sample.free, sample.total
            said["accelerators"] = accelerators_said(sample)
            for name in ("cpu", "memory"):
                pair = (getattr(free, name), getattr(total, name))
                said[name] = " / ".join(amount_said(name, amount) for amount in pair)
            said["tasks"] = f"{sample.running_tasks:,} / {sample.waiting_tasks:,}"
        for name, text in said.items():
            setattr(row, name, text)
    return found


def silent_s(row: Center) -> int | None:
    """For how many seconds a centre has said nothing; None where it never has."""
    return None if row.answered_at is None else int((timezone.now() - row.answered_at).total_seconds())


@operator_page(P.VIEW)
def center(request: PortalRequest, ai_center_id: str) -> HttpResponse:
    """One centre: what it is, what it holds, what is in use, what it offers (tables 1, 2 and 4)."""
    row = center_get(ai_center_id)
    sample = getattr(row, "sample", None)
    context = {
        "center": row,
        "sample": sample,
        "amounts": list(sample_rows(sample)) if sample else [],
        "offers": offers_said(center_offers(row)),
        "kind_label": kind_said(row.kind),
        "has_secrets": has_secrets(row.kind),
        "silent_s": silent_s(row),
        "tenants": tenants_said(row, center_tenants(row)),
        "sharing": sharing_said(kinds().get(row.kind)),
        "tasks": remote_task_list(row)[:_TASKS_SHOWN],
        "task_count": remote_task_count(row),
        "tasks_shown": _TASKS_SHOWN,
    }
    return show(request, "centers/center", context)


SPECS = PageList(
    Column("spec", gettext_lazy("Network specification"), sort="resource_spec_name", value="resource_spec_name"),
    Column("code", gettext_lazy("Code"), sort="resource_spec_id", value="resource_spec_id"),
    Column(
        "amounts", gettext_lazy("Amounts"), value=lambda row: quantities_said(row.quantities)
    ),
    Column("types", gettext_lazy("Job types"), sort="service_type", value="types_said"),
    Column(
        "price", gettext_lazy("Price of an hour"), sort="price_minor", value=lambda row: price_shown(row.price_minor),
        unit="CNY",
    ),
    Column(
        "centers", gettext_lazy("Centres"), value=lambda row: ", ".join(each.center.name for each in row.offers.all())
    ),
    Column("changed", gettext_lazy("Changed at"), sort="updated_at", value="updated_at", is_extra=True),
    order="spec",
)  # fmt: skip


@operator_page(P.VIEW)
def specs(request: PortalRequest) -> HttpResponseBase:
    """The specifications that users of the network name (JC-6.1.2-1)."""
    chosen = cleaned(SpecsForm(request.GET))
    rows = resource_spec_list(search=chosen["search"])
    return show_list(request, "centers/specs", SPECS, rows, {"chosen": chosen}, prepare=specs_said)


def specs_said(rows: Iterable[ResourceSpec]) -> list[ResourceSpec]:
    """Put on each what it holds and is for, in words."""
    found = list(rows)
    labels = dict(ServiceType.choices)
    for row in found:
        row.price_said = price_shown(row.price_minor)  # type: ignore[attr-defined]
        row.amounts_said = quantities_said(row.quantities)  # type: ignore[attr-defined]
        row.types_said = ", ".join(str(labels[code]) for code in row.service_types)  # type: ignore[attr-defined]
    return found


@operator_page(P.VIEW)
def spec(request: PortalRequest, resource_spec_id: str) -> HttpResponse:
    """One specification: what it holds, and which centres offer it at which price."""
    row = specs_said([resource_spec_get(resource_spec_id)])[0]
    offers = offers_said(row.offers.all())
    may_manage = request.actor.may(P.MANAGE)
    named = request.GET.get("center", "")
    changed = next((each for each in offers if each.center.ai_center_id == named), None)
    context = {
        "spec": row,
        "offers": offers,
        "form": SpecForm(row=row) if may_manage else None,
        "offer_form": OfferForm(centers=center_list().order_by("name"), row=changed) if may_manage else None,
    }
    return show(request, "centers/spec", context)


MAPPING = PageList(
    Column(
        "spec", gettext_lazy("Network specification"), sort=("spec__resource_spec_name", "center__name"),
        value="spec.resource_spec_name",
    ),
    Column(
        "center",
        gettext_lazy("AI computing centre"),
        sort=("center__name", "spec__resource_spec_name"),
        value="center.name",
    ),
    Column(
        "status", gettext_lazy("Status"), sort=ranked("center__status", _BEST_FIRST),
        value="center.get_status_display",
    ),
    Column("free", gettext_lazy("Free"), value="free_count"),
    Column("price", gettext_lazy("Price of an hour"), value=lambda row: price_shown(row.price_there_minor), unit="CNY"),
    Column("performance", gettext_lazy("Measured performance"), sort="performance", value="performance"),
    Column("idle", gettext_lazy("Power while idle"), sort="idle_power_w", value="idle_power_w", unit="W"),
    Column("running", gettext_lazy("Power while running"), sort="running_power_w", value="running_power_w", unit="W"),
    order="spec",
)  # fmt: skip


@operator_page(P.VIEW)
def mapping(request: PortalRequest) -> HttpResponseBase:
    """Which centre offers which specification: price, how many fit now, performance, power (JC-6.1.2-1)."""
    chosen = cleaned(SpecsForm(request.GET))
    rows = offer_list(search=chosen["search"])
    return show_list(request, "centers/mapping", MAPPING, rows, {"chosen": chosen}, prepare=offers_said)


def offers_said(rows: Iterable[SpecOffer]) -> list[SpecOffer]:
    """Put on each its price and its power as people write them."""
    found = list(rows)
    for row in found:
        row.price_said = price_shown(row.price_there_minor)  # type: ignore[attr-defined]
        row.idle_said = _watts(row.idle_power_w)  # type: ignore[attr-defined]
        row.running_said = _watts(row.running_power_w)  # type: ignore[attr-defined]
    return found


def _watts(power: float | None) -> str:
    return "–" if power is None else f"{power:,.1f}".removesuffix(".0") + " W"
