"""What operators do on the pages of centres and network specifications: each act is one service."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from apps.centers.adapters.kinds import kinds
from apps.centers.forms import (
    KIND_PREFIX,
    CenterForm,
    CredentialForm,
    OfferForm,
    SpecForm,
    kind_values,
    price_minor,
)
from apps.centers.permissions import CentersPermission as P
from apps.centers.selectors import center_get, center_list, resource_spec_get
from apps.centers.services.centers import (
    center_change,
    center_credential_set,
    center_drain,
    center_join,
    center_remove,
    center_undrain,
    credential_check,
)
from apps.centers.services.checks import kind_check
from apps.centers.services.sampling import center_sample_now
from apps.centers.services.specs import (
    offer_remove,
    offer_set,
    resource_spec_change,
    resource_spec_make,
    resource_spec_remove,
)
from apps.centers.states import Serves
from apps.identity.pages.access import cleaned, go, operator_page, show
from apps.identity.pages.requests import PortalRequest
from apps.kernel.errors import NotFound, WeirError

_READ_AND_SENT = require_http_methods(["GET", "HEAD", "POST"])


@contextmanager
def _kind_fields_named() -> Iterator[None]:
    """What is wrong with a field of a kind is said at the form's field, which has a longer name."""
    try:
        yield
    except WeirError as error:
        names = {name: f"{KIND_PREFIX}{name}" for kind in kinds().values() for name in _names(kind.code)}
        error.inputs |= {name: names[name] for name in error.fields if name in names}
        raise


def _names(code: str) -> list[str]:
    return [each.name for each in kinds()[code].fields]


@never_cache
@_READ_AND_SENT
@operator_page(P.MANAGE)
def join(request: PortalRequest) -> HttpResponse:
    """Join a centre of a kind: the form has that kind's fields."""
    code = request.GET.get("kind") or next(iter(kinds()))
    kind = kind_check(code)
    if request.method != "POST":
        context = {"form": CenterForm(kind=kind), "kind": kind, "kinds": list(kinds().values())}
        return show(request, "centers/join", context)
    form = CenterForm(request.POST, kind=kind)
    given = cleaned(form)
    with _kind_fields_named():
        row = center_join(
            actor=request.actor,
            ai_center_id=given["ai_center_id"],
            kind=kind.code,
            settings=kind_values(kind, given, are_secret=False),
            secrets=kind_values(kind, given, are_secret=True),
            facts=form.facts(given),
        )
    if row.serves == Serves.NAMED:
        messages.success(request, _("%(center)s has joined. Now say whom it serves.") % {"center": row})
        return go(request, "centers:tenants", row.ai_center_id)
    messages.success(request, _("%(center)s has joined: below is what it holds.") % {"center": row})
    return go(request, "centers:center", row.ai_center_id)


@never_cache
@_READ_AND_SENT
@operator_page(P.MANAGE)
def change(request: PortalRequest, ai_center_id: str) -> HttpResponse:
    """Change what is said of a centre and how it is reached."""
    row = center_get(ai_center_id)
    kind = kind_check(row.kind)
    if request.method != "POST":
        context = {"center": row, "form": CenterForm(kind=kind, row=row)}
        return show(request, "centers/change", context)
    form = CenterForm(request.POST, kind=kind, row=row)
    given = cleaned(form)
    with _kind_fields_named():
        center_change(
            actor=request.actor,
            ai_center_id=ai_center_id,
            facts=form.facts(given),
            settings=kind_values(kind, given, are_secret=False),
            secrets=kind_values(kind, given, are_secret=True),
        )
    messages.success(request, _("%(center)s is changed.") % {"center": given["name"]})
    return go(request, "centers:center", ai_center_id)


@never_cache
@_READ_AND_SENT
@operator_page(P.MANAGE)
def credential(request: PortalRequest, ai_center_id: str) -> HttpResponse:
    """Give a centre another credential."""
    row = center_get(ai_center_id)
    kind = credential_check(row)
    if request.method != "POST":
        return show(request, "centers/credential", {"center": row, "form": CredentialForm(kind=kind)})
    given = cleaned(CredentialForm(request.POST, kind=kind))
    with _kind_fields_named():
        center_credential_set(
            actor=request.actor, ai_center_id=ai_center_id, secrets=kind_values(kind, given, are_secret=True)
        )
    messages.success(request, _("%(center)s takes the new credential.") % {"center": row})
    return go(request, "centers:center", ai_center_id)


