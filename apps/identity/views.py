"""Signing in and out, switching the role, and what belongs to the account: API tokens and the password."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import get_script_prefix
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from apps.identity.addresses import address_of
from apps.identity.forms import PasswordForm, SignInForm, TokenForm
from apps.identity.page_access import ROLE_SESSION_KEY, cleaned, go, next_url, page, paged, show
from apps.identity.password_sign_in import sign_in_check
from apps.identity.requests import PortalRequest
from apps.identity.selectors import api_token_get, api_token_list
from apps.identity.services import password_change, present_password_check
from apps.identity.sessions import session_begin
from apps.identity.tokens import api_token_make, api_token_revoke
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


@require_POST
def logout_page(request: PortalRequest) -> HttpResponse:
    logout(request)
    return redirect("/login/")


@require_POST
@page(plane="both")
def role_switch(request: PortalRequest) -> HttpResponse:
    """Take on another role one holds, without signing in again (PLAT-TEN-28)."""
    code = request.POST.get("role", "")
    if all(role.code != code for role in request.held_roles):
        raise Forbidden(_("You do not hold the role %(role)s here.") % {"role": code[:48]})
    request.session[f"{ROLE_SESSION_KEY}:{request.actor.tenant}"] = code
    return go(request, get_script_prefix())


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
