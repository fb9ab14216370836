"""The page that makes a tenant with its first administrator and what it begins with, in one go."""

from functools import partial
from typing import Any

from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from apps.centre.selectors import centre_shown
from apps.console.tenants.forms import LINK, TenantForm
from apps.console.tenants.services import tenant_open
from apps.console.tenants.types import TenantOpened
from apps.identity.pages.access import operator_page, show
from apps.identity.pages.requests import PortalRequest
from apps.kernel.errors import Forbidden, WeirError
from apps.orgs.addresses import mail_portal

_BILLING, _SCHEDULING = "billing.manage", "scheduling.manage"


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@operator_page("tenancy.manage")
def tenant_new(request: PortalRequest) -> HttpResponse:
    """Ask for a tenant, then show what was made: its password or link on this answer alone (PLAT-TEN-8)."""
    if request.method != "POST":
        return _form_page(request, TenantForm(initial={"timezone": centre_shown().timezone, "how": LINK}))
    form = TenantForm(request.POST)
    if not form.is_valid():
        form.mark()
        return _form_page(request, form, status=400)
    try:
        opening = form.opening(partial(mail_portal, request))
        made = tenant_open(actor=request.actor, **opening)
    except Forbidden:
        raise
    except WeirError as error:
        form.refuse(error)
        return _form_page(request, form, status=error.status)
    return show(request, "operator/tenant_made", _made(request, form, made))


def _form_page(request: PortalRequest, form: TenantForm, status: int = 200) -> HttpResponse:
    may = {"may_bill": request.actor.may(_BILLING), "may_schedule": request.actor.may(_SCHEDULING)}
    return show(request, "operator/tenant_new", {"form": form, **may}, status=status)


def _made(request: PortalRequest, form: TenantForm, made: TenantOpened) -> dict[str, Any]:
    """What stands there now, a line each, and the way in for the administrator."""
    given = form.opening()["beginning"]
    lines = [
        _("The tenant %(name)s with its schema and roles") % {"name": made.tenant},
        _("Its first organization and administrator"),
        _("Its quota"),
    ]
    if given.credit_limit:
        shown = {"amount": given.credit_limit}
        lines.append(_("Its money account, with ¥%(amount)s of credit") % shown)
    elif given.has_account:
        lines.append(_("Its money account"))
    lines += [_("A queue of its own")] if given.has_queue else []
    if given.business_system is not None:
        lines.append(_("The business system %(name)s") % {"name": given.business_system.name})
    address = tenant_address(request, made.host)
    return {
        "made": made,
        "lines": lines,
        "address": address,
        "link": f"{address}join/{made.secret}/" if made.secret else "",
    }


def tenant_address(request: PortalRequest, host: str) -> str:
    """Where a tenant's portal is, by the scheme and port that this request came by."""
    _own, colon, port = request.get_host().partition(":")
    return f"{request.scheme}://{host}{colon}{port}/"
