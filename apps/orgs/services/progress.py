"""How far a business system is: reported by who takes part in it, confirmed elsewhere, as a process (PLAT-TEN-23)."""

from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.identity.selectors import user_names
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.events import emit
from apps.kernel.planes import current_schema, current_tenant
from apps.kernel.service import service
from apps.notices.push import push
from apps.notices.services import notice_send
from apps.orgs.events import ProgressReported, ProgressWithdrawn
from apps.orgs.models import BusinessSystem, ProgressReport
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.selectors.business_systems import business_system_user_ids
from apps.orgs.services.numbers import number_next
from apps.orgs.states import REPORT, ReportState, Stage

KIND = "progress"
_NOTE_MAX = 1000
_MESSAGES = {
    ReportState.CONFIRMED: gettext_noop("Your progress report %(no)s on %(name)s is confirmed."),
    ReportState.REFUSED: gettext_noop("Your progress report %(no)s on %(name)s is refused. %(comment)s"),
}


@service(P.VIEW)
def progress_report(
    *, actor: Actor, business_system: BusinessSystem, stage: str, done_percent: int, note: str
) -> ProgressReport:
    """Say how far a business system is, and have it confirmed; until then it stands where it stood.

    Forbidden for who neither takes part in it nor manages the tenant's map. Raises Conflict while another report on it
    waits, or where nobody could confirm it.
    """
    act_subject("business_system", business_system.uid, stage=stage, done_percent=done_percent)
    if actor.user_id is None or not _takes_part(actor, business_system):
        raise Forbidden(
            _("You take no part in %(name)s.") % {"name": business_system.name},
            cure=_("Somebody who takes part in it reports its progress."),
        )
    _said_check(stage, done_percent, note)
    row = ProgressReport(
        no=number_next(actor=actor, letter="P"),
        business_system=business_system,
        stage=stage,
        done_percent=done_percent,
        note=note.strip(),
        reported_by_id=actor.user_id,
        reporter_name=user_names({actor.user_id})[actor.user_id],
    )
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise Conflict(
            _("A report on %(name)s waits for its decision already.") % {"name": business_system.name},
            cure=_("Wait for the decision, or withdraw that report."),
        ) from error
    emit(ProgressReported(schema=current_schema(), report_uid=row.uid), actor=actor)
    _changed(row)
    return row


def _takes_part(actor: Actor, business_system: BusinessSystem) -> bool:
    return actor.may(P.MANAGE) or actor.user_id in business_system_user_ids(business_system)


def _said_check(stage: str, done_percent: int, note: str) -> None:
    wrong = {}
    if stage not in Stage.values:
        wrong["stage"] = _("Choose one of: %(all)s.") % {"all": ", ".join(map(str, Stage.labels))}
    if not 0 <= done_percent <= 100:
        wrong["done_percent"] = _("0 to 100.")
    if not 1 <= len(note.strip()) <= _NOTE_MAX:
        wrong["note"] = _("Give 1 to %(longest)s characters.") % {"longest": _NOTE_MAX}
    if wrong:
        raise InvalidInput(fields=wrong)


def _changed(row: ProgressReport) -> None:
    push(f"{KIND}.{row.uid}")


@service(P.VIEW)
def progress_withdraw(*, actor: Actor, uid: UUID) -> ProgressReport:
    """Take one's own report back, before anybody has decided on it."""
    row = ProgressReport.objects.filter(uid=uid, reported_by=actor.user_id or 0).first()
    if row is None:
        raise NotFound()
    act_subject(KIND, row.uid, no=row.no)
    if row.state == ReportState.WAITING:
        # Before the row: who decides takes its process first too.
        emit(ProgressWithdrawn(schema=current_schema(), report_uid=row.uid), actor=actor)
    REPORT.move(row, ReportState.WITHDRAWN, actor=actor)
    _changed(row)
    return row


@service()
def progress_decided(*, actor: Actor, uid: UUID, is_confirmed: bool, comment: str = "") -> None:
    """The process of a report has ended: confirmed, the business system stands where the report says."""
    row = ProgressReport.objects.select_related("business_system").filter(uid=uid).first()
    if row is None:
        return
    act_subject(KIND, row.uid, no=row.no, confirmed=is_confirmed)
    state = ReportState.CONFIRMED if is_confirmed else ReportState.REFUSED
    REPORT.move(row, state, actor=actor, decided_at=timezone.now(), comment=comment[:_NOTE_MAX])
    if is_confirmed:
        now = {"stage": row.stage, "done_percent": row.done_percent, "updated_at": timezone.now()}
        BusinessSystem.objects.filter(pk=row.business_system_id).update(**now)
    params = {"no": row.no, "name": row.business_system.name, "comment": row.comment}
    notice_send(
        actor=actor,
        user_ids=[row.reported_by_id],
        msgid=_MESSAGES[state],
        params=params,
        link=f"/organizations/business-systems/{row.business_system.uid}/",
        tenant=current_tenant(),
    )
    _changed(row)
