"""The operators' page of a centre's tenants: whom it serves, and under which account their work runs there."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.centers.forms import ServesForm, TenantForm, account_values
from apps.centers.labels import kind_said, sharing_said, tenants_said
from apps.centers.permissions import CentersPermission as P
from apps.centers.selectors import center_get, center_tenants
from apps.centers.services.checks import kind_check
from apps.centers.services.tenants import center_serves_set, center_tenant_remove, center_tenant_set
from apps.identity.pages.access import cleaned, go, operator_page, show
from apps.identity.pages.requests import PortalRequest
from apps.kernel.errors import WeirError
from apps.tenancy.selectors import tenant_active_list


@never_cache
@require_safe
@operator_page(P.MANAGE)
def tenants(request: PortalRequest, ai_center_id: str) -> HttpResponse:
    """Whom a centre serves, to see and to change."""
    row = center_get(ai_center_id)
    kind = kind_check(row.kind)
    named = center_tenants(row)
    chosen = request.GET.get("tenant", "")
    changed = next((each for each in named if each.tenant.schema_name == chosen), None)
    context = {
        "center": row,
        "kind": kind,
        "kind_label": kind_said(row.kind),
        "sharing": sharing_said(kind),
        "tenants": tenants_said(row, named),
        "serves_form": ServesForm(kind=kind, row=row),
        "tenant_form": TenantForm(kind=kind, tenants=tenant_active_list().order_by("name"), row=changed),
    }
    return show(request, "centers/tenants", context)


@require_POST
@operator_page(P.MANAGE)
def serves(request: PortalRequest, ai_center_id: str) -> HttpResponse:
    """Send it the work of all tenants, or of those that are named."""
    row = center_get(ai_center_id)
    given = cleaned(ServesForm(request.POST, kind=kind_check(row.kind), row=row))
    center_serves_set(
        actor=request.actor,
        ai_center_id=ai_center_id,
        serves=given["serves"],
        may_share=given.get("may_share", False),
    )
    messages.success(request, _("It is kept whom %(center)s serves.") % {"center": row})
    return go(request, "centers:tenants", ai_center_id)


@require_POST
@operator_page(P.MANAGE)
def name(request: PortalRequest, ai_center_id: str) -> HttpResponse:
    """Have it serve a tenant, or change the account that this one has there."""
    row = center_get(ai_center_id)
    kind = kind_check(row.kind)
    given = cleaned(TenantForm(request.POST, kind=kind, tenants=tenant_active_list().order_by("name")))
    with _account_fields_named():
        found = center_tenant_set(
            actor=request.actor,
            ai_center_id=ai_center_id,
            tenant=given["tenant"],
            account=account_values(kind, given),
        )
    messages.success(
        request, _("%(center)s serves %(tenant)s.") % {"center": row, "tenant": found.tenant.name}
    )
    return go(request, "centers:tenants", ai_center_id)


@require_POST
@operator_page(P.MANAGE)
def remove(request: PortalRequest, ai_center_id: str, tenant: str) -> HttpResponse:
    """Take a tenant off a centre."""
    center_tenant_remove(actor=request.actor, ai_center_id=ai_center_id, tenant=tenant)
    messages.success(request, _("The tenant is named there no more; what runs there goes on."))
    return go(request, "centers:tenants", ai_center_id)


@contextmanager
def _account_fields_named() -> Iterator[None]:
    """What is wrong with a field of an account is said at the form's field, which has a longer name."""
    try:
        yield
    except WeirError as error:
        error.inputs |= {field: f"account_{field}" for field in error.fields}
        raise
