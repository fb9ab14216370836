"""Opening the web pages of work: a ticket leads a browser there once, and what it gets for it is asked about again."""

import hashlib
import secrets
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from django.utils.translation import gettext as _

from apps.identity.pages.sessions import watcher_id
from apps.identity.services.tokens import api_token_get
from apps.identity.services.users import tenants_of
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, Forbidden, NotFound
from apps.kernel.service import service
from apps.scheduling.permissions import ResourcePermission as P
from apps.scheduling.selectors.web_pages import may_open_web, serves_web
from apps.scheduling.selectors.workloads import workload_get
from apps.tenancy.models import Tenant

# How long a ticket waits to be used, and how long what it is changed for lets its browser in.
TICKET_S = 60
ACCESS_S = 12 * 3600
# Where a ticket is changed, on the host of the pages; the work never sees what is asked there.
ENTER_PATH = "/.weir/enter"


@dataclass(frozen=True, slots=True)
class WebAccess:
    """Who was let in to the web pages of which workload.

    `session_key` is that of the browser that was signed in to the portal: access ends with it. Where the ticket was
    asked for with an API token it is empty, and access ends with the token of `token_digest`. `back` is the address in
    the portal that opens the pages again.
    """

    workload_uid: str
    schema: str
    user_id: int
    session_key: str
    token_digest: str
    back: str


@service(P.OPERATE)
def web_pages_open(
    *,
    actor: Actor,
    tenant: Tenant,
    workload_uid: UUID,
    session_key: str = "",
    token_digest: str = "",
    back: str = "",
) -> str:
    """A ticket that lets one browser in to the web pages of the actor's own workload; once, within a minute.

    It is asked for from a browser's session or with an API token, which is named: access ends with it.

    Raises:
        NotFound: there is no such workload, or it serves no pages.
        Forbidden: somebody else submitted it.
        Conflict: it is over.
    """
    row = workload_get(tenant, workload_uid, actor=actor)
    if not serves_web(row):
        raise NotFound(_("%(no)s serves no web pages.") % {"no": row.no})
    if not may_open_web(actor, row):
        raise Forbidden(
            _("The web pages of %(no)s are for who submitted it.") % {"no": row.no},
            cure=_("Start one of your own."),
        )
    if row.is_final:
        raise Conflict(_("%(no)s is over.") % {"no": row.no}, cure=_("Start another one."))
    act_subject("workload", row.uid, no=row.no)
    assert actor.user_id is not None
    access = WebAccess(str(row.uid), tenant.schema_name, actor.user_id, session_key, token_digest, back)
    return _kept("ticket", access, TICKET_S)


def web_ticket_take(ticket: str, workload_uid: UUID) -> str | None:
    """Change a ticket for the token that the browser brings from now on; None where it does not hold (any more)."""
    access = _read("ticket", ticket)
    # Who deletes it has it: of two that come at once one does.
    if access is None or access.workload_uid != str(workload_uid) or not cache.delete(_key("ticket", ticket)):
        return None
    return _kept("access", access, ACCESS_S)


def web_access_get(token: str, workload_uid: UUID) -> WebAccess | None:
    """What a browser's token lets it in to; None where it does not, or no longer.

    It ends with the session of the portal that it came from, with the account and with the membership of the tenant.
    """
    access = _read("access", token)
    if access is None or access.workload_uid != str(workload_uid):
        return None
    if access.session_key:
        is_in = watcher_id(access.session_key, (access.schema,)) == access.user_id
    else:
        is_in = _token_holds(access)
    return access if is_in else None


def _token_holds(access: WebAccess) -> bool:
    token = api_token_get(access.token_digest)
    if token is None or token.user_id != access.user_id:
        return False
    return access.schema in {tenant.schema_name for tenant in tenants_of(token.user)}


def web_host(workload_uid: UUID) -> str:
    """The host name of a workload's web pages, without the port: an origin of their own, never the portal's."""
    return f"w-{workload_uid.hex}.{settings.WEIR_WEB_DOMAIN}"


def web_host_read(host: str) -> UUID | None:
    """The workload whose web pages live at a host name; None where it is no such name."""
    label, _dot, domain = host.partition(".")
    if domain != settings.WEIR_WEB_DOMAIN or not label.startswith("w-"):
        return None
    try:
        return UUID(hex=label.removeprefix("w-"))
    except ValueError:
        return None


def _kept(kind: str, access: WebAccess, seconds: int) -> str:
    secret = secrets.token_urlsafe(32)
    cache.set(_key(kind, secret), asdict(access), seconds)
    return secret


def _read(kind: str, secret: str) -> WebAccess | None:
    found: dict[str, Any] | None = cache.get(_key(kind, secret))
    return WebAccess(**found) if found else None


def _key(kind: str, secret: str) -> str:
    """Who can read the cache cannot use what is in it."""
    return f"web-{kind}.{hashlib.sha256(secret.encode()).hexdigest()}"
