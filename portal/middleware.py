"""Where a request enters: its id, its plane, its actor, and how a refusal looks.

Order matters: the plane is entered before any session or user is read (both live in `public` and are found from
every schema), the actor after both are known.
"""

import logging
import re
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TypeVar
from zoneinfo import available_timezones

from django.conf import settings
from django.contrib.auth import logout
from django.core.exceptions import DisallowedHost
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import set_script_prefix
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.utils.translation.trans_real import get_supported_language_variant, parse_accept_lang_header

from apps.centre.errors import NotSetUp
from apps.centre.models import Centre
from apps.centre.selectors import centre_is_set_up, centre_shown
from apps.identity.errors import FirstPassword
from apps.identity.models import ApiToken, Membership, User
from apps.identity.pages.access import ROLE_SESSION_KEY
from apps.identity.pages.requests import PortalRequest, Role
from apps.identity.pages.sessions import is_over
from apps.identity.services.tokens import api_token_user
from apps.identity.services.users import tenants_of
from apps.jointcloud.api.wire import envelope_of
from apps.kernel.actor import ANONYMOUS, Actor, ActorKind
from apps.kernel.errors import Busy, Forbidden, InvalidInput, NotFound, Unauthenticated, WeirError, busy_of
from apps.kernel.log_context import log_context, log_known
from apps.kernel.planes import in_tenant
from apps.kernel.reach import Reach
from apps.kernel.service import refusal_record
from apps.orgs.selectors.roles import reach_of, standing_of
from apps.tenancy.models import Tenant
from apps.tenancy.selectors import tenant_by_host, tenant_get
from portal.settings.env import env

log = logging.getLogger("portal")
_OPEN_WITH_FIRST_PASSWORD = ("/account/password/", "/logout/", "/i18n/", "/static/")
# What answers whether or not somebody has set the centre up: files, probes, nodes, and the setup itself.
_BARE = ("/static/", "/healthz", "/readyz", "/metrics", "/api/agent/")
_OPEN_BEFORE_SETUP = (*_BARE, "/setup/", "/i18n/", "/api/v1/setup", "/api/schema/")
# The interfaces of Annex A, which have one form for whatever becomes of a call.
_ANNEX_A = ("/scheduler/", "/openapi/")
API = ("/api/", *_ANNEX_A)
Handler = Callable[[PortalRequest], HttpResponse]
_UNDER_TENANT = re.compile(r"^/t/([a-z][a-z0-9]{1,30})(/.*)$")
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.-]{8,64}")


def request_id(get_response: Handler) -> Handler:
    """Give every request an id, the caller's own if it is harmless, and send it back; note when it began."""

    def handle(request: PortalRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        request.request_id = kept = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        request.began_at_s = time.time()
        with log_context(request_id=kept):
            response = get_response(request)
        response["X-Request-ID"] = kept
        return response

    return handle


def plane(get_response: Handler) -> Handler:
    """Enter the tenant of the host, or of `/t/<schema>/…` on the provider's host, for the whole request."""

    def handle(request: PortalRequest) -> HttpResponse:
        connection.set_schema_to_public()
        request.entered_tenant = None
        try:
            tenant = _tenant_of(request, _host_of(request))
        except WeirError as error:
            return refuse(request, error)
        request.urlconf = "portal.urls_tenant" if tenant else "portal.urls_provider"
        if tenant is None:
            return get_response(request)
        _enter(request, tenant)
        try:
            return get_response(request)
        finally:
            set_script_prefix("/")
            connection.set_schema_to_public()

    return handle


def _host_of(request: PortalRequest) -> str:
    """The name that was called. Raises InvalidInput for what is none."""
    try:
        return request.get_host().rsplit(":", 1)[0].lower()
    except DisallowedHost as error:
        raise InvalidInput(_("The header Host names no host."), cure=_("Check the host name.")) from error


def _tenant_of(request: PortalRequest, host: str) -> Tenant | None:
    if host not in env().provider_hosts:
        tenant = tenant_by_host(host)
        if tenant is None:
            raise NotFound(_("No portal lives at this address."), cure=_("Check the host name."))
        if not tenant.is_active:
            raise Forbidden(_("This portal is suspended."), cure=_("Ask your computing centre."))
        return tenant
    under = _UNDER_TENANT.match(request.path_info)
    if under is None:
        return None
    tenant = tenant_get(under[1])
    request.path_info = under[2]
    set_script_prefix(f"/t/{under[1]}/")
    return tenant


def _enter(request: PortalRequest, tenant: Tenant) -> None:
    request.entered_tenant = tenant
    log_known(tenant=tenant.schema_name)
    connection.set_tenant(tenant)


def set_up_first(get_response: Handler) -> Handler:
    """While the centre has no operator every page of the provider's leads to its setup; the API says what to do."""

    def handle(request: PortalRequest) -> HttpResponse:
        is_open = request.entered_tenant is not None or request.path_info.startswith(_OPEN_BEFORE_SETUP)
        if is_open or centre_is_set_up():
            return get_response(request)
        return refuse(request, NotSetUp()) if request.path_info.startswith(API) else redirect("/setup/")

    return handle


def centre_defaults(get_response: Handler) -> Handler:
    """Answer in the language that the reader chose, else one his browser asks for, else the centre's; times stand in
    the zone that a caller names (`Weir-Time-Zone: Europe/Berlin`), else the centre's, unless a page is a tenant's.
    Both stay on the thread: an answer may be written while it is sent.
    """

    def handle(request: PortalRequest) -> HttpResponse:
        is_bare = request.path_info.startswith(_BARE)
        centre = Centre(language=settings.LANGUAGE_CODE) if is_bare else centre_shown()
        language = _language_asked(request) or centre.language
        translation.activate(language)
        timezone.activate(_zone_asked(request) or centre.timezone)
        request.LANGUAGE_CODE = language
        response = get_response(request)
        response.headers.setdefault("Content-Language", language)
        patch_vary_headers(response, ("Accept-Language",))
        return response

    return handle


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def _zone_asked(request: PortalRequest) -> str:
    """The zone that a caller reads times in; "" where it names none that there is."""
    name = request.headers.get("Weir-Time-Zone", "")
    return name if name in _zones() else ""


def _language_asked(request: PortalRequest) -> str:
    """The language of the reader's cookie, else the first of his browser's that there is here; "" for none."""
    given = parse_accept_lang_header(request.headers.get("Accept-Language", ""))
    for code in (request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, ""), *(name for name, _weight in given)):
        with suppress(LookupError):
            return get_supported_language_variant(code)
    return ""


