"""How far a business system is, as somebody reports it, is confirmed in the inbox (PLAT-TEN-23)."""

from apps.approvals.events import ProcessFinished
from apps.approvals.services import process_start, process_withdraw
from apps.kernel.actor import Actor
from apps.kernel.planes import in_tenant
from apps.orgs.events import ProgressReported, ProgressWithdrawn
from apps.orgs.selectors.business_systems import progress_get_across
from apps.orgs.services.progress import KIND, progress_decided
from portal.subscribers.shipped_processes import last_comment, template_of

PROCESS = "business_system_progress"


def progress_reported(event: ProgressReported, actor: Actor) -> None:
    with in_tenant(event.schema):
        row = progress_get_across(event.report_uid)
        system = row.business_system
        process_start(
            actor=actor,
            template=template_of(PROCESS),
            subject_kind=KIND,
            subject_uid=row.uid,
            subject_no=row.no,
            applicant_id=row.reported_by_id,
            data={},
            organization_id=system.organization_id,
            organization_name=system.organization.name,
            business_system_id=system.pk,
            business_system_name=system.name,
            title_zh=f"业务系统进度：{system.name}",
            title_en=f"Progress of {system.name}",
        )


def progress_withdrawn(event: ProgressWithdrawn, actor: Actor) -> None:
    with in_tenant(event.schema):
        process_withdraw(actor=actor, subject_uid=event.report_uid)


def progress_is_decided(event: ProcessFinished, actor: Actor) -> None:
    """Confirmed or refused, with what was said on it last."""
    if event.subject_kind != KIND:
        return
    with in_tenant(event.schema):
        progress_decided(
            actor=actor,
            uid=event.subject_uid,
            is_confirmed=event.outcome == "approved",
            comment=last_comment(event.subject_uid),
        )
