"""The page that an invitation's link opens: join with a new account, or with the one the person has."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from apps.identity.models import User
from apps.identity.pages.access import cleaned
from apps.identity.pages.addresses import address_of
from apps.identity.pages.requests import PortalRequest
from apps.identity.pages.sessions import session_begin
from apps.identity.services.password_sign_in import sign_in_check
from apps.kernel.errors import NotFound, WeirError
from apps.orgs.forms import JoinForm, JoinNewForm
from apps.orgs.services import invitations


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def join(request: PortalRequest, secret: str) -> HttpResponse:
    """Anybody who holds an open link may join once; whoever does is signed in."""
    if request.entered_tenant is None or not request.entered_tenant.is_active:
        raise NotFound()
    invitation = invitations.invitation_find(secret)
    is_known = (request.POST or request.GET).get("account") == "known"
    context = {"invitation": invitation, "is_known": is_known, "given": request.POST, "secret": secret}
    if request.method == "GET":
        return render(request, "orgs/join.html", context)
    try:
        user = _join_known(request, secret) if is_known else _join_new(request, secret)
    except WeirError as error:
        return render(request, "orgs/join.html", context | {"error": error}, status=error.status)
    session_begin(request, user)
    messages.success(request, _("Welcome to %(tenant)s.") % {"tenant": request.entered_tenant})
    return redirect("console:home")


def _join_new(request: PortalRequest, secret: str) -> User:
    given = cleaned(JoinNewForm(request.POST))
    return invitations.invitation_accept_new(actor=request.actor, secret=secret, **given)


def _join_known(request: PortalRequest, secret: str) -> User:
    given = cleaned(JoinForm(request.POST))
    user = sign_in_check(**given, schema=None, address=address_of(request))
    return invitations.invitation_accept(actor=request.actor, secret=secret, user=user)
