"""Opening the web pages of work: a ticket leads a browser there once, and what it gets for it is asked about again."""

from dataclasses import asdict, dataclass
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, Forbidden, NotFound
from apps.kernel.service import service
from apps.scheduling.permissions import ResourcePermission as P
from apps.scheduling.selectors.web_pages import may_open_web, serves_web
from apps.scheduling.selectors.workloads import workload_get
from apps.scheduling.services.work_access import (
    AskedBy,
    WorkAccess,
    access_holds,
    secret_keep,
    secret_read,
    secret_use,
)
from apps.tenancy.models import Tenant

# How long a ticket waits to be used, and how long what it is changed for lets its browser in.
TICKET_S = 60
ACCESS_S = 12 * 3600
# Where a ticket is changed, on the host of the pages; the work never sees what is asked there.
ENTER_PATH = "/.weir/enter"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebAccess(WorkAccess):
    """Who was let in to the web pages of which workload. `back` is the address in the portal that opens them again."""

    back: str


@service(P.OPERATE)
def web_pages_open(
    *,
    actor: Actor,
    tenant: Tenant,
    workload_uid: UUID,
    by: AskedBy,
    back: str = "",
) -> str:
    """A ticket that lets one browser in to the web pages of the actor's own workload; once, within a minute.

    Access ends with the session or token by which it is asked for.

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
    access = WebAccess(
        workload_uid=str(row.uid),
        schema=tenant.schema_name,
        user_id=actor.user_id,
        role=actor.role,
        session_key=by.session_key,
        token_digest=by.token_digest,
        back=back,
    )
    return secret_keep("ticket", asdict(access), TICKET_S)


def web_ticket_take(ticket: str, workload_uid: UUID) -> str | None:
    """Change a ticket for the token that the browser brings from now on; None where it does not hold (any more)."""
    access = secret_read("ticket", ticket)
    if access is None or access["workload_uid"] != str(workload_uid) or not secret_use("ticket", ticket):
        return None
    return secret_keep("access", access, ACCESS_S)


def web_access_get(token: str, workload_uid: UUID) -> WebAccess | None:
    """What a browser's token lets it in to; None where it does not, or no longer."""
    found = secret_read("access", token)
    if found is None or found["workload_uid"] != str(workload_uid):
        return None
    access = WebAccess(**found)
    return access if access_holds(access) else None


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