def signed_in_lately(get_response: Handler) -> Handler:
    """End a session that nobody used for a while, or that is a week old: an operator's sooner than a member's."""

    def handle(request: PortalRequest) -> HttpResponse:
        if is_over(request):
            logout(request)
        return get_response(request)

    return handle


def acting(get_response: Handler) -> Handler:
    """Resolve the actor from a bearer token or the session, and enter the tenant a token call is for."""

    def handle(request: PortalRequest) -> HttpResponse:
        request.actor, request.by_token, request.held_roles = ANONYMOUS, False, []
        request.token_expires_at = None
        try:
            _act(request)
        except WeirError as error:
            return refuse(request, error)
        return _first_password(request) or get_response(request)

    return handle


def _first_password(request: PortalRequest) -> HttpResponse | None:
    """Who still has the password that another person chose goes to change it, and nowhere else."""
    is_due = request.user.is_authenticated and not request.by_token and request.user.must_change_password
    if not is_due or request.path_info.startswith(_OPEN_WITH_FIRST_PASSWORD):
        return None
    if request.path_info.startswith(API):
        return refuse(request, FirstPassword())
    return redirect("/account/password/")


def _act(request: PortalRequest) -> None:
    secret = request.headers.get("Authorization", "").partition("Bearer ")[2].strip()
    is_for_others = request.path_info.startswith("/api/agent/") or request.path_info == "/metrics"
    if secret.startswith("weirnode_") or is_for_others:
        return
    if secret:
        token = api_token_user(secret)
        request.user, request.by_token, request.token_expires_at = token.user, True, token.expires_at
        request._cached_user = token.user
        _enter_by_token(request, token)
    elif request.path_info.startswith(API) and request.user.is_authenticated:
        _enter_by_header(request, request.user, None)
    if request.user.is_authenticated:
        request.actor = actor = actor_of(request, request.user)
        log_known(actor=actor.name)


def _enter_by_token(request: PortalRequest, token: ApiToken) -> None:
    if token.tenant is not None:
        wanted = request.headers.get("Weir-Tenant", token.tenant.schema_name)
        if wanted != token.tenant.schema_name or request.entered_tenant not in (None, token.tenant):
            raise NotFound(_("This token is for another tenant."), cure=_("Use a token of that tenant."))
    _enter_by_header(request, token.user, token.tenant)


def _enter_by_header(request: PortalRequest, user: User, tied: Tenant | None) -> None:
    """The API's choice of tenant: the host, else the token, else the header, else the only one there is."""
    if request.entered_tenant is not None:
        return
    wanted = request.headers.get("Weir-Tenant", "")
    tenant = tied
    if wanted and tied is None:
        tenant = tenant_get(wanted)
    elif tied is None and not user.is_operator:
        tenants = tenants_of(user)
        if len(tenants) > 1:
            raise InvalidInput(
                _("You belong to several tenants."),
                cure=_("Send the header Weir-Tenant with one of: %(codes)s.")
                % {"codes": ", ".join(tenant.schema_name for tenant in tenants)},
            )
        tenant = tenants[0] if tenants else None
    if tenant is None:
        return
    _enter(request, tenant)


