"""Who may go through the gateway: which workload a host name is of, whose browser asks, and from which page."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.kernel.planes import in_public, in_tenant
from apps.orgs.selectors.roles import permissions_of
from apps.scheduling.permissions import ResourcePermission
from apps.scheduling.selectors.web_pages import WebPages, web_pages_get
from apps.scheduling.services.service_keys import PREFIX, KeyHolder, service_key_holder
from apps.scheduling.services.web_pages import ACCESS_S, WebAccess, web_access_get, web_ticket_take
from apps.scheduling.services.work_access import WorkAccess
from portal.gateway.threads import in_thread

Scope = dict[str, Any]
# A decision is good for so long: what a page loads is hundreds of files.
REMEMBERED_S = 5.0
_REMEMBERED_MOST = 4096
# A host has one such cookie; a neighbour may have set one more of that name where there is no TLS.
_TOKENS_MOST = 2
_KEY = re.compile(rb"(?i:bearer) +(weirsvc_[A-Za-z0-9_-]{1,100}) *")
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class Admitted:
    """A browser that may see these web pages."""

    pages: WebPages
    back: str


class Doorkeeper:
    """Decides for each request, and remembers it for a moment."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, UUID], tuple[float, Admitted | None]] = OrderedDict()

    async def admitted(self, scope: Scope, workload_uid: UUID) -> Admitted | None:
        """Whom the key or the cookies of the request let in; None: nobody. Who sends a key comes by that alone."""
        for token in [key] if (key := service_key(scope)) else _tokens(scope):
            found = await self._decide(token, workload_uid)
            if found is not None:
                return found
        return None

    async def _decide(self, token: str, workload_uid: UUID) -> Admitted | None:
        key, now_s = (token, workload_uid), time.monotonic()
        known = self._known.get(key)
        if known is not None and known[0] > now_s:
            return known[1]
        found = await in_thread(_admitted, token, workload_uid)
        self._known[key] = (now_s + REMEMBERED_S, found)
        self._known.move_to_end(key)
        while len(self._known) > _REMEMBERED_MOST:
            self._known.popitem(last=False)
        return found


def _admitted(token: str, workload_uid: UUID) -> Admitted | None:
    with in_public():
        access = (
            service_key_holder(token, workload_uid)
            if token.startswith(PREFIX)
            else web_access_get(token, workload_uid)
        )
        pages = web_pages_get(workload_uid) if access is not None and may_operate(access) else None
        if access is None or pages is None or pages.owner_id != access.user_id:
            return None
        return Admitted(pages, access.back if isinstance(access, WebAccess) else "")


def service_key(scope: Scope) -> str:
    """The key of a service that a program sends; "" where it sends none."""
    for name, value in scope["headers"]:
        if name == b"authorization" and (found := _KEY.fullmatch(value)):
            return found[1].decode()
    return ""


def may_operate(access: WorkAccess | KeyHolder) -> bool:
    """Whether who was let in still holds the role that allows it."""
    with in_tenant(access.schema):
        return ResourcePermission.OPERATE in permissions_of(access.user_id, access.role)


async def ticket_take(ticket: str, workload_uid: UUID) -> str | None:
    """The token for a ticket; None where the ticket does not hold."""
    return await in_thread(web_ticket_take, ticket, workload_uid)


def is_secure(scope: Scope) -> bool:
    """Whether the browser came by TLS."""
    return scope["scheme"] in ("https", "wss")


def cookie_name(scope: Scope) -> str:
    """By TLS the browser itself sees to it that no other host sets this cookie."""
    return "__Host-weir_web" if is_secure(scope) else "weir_web"


def cookie_set(scope: Scope, token: str) -> bytes:
    """The header's value that gives a browser its token: for this host alone, unseen by scripts."""
    secure = "; Secure" if is_secure(scope) else ""
    name = cookie_name(scope)
    return f"{name}={token}; Path=/; HttpOnly; SameSite=Lax; Max-Age={ACCESS_S}{secure}".encode()


def cookies_forwarded(value: bytes) -> bytes:
    """A Cookie header without what is the gateway's."""
    pairs = [pair.strip() for pair in value.split(b";")]
    own = (b"weir_web=", b"__Host-weir_web=")
    return b"; ".join(pair for pair in pairs if pair and not pair.startswith(own))


def is_foreign(scope: Scope) -> bool:
    """Whether a page of another origin asks, and not a person who follows a link to here.

    Environments are neighbours: to the browser they may be one site, so its cookie rules alone do not part them.
    """
    headers = dict(scope["headers"])
    host = headers.get(b"host", b"")
    own = {b"https://" + host} if is_secure(scope) else {b"http://" + host}
    origin = headers.get(b"origin")
    if origin is not None:
        return origin not in own
    if scope["type"] == "websocket":
        return False
    site = headers.get(b"sec-fetch-site", b"none")
    follows_link = (
        scope["method"] == "GET"
        and headers.get(b"sec-fetch-mode", b"navigate") == b"navigate"
        and headers.get(b"sec-fetch-dest", b"document") == b"document"
    )
    return site in (b"cross-site", b"same-site") and not follows_link


def _tokens(scope: Scope) -> list[str]:
    """What may be tokens of the gateway's among the cookies of a request; whatever else it brings is not looked up."""
    begin = cookie_name(scope) + "="
    found = [
        pair.strip().removeprefix(begin)
        for name, value in scope["headers"]
        if name == b"cookie"
        for pair in value.decode("latin-1").split(";")
        if pair.strip().startswith(begin)
    ]
    return [token for token in found if _TOKEN.fullmatch(token)][:_TOKENS_MOST]
