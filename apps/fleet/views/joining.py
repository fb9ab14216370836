"""The page that lets a node join: the line to run on it, and whether it has come."""

from uuid import UUID

from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from apps.fleet.forms import JoinForm
from apps.fleet.permissions import FleetPermission as P
from apps.fleet.selectors import node_list
from apps.identity.pages.access import operator_page, show
from apps.identity.pages.addresses import portal_address
from apps.identity.pages.requests import PortalRequest
from apps.identity.selectors import join_token_get
from apps.identity.services.tokens import join_token_make

# HTMX asks no more after this status, and shows what it came with.
_ANSWERED = 286


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@operator_page(P.MANAGE)
def join(request: PortalRequest) -> HttpResponse:
    """Ask which node is to join; then show what to run there: its token on this answer alone."""
    form = JoinForm(request.POST if request.method == "POST" else None)
    if not form.is_bound or not form.is_valid():
        return show(request, "fleet/join", {"form": form}, status=400 if form.is_bound else 200)
    name = form.cleaned_data["name"]
    token, secret = join_token_make(
        actor=request.actor, note=name, ttl_s=int(form.cleaned_data["lifetime_s"])
    )
    server = portal_address(request, None).rstrip("/")
    return show(
        request,
        "fleet/join_made",
        {
            "token": token,
            "name": name,
            "line": f"WEIR_AGENT_SERVER={server} WEIR_AGENT_JOIN_TOKEN={secret} "
            f"WEIR_AGENT_NAME={name} python -m node_agent",
        },
    )


@require_GET
@operator_page(P.MANAGE)
def joined(request: PortalRequest, uid: UUID) -> HttpResponse:
    """Whether the node of a join token has come, and with how many devices."""
    token = join_token_get(uid)
    node = node_list().filter(uid=token.node_uid).first() if token.used_at else None
    is_over = token.revoked_at is not None or (
        token.used_at is None and token.expires_at is not None and token.expires_at < timezone.now()
    )
    status = _ANSWERED if request.htmx and (node or is_over) else 200
    context = {"token": token, "node": node, "is_over": is_over}
    return show(request, "fleet/joined", context, status=status)
