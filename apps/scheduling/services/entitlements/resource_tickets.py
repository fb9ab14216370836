"""A user asks to hold more for a time; who decides on it, decides elsewhere (PLAT-CLU-32, PLAT-CLU-42 to 45)."""

from datetime import datetime
from uuid import UUID, uuid4

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.notices.push import push
from apps.notices.services import notice_send
from apps.scheduling.events import ResourceTicketAsked, ResourceTicketWithdrawn
from apps.scheduling.models import ResourceTicket
from apps.scheduling.permissions import FOR_ALL, ResourcePermission
from apps.scheduling.permissions import SchedulingPermission as P
from apps.scheduling.services.entitlements.access_rules import amounts_check, span_check
from apps.scheduling.states import TICKET_FLOW, ResourceTicketState
from apps.tenancy.models import Tenant

MOST_WAITING = 20
KIND = "resource_ticket"
_MESSAGES = {
    "approved": gettext_noop("Your resource ticket %(no)s is approved."),
    "refused": gettext_noop("Your resource ticket %(no)s is refused. %(comment)s"),
    "disabled": gettext_noop("Your resource ticket %(no)s is disabled: what it gave has ended."),
    "deleted": gettext_noop("Your resource ticket %(no)s is deleted: what it gave has ended."),
}


@service()
def resource_ticket_ask(
    *,
    actor: Actor,
    tenant: Tenant,
    reason: str,
    from_at: datetime,
    until_at: datetime,
    instances: int | None = None,
    compute_percent: int | None = None,
    memory_mib: int | None = None,
    for_all: bool = False,
) -> ResourceTicket:
    """Ask to hold so much from one instant to another, for oneself or for each user of the tenant. Nothing changes
    before it is approved. Raises Conflict when too many of the actor's wait, or nobody could decide."""
    actor.require(FOR_ALL if for_all else ResourcePermission.OPERATE)
    amounts = {"instances": instances, "compute_percent": compute_percent, "memory_mib": memory_mib}
    amounts_check(amounts)
    span_check(from_at, until_at)
    if until_at <= timezone.now():
        raise InvalidInput(fields={"until_at": _("later than now")})
    _waiting_check(actor, tenant)
    uid = uuid4()
    row = ResourceTicket.plain.create(
        uid=uid,
        no=f"RT-{uid.hex[:10].upper()}",
        tenant=tenant,
        applicant_id=actor.user_id,
        user_id=None if for_all else actor.user_id,
        reason=reason.strip(),
        from_at=from_at,
        until_at=until_at,
        **amounts,
    )
    act_subject(KIND, row.uid, no=row.no, **row.amounts)
    emit(ResourceTicketAsked(schema=tenant.schema_name, ticket_uid=row.uid), actor=actor)
    _changed(row)
    return row


def _waiting_check(actor: Actor, tenant: Tenant) -> None:
    mine = ResourceTicket.objects.of(tenant).filter(
        applicant=actor.user_id, state=ResourceTicketState.WAITING
    )
    if mine.count() >= MOST_WAITING:
        raise Conflict(
            _("%(count)s of your resource tickets wait for a decision.") % {"count": MOST_WAITING},
            cure=_("Withdraw some, or wait until they are decided."),
        )


@service()
def resource_ticket_withdraw(*, actor: Actor, tenant: Tenant, uid: UUID) -> ResourceTicket:
    """Take one's own ticket back, before anybody has decided on it."""
    row = ResourceTicket.objects.of(tenant).filter(uid=uid, applicant=actor.user_id or 0).first()
    if row is None:
        raise NotFound()
    act_subject(KIND, row.uid, no=row.no)
    if row.state == ResourceTicketState.WAITING:
        # Before the row: who decides takes its process first too.
        emit(ResourceTicketWithdrawn(schema=tenant.schema_name, ticket_uid=row.uid), actor=actor)
    TICKET_FLOW.move(row, ResourceTicketState.WITHDRAWN, actor=actor)
    _changed(row)
    return row


@service()
def resource_ticket_decided(*, actor: Actor, uid: UUID, approved: bool, comment: str = "") -> None:
    """It was decided on by `actor`: approved, it raises the limit within its period; refused, it changes nothing."""
    row = ResourceTicket.plain.filter(uid=uid).select_related("tenant").first()
    if row is None:
        return
    act_subject(KIND, row.uid, no=row.no, approved=approved)
    state = ResourceTicketState.APPROVED if approved else ResourceTicketState.REFUSED
    TICKET_FLOW.move(
        row, state, actor=actor,
        decided_by_id=actor.user_id, decided_at=timezone.now(), comment=comment[:1000],
    )  # fmt: skip
    _notify(row, actor)


_ACTS = {
    "disable": ResourceTicketState.DISABLED,
    "enable": ResourceTicketState.APPROVED,
    "delete": ResourceTicketState.DELETED,
}


@service(P.MANAGE)
def resource_ticket_act(*, actor: Actor, uid: UUID, act: str) -> ResourceTicket:
    """`disable`, `enable` or `delete` a ticket that was approved: what it gave ends, or holds again, at once; what runs
    goes on (PLAT-CLU-43, PLAT-CLU-44). It stays on record."""
    row = ResourceTicket.plain.filter(uid=uid).select_related("tenant").first()
    if row is None or act not in _ACTS:
        raise NotFound()
    act_subject(KIND, row.uid, no=row.no, act=act)
    if row.state == ResourceTicketState.WAITING:
        raise Conflict(
            _("%(no)s waits for a decision.") % {"no": row.no}, cure=_("Refuse it in the inbox instead.")
        )
    TICKET_FLOW.move(row, _ACTS[act], actor=actor)
    _notify(row, actor)
    return row


def _notify(row: ResourceTicket, actor: Actor) -> None:
    """Its applicant hears of it, and open pages show it."""
    notice_send(
        actor=actor,
        user_ids=[row.applicant_id],
        msgid=_MESSAGES[row.state],
        params={"no": row.no, "comment": row.comment},
        link=f"/resources/tickets/{row.uid}/",
        tenant=row.tenant,
    )
    _changed(row)


def _changed(row: ResourceTicket) -> None:
    push(f"tenant.{row.tenant.schema_name}.resources")
