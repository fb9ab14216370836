"""Signing in and out, a forgotten password, switching the role, and what belongs to the account: API tokens and the
password."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import get_script_prefix
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from apps.centre.selectors import mail_way
from apps.identity.errors import MailMissing
from apps.identity.forms import PasswordForgottenForm, PasswordForm, PasswordResetForm, SignInForm, TokenForm
from apps.identity.pages.access import ROLE_SESSION_KEY, cleaned, go, next_url, page, paged, show
from apps.identity.pages.addresses import address_of, portal_address
from apps.identity.pages.requests import PortalRequest
from apps.identity.pages.sessions import session_begin
from apps.identity.selectors import api_token_get, api_token_list
from apps.identity.services.password_reset import password_reset_ask, password_reset_use, reset_link_user
from apps.identity.services.password_sign_in import sign_in_check
from apps.identity.services.reading import density_set
from apps.identity.services.tokens import api_token_make, api_token_revoke
from apps.identity.services.users import password_change, present_password_check
from apps.kernel.errors import Forbidden, WeirError


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def login_page(request: PortalRequest) -> HttpResponse:
    """Sign in to the portal of this host (PLAT-TEN-26)."""
    if request.method != "POST":
        if request.actor.is_user:
            return redirect(next_url(request))
        return render(request, "identity/login.html", {"next": next_url(request)})
    try:
        given = cleaned(SignInForm(request.POST))
        user = sign_in_check(
            **given,
            schema=request.entered_tenant.schema_name if request.entered_tenant else "",
            address=address_of(request),
        )
    except WeirError as error:
        context = {"error": error, "next": next_url(request), "username": request.POST.get("username", "")}
        return render(request, "identity/login.html", context, status=error.status)
    session_begin(request, user)
    return redirect(next_url(request))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def password_forgotten(request: PortalRequest) -> HttpResponse:
    """Have a link sent with which one chooses a new password; the answer never tells whether there is such an account
    (PLAT-TEN-26)."""
    template = "identity/password_forgotten.html"
    if request.method != "POST":
        error = None if mail_way() else MailMissing()
        return render(request, template, {"error": error, "is_closed": error is not None})
    tenant = request.entered_tenant
    try:
        password_reset_ask(
            actor=request.actor,
            account=cleaned(PasswordForgottenForm(request.POST))["account"],
            schema=tenant.schema_name if tenant else "",
            address=address_of(request),
            portal=portal_address(request, tenant),
            language=get_language() or "",
        )
    except WeirError as error:
        context = {"error": error, "account": request.POST.get("account", "")}
        return render(
            request, template, context | {"is_closed": isinstance(error, MailMissing)}, status=error.status
        )
    return render(request, template, {"is_asked": True})


@never_cache
@sensitive_post_parameters("new_password")
@require_http_methods(["GET", "HEAD", "POST"])
def password_reset(request: PortalRequest, secret: str) -> HttpResponse:
    """Who holds a link that still works chooses a new password, once."""
    template = "identity/password_reset.html"
    context: dict[str, Any] = {"secret": secret}
    try:
        context["person"] = reset_link_user(secret)
        if request.method != "POST":
            return render(request, template, context)
        given = cleaned(PasswordResetForm(request.POST))
        password_reset_use(actor=request.actor, secret=secret, **given)
    except WeirError as error:
        # There is one field, and the page has its own word for it.
        error.fields = {str(_("New password")): text for text in error.fields.values()}
        return render(request, template, context | {"error": error}, status=error.status)
    # Whoever is signed in here signs in anew, with the new password or as somebody else.
    logout(request)
    messages.success(request, _("The password is changed. Sign in with it."))
    return redirect("identity:login")


@require_POST
def logout_page(request: PortalRequest) -> HttpResponse:
    logout(request)
    return redirect("/login/")


@require_POST
@page(plane="both")
def role_switch(request: PortalRequest) -> HttpResponse:
    """Take on another role one holds, without signing in again (PLAT-TEN-28), and go home or to the page it is taken on
    for."""
    code = request.POST.get("role", "")
    if all(role.code != code for role in request.held_roles):
        raise Forbidden(_("You do not hold the role %(role)s here.") % {"role": code[:48]})
    schema = request.actor.tenant if request.actor.kind == "user" else ""
    request.session[f"{ROLE_SESSION_KEY}:{schema}"] = code
    return go(request, next_url(request, get_script_prefix()))


@require_POST
@page(plane="both")
def density(request: PortalRequest) -> HttpResponse:
    """How close the lines of the reader's pages stand; he stays on the page that he changed it on."""
    density_set(actor=request.actor, density=request.POST.get("density", ""))
    return go(request, next_url(request, get_script_prefix()))


@require_http_methods(["GET", "HEAD", "POST"])
@page(plane="both")
def tokens(request: PortalRequest) -> HttpResponse:
    """The reader's API tokens; a new one's secret is shown this once."""
    made = None
    if request.method == "POST":
        tenant = request.entered_tenant if request.actor.kind == "user" else None
        given = cleaned(TokenForm(request.POST))
        _token, made = api_token_make(actor=request.actor, user=request.user, tenant=tenant, **given)
    return show(
        request, "identity/tokens", {"rows": paged(request, api_token_list(request.actor)), "made": made}
    )


@require_POST
@page(plane="both")
def token_revoke(request: PortalRequest, uid: UUID) -> HttpResponse:
    api_token_revoke(actor=request.actor, token=api_token_get(request.actor, uid))
    messages.success(request, _("The token is revoked."))
    return go(request, "identity:tokens")


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@page(plane="both")
def password(request: PortalRequest) -> HttpResponse:
    if request.method != "POST":
        return show(request, "identity/password", {})
    was_due = request.user.must_change_password
    given = cleaned(PasswordForm(request.POST))
    present_password_check(
        user=request.user,
        password=given["old_password"],
        address=address_of(request),
        schema=request.actor.tenant,
    )
    password_change(actor=request.actor, user=request.user, **given)
    update_session_auth_hash(request, request.user)
    messages.success(request, _("The password is changed."))
    return go(request, get_script_prefix() if was_due else "identity:password")