def _open_check(tenant: Tenant, user: User) -> None:
    if not tenant.is_active and not user.is_operator:
        raise Forbidden(_("This portal is suspended."), cure=_("Ask your computing centre."))


def actor_of(request: PortalRequest, user: User) -> Actor:
    """The actor a user is here: member of the tenant entered, or operator; with the active role's permissions."""
    tenant = request.entered_tenant
    if not user.is_active:
        raise Unauthenticated(_("The account is disabled."), cure=_("Ask your administrator."))
    if tenant is not None and Membership.objects.filter(user=user, tenant=tenant, is_active=True).exists():
        # Said here for every way in: by host, by header, by token, under /t/.
        _open_check(tenant, user)
        with in_tenant(tenant.schema_name):
            standing = standing_of(user.pk)
            role = _role_of(request, tenant.schema_name, standing.roles)
            reach = reach_of(user.pk, role.data_permission, standing.organization) if role else Reach()
        actor = _actor(request, user, "user", tenant.schema_name, role, reach)
        return replace(actor, default_system=standing.default_system)
    if user.is_operator:
        schema = tenant.schema_name if tenant else ""
        # An operator is in the same role wherever he goes: what was taken on at the centre opens a tenant's task too.
        return _actor(request, user, "operator", schema, _role_of(request, "", _operator_roles(user)))
    if tenant is not None:
        # Not a member: the tenant does not exist for this person.
        raise NotFound()
    return Actor(kind="user", name=user.username, user_id=user.pk, request_id=request.request_id)


def _operator_roles(user: User) -> list[Role]:
    return [binding.role for binding in user.operator_bindings.select_related("role")]


R = TypeVar("R", bound=Role)


def _role_of(request: PortalRequest, schema: str, roles: Sequence[R]) -> R | None:
    """The role asked for (header, then session), which must be held; else the first one held (PLAT-TEN-28)."""
    request.held_roles = list(roles)
    wanted = request.headers.get("Weir-Role", "")
    if wanted and all(role.code != wanted for role in roles):
        raise Forbidden(_("You do not hold the role %(role)s here.") % {"role": wanted})
    wanted = wanted or request.session.get(f"{ROLE_SESSION_KEY}:{schema}", "")
    return next((role for role in roles if role.code == wanted), roles[0] if roles else None)


def _actor(
    request: PortalRequest,
    user: User,
    kind: ActorKind,
    schema: str,
    role: Role | None,
    reach: Reach = Reach(),
) -> Actor:
    return Actor(
        kind=kind,
        name=user.username,
        user_id=user.pk,
        tenant=schema,
        role=role.code if role else "",
        permissions=frozenset(role.permissions) if role else frozenset(),
        reach=reach,
        request_id=request.request_id,
        is_read_only=bool(role and role.is_read_only),
    )


class Problems:
    """A WeirError that a page lets through becomes a page, or an alert in place for HTMX; the same words either way."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: PortalRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: PortalRequest, error: Exception) -> HttpResponse | None:
        known = error if isinstance(error, WeirError) else busy_of(error)
        if isinstance(known, Forbidden):
            refusal_record(request.actor, request.method or "", request.path, known)
        return refuse(request, known) if known else None


def refuse(request: HttpRequest, error: WeirError) -> HttpResponse:
    """The answer to a refused request, in the form its caller reads."""
    response = _refusal(request, error)
    if isinstance(error, Busy):
        response["Retry-After"] = str(error.retry_after_s)
    return response


def is_program(request: HttpRequest) -> bool:
    """Whether it reads answers in the API's form: by its address, or as it came with a token, as no browser does."""
    return request.path_info.startswith(API) or getattr(request, "by_token", False)


def program_answer(request: HttpRequest, error: WeirError, status: int) -> HttpResponse:
    """An error in the form of the API that was asked: our own, or Annex A's envelope."""
    told = error.as_json()
    if request.path_info.startswith(_ANNEX_A):
        told = envelope_of(told, status)
    return JsonResponse(told, status=status)


def _refusal(request: HttpRequest, error: WeirError) -> HttpResponse:
    if is_program(request):
        return program_answer(request, error, error.status)
    is_fragment = request.headers.get("HX-Request") == "true"
    template = "_problem.html" if is_fragment else "problem.html"
    response = render(request, template, {"error": error, "status": error.status}, status=error.status)
    if is_fragment:
        response["HX-Retarget"], response["HX-Reswap"] = "#problems", "innerHTML"
    return response
