"""What a user may hold: a ticket for more is decided in the inbox; a resource group has its own queue."""

from apps.approvals.events import ProcessFinished
from apps.approvals.services import process_start, process_withdraw
from apps.fleet.events import GroupMade, GroupRemoved
from apps.kernel.actor import Actor
from apps.kernel.planes import in_tenant
from apps.orgs.selectors.organizations import organization_of
from apps.scheduling.events import ResourceTicketAsked, ResourceTicketWithdrawn
from apps.scheduling.selectors.entitlements.resource_tickets import ticket_get_across
from apps.scheduling.services.entitlements.resource_tickets import KIND, resource_ticket_decided
from apps.scheduling.services.queues.queue_settings import group_queue_make, group_queue_remove
from portal.subscribers.shipped_processes import last_comment, template_of

PROCESS = "resource_ticket_approval"
_TITLES = {"title_en": "{who} asks to hold more of the pool", "title_zh": "{who} 申请更多资源"}


def ticket_asked(event: ResourceTicketAsked, actor: Actor) -> None:
    """Its approval starts with it (PLAT-CLU-32)."""
    row = ticket_get_across(event.ticket_uid)
    titles = {name: text.format(who=row.applicant) for name, text in _TITLES.items()}
    with in_tenant(event.schema):
        organization = organization_of(row.applicant_id)
        process_start(
            actor=actor,
            template=template_of(PROCESS),
            subject_kind=KIND,
            subject_uid=row.uid,
            subject_no=row.no,
            applicant_id=row.applicant_id,
            data={},
            organization_id=organization.pk if organization else None,
            organization_name=str(organization or ""),
            title_zh=titles["title_zh"],
            title_en=titles["title_en"],
        )


def ticket_withdrawn(event: ResourceTicketWithdrawn, actor: Actor) -> None:
    with in_tenant(event.schema):
        process_withdraw(actor=actor, subject_uid=event.ticket_uid)


def ticket_is_decided(event: ProcessFinished, actor: Actor) -> None:
    """Approved or refused, with what was said on it last."""
    if event.subject_kind != KIND:
        return
    with in_tenant(event.schema):
        comment = last_comment(event.subject_uid)
    is_approved = event.outcome == "approved"
    resource_ticket_decided(actor=actor, uid=event.subject_uid, approved=is_approved, comment=comment)


def group_made(event: GroupMade, actor: Actor) -> None:
    group_queue_make(actor=actor, code=event.code, name_en=event.name_en, name_zh=event.name_zh)


def group_removed(event: GroupRemoved, actor: Actor) -> None:
    group_queue_remove(actor=actor, code=event.code)