@require_POST
@operator_page(P.MANAGE)
def act(request: PortalRequest, ai_center_id: str, what: str) -> HttpResponse:
    """Ask a centre now, drain it, send work there again, or remove it."""
    acts = {"drain": center_drain, "undrain": center_undrain, "sample": center_sample_now}
    if what == "remove":
        row = center_get(ai_center_id)
        center_remove(actor=request.actor, ai_center_id=ai_center_id)
        messages.success(request, _("%(center)s is off the network.") % {"center": row})
        return go(request, "centers:centers")
    if what not in acts:
        raise NotFound()
    row = acts[what](actor=request.actor, ai_center_id=ai_center_id)
    told = {
        "drain": _("%(center)s gets no new work; what is there goes on."),
        "undrain": _("%(center)s gets work again."),
        "sample": _("%(center)s has answered."),
    }
    messages.success(request, told[what] % {"center": row})
    return go(request, "centers:center", ai_center_id)


@_READ_AND_SENT
@operator_page(P.MANAGE)
def spec_new(request: PortalRequest) -> HttpResponse:
    """Make a network specification."""
    if request.method != "POST":
        return show(request, "centers/spec_new", {"form": SpecForm()})
    form = SpecForm(request.POST)
    given = cleaned(form)
    row = resource_spec_make(
        actor=request.actor,
        resource_spec_id=given["resource_spec_id"],
        resource_spec_name=given["resource_spec_name"],
        resource_quantity=form.quantity(given),
        service_types=given["service_types"],
        price_minor=price_minor(given["price"]) or 0,
    )
    messages.success(request, _("Now say which centres offer %(spec)s.") % {"spec": row})
    return go(request, "centers:spec", row.resource_spec_id)


@require_POST
@operator_page(P.MANAGE)
def spec_change(request: PortalRequest, resource_spec_id: str) -> HttpResponse:
    """Change a network specification."""
    form = SpecForm(request.POST, row=resource_spec_get(resource_spec_id))
    given = cleaned(form)
    row = resource_spec_change(
        actor=request.actor,
        resource_spec_id=resource_spec_id,
        resource_spec_name=given["resource_spec_name"],
        resource_quantity=form.quantity(given),
        service_types=given["service_types"],
        price_minor=price_minor(given["price"]),
    )
    messages.success(request, _("%(spec)s is changed.") % {"spec": row})
    return go(request, "centers:spec", resource_spec_id)


@require_POST
@operator_page(P.MANAGE)
def spec_remove(request: PortalRequest, resource_spec_id: str) -> HttpResponse:
    """End a network specification."""
    row = resource_spec_get(resource_spec_id)
    resource_spec_remove(actor=request.actor, resource_spec_id=resource_spec_id)
    messages.success(request, _("%(spec)s is gone.") % {"spec": row})
    return go(request, "centers:specs")


@require_POST
@operator_page(P.MANAGE)
def offer(request: PortalRequest, resource_spec_id: str) -> HttpResponse:
    """Let a centre offer a specification, or change how it does."""
    given = cleaned(OfferForm(request.POST, centers=center_list()))
    row = offer_set(
        actor=request.actor,
        resource_spec_id=resource_spec_id,
        ai_center_id=given["center"],
        price_minor=price_minor(given["price"]),
        cost_minor=price_minor(given["cost"]),
        performance=given["performance"],
        idle_power_w=given["idle_power_w"],
        running_power_w=given["running_power_w"],
    )
    messages.success(request, _("%(center)s offers %(spec)s.") % {"center": row.center, "spec": row.spec})
    return go(request, "centers:spec", resource_spec_id)


@require_POST
@operator_page(P.MANAGE)
def offer_end(request: PortalRequest, resource_spec_id: str, ai_center_id: str) -> HttpResponse:
    """A centre offers a specification no more."""
    offer_remove(actor=request.actor, resource_spec_id=resource_spec_id, ai_center_id=ai_center_id)
    messages.success(request, _("The centre offers it no more; work that is there goes on."))
    return go(request, "centers:spec", resource_spec_id)
