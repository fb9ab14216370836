"""The page of the centre's own settings: its name, language, time zone and mail server, and whether approved orders go
out by themselves."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from apps.centre.models import Centre
from apps.centre.selectors import centre_find, mail_by_environment, mail_way
from apps.centre.services import (
    centre_change,
    centre_mail_set,
    centre_mail_try,
    centre_quotas_set,
    centre_tickets_set,
)
from apps.console.centre.forms import CentreForm, MailForm, MailTryForm, QuotasForm, TicketsForm
from apps.identity.pages.access import cleaned, go, operator_page, show
from apps.identity.pages.requests import PortalRequest
from apps.kernel.errors import InvalidInput
from apps.kernel.money import CURRENCY

MANAGE = "centre.manage"
_NAMED = ("name", "language", "timezone")
_MAILED = ("mail_host", "mail_port", "mail_security", "mail_username", "mail_sender")


@require_http_methods(["GET", "HEAD", "POST"])
@operator_page(MANAGE)
def centre(request: PortalRequest) -> HttpResponse:
    """What the centre is called, its language and its time zone."""
    if request.method != "POST":
        return _page(request)
    form = CentreForm(request.POST)
    if not form.is_valid():
        form.mark()
        return _page(request, centre_form=form, status=400)
    try:
        centre_change(actor=request.actor, **form.given())
    except InvalidInput as error:
        form.refuse(error)
        return _page(request, centre_form=form, status=error.status)
    messages.success(request, _("The centre's settings are saved."))
    return go(request, "operator:centre")


@require_POST
@operator_page(MANAGE)
def tickets(request: PortalRequest) -> HttpResponse:
    """Whether approved orders go out by themselves (PLAT-CFG-45)."""
    sends = cleaned(TicketsForm(request.POST))["sends_tickets"]
    centre_tickets_set(actor=request.actor, sends_tickets=sends)
    messages.success(
        request,
        _("Approved orders are delivered by themselves from now on.")
        if sends
        else _("Approved orders wait from now on until an operator sends them."),
    )
    return go(request, "operator:centre")


@require_POST
@operator_page(MANAGE)
def quotas(request: PortalRequest) -> HttpResponse:
    """Whether what is over its quota is refused (PLAT-CFG-36)."""
    keeps = cleaned(QuotasForm(request.POST))["keeps_quotas"]
    centre_quotas_set(actor=request.actor, keeps_quotas=keeps)
    messages.success(
        request,
        _("What is over its quota is refused from now on.")
        if keeps
        else _("What is over its quota is counted from now on, and not refused."),
    )
    return go(request, "operator:centre")


@sensitive_post_parameters("mail_password")
@require_POST
@operator_page(MANAGE)
def mail(request: PortalRequest) -> HttpResponse:
    """The server by which mail is sent; without one none is."""
    form = MailForm(request.POST)
    if not form.is_valid():
        form.mark()
        return _page(request, mail_form=form, status=400)
    try:
        centre_mail_set(actor=request.actor, mail=form.mail())
    except InvalidInput as error:
        form.refuse(error)
        return _page(request, mail_form=form, status=error.status)
    messages.success(
        request, _("The mail server is saved.") if form.mail() else _("No mail is sent from now on.")
    )
    return go(request, "operator:centre")


@require_POST
@operator_page(MANAGE)
def mail_try(request: PortalRequest) -> HttpResponse:
    """One mail to see whether it goes."""
    to = cleaned(MailTryForm(request.POST))["to"]
    centre_mail_try(actor=request.actor, to=to)
    messages.success(request, _("The mail server has taken a mail to %(to)s.") % {"to": to})
    return go(request, "operator:centre")


def _page(
    request: PortalRequest,
    *,
    centre_form: CentreForm | None = None,
    mail_form: MailForm | None = None,
    status: int = 200,
) -> HttpResponse:
    row = centre_find() or Centre()
    context = {
        "centre_form": centre_form or CentreForm(initial=_initial(row, _NAMED)),
        "quotas_form": QuotasForm(initial=_initial(row, ("keeps_quotas",))),
        "tickets_form": TicketsForm(initial=_initial(row, ("sends_tickets",))),
        "mail_form": mail_form or MailForm(initial=_initial(row, _MAILED)),
        "currency": CURRENCY,
        "opened_at": row.opened_at,
        "is_mail_fixed": mail_by_environment() is not None,
        "has_mail": mail_way() is not None,
        "has_mail_password": bool(row.mail_password_sealed),
        "own_email": getattr(request.user, "email", ""),
    }
    return show(request, "console/centre", context, status=status)


def _initial(row: Centre, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}
