"""Telling people of alarms: one delivery for each alarm and route, tried until it is through or given up.

An e-mail may come twice (a process that dies between sending and saying so), never not at all while its server can be
reached within the tries. An in-site message comes exactly once.
"""

from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMessage
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from apps.identity.selectors import operators_with_role
from apps.kernel.acts import Actor
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.telemetry.events import AlarmTold
from apps.telemetry.models import Alarm, AlarmDelivery, AlarmRoute
from apps.telemetry.states import DeliveryState

TRIES_MAX = 8
_FIRST_WAIT_S = 10
_WAIT_MAX_S = 600
# Longer than a mail server may take: until then nobody else tries the same delivery.
_LEASE = timedelta(seconds=60)
_ERROR_LENGTH = 300


def deliveries_make(alarm: Alarm) -> None:
    """One pending delivery for each route that takes alarms of this severity. Internal to the app's services."""
    now = timezone.now()
    routes = AlarmRoute.objects.filter(is_enabled=True, removed_at=None)
    rows = [
        AlarmDelivery(alarm=alarm, route=route, channel=route.channel, next_try_at=now)
        for route in routes
        if not route.severities or alarm.level in route.severities
    ]
    AlarmDelivery.objects.bulk_create(rows, ignore_conflicts=True)


@service(recorded=False)
def delivery_claim(*, actor: Actor) -> AlarmDelivery | None:
    """The delivery that is due, kept from others for a minute; None when none is."""
    now = timezone.now()
    due = AlarmDelivery.objects.filter(state=DeliveryState.PENDING, next_try_at__lte=now)
    row = due.select_for_update(skip_locked=True, of=("self",)).select_related("alarm", "route").first()
    if row is None:
        return None
    row.tries += 1
    row.next_try_at = now + _LEASE
    row.save(update_fields=["tries", "next_try_at", "updated_at"])
    return row


@service(recorded=False)
def delivery_message(*, actor: Actor, delivery_uid: UUID) -> None:
    """Leave an in-site message with everybody who holds one of the route's roles; told and settled in one go."""
    rows = AlarmDelivery.objects.select_for_update(of=("self",)).select_related("alarm", "route")
    row = rows.filter(uid=delivery_uid, state=DeliveryState.PENDING).first()
    if row is None:
        return
    users = {user for role in row.route.roles for user in operators_with_role(role)}
    if not users:
        _settle(row, _("Nobody holds one of its roles."))
        return
    alarm = row.alarm
    told = AlarmTold(
        user_ids=tuple(sorted(users)), msgid=alarm.msgid, params=alarm.params, link=f"/alarms/{alarm.uid}/"
    )
    emit(told, actor=actor)
    _settle(row, "")


@service(recorded=False)
def delivery_settle(*, actor: Actor, delivery_uid: UUID, error: str = "") -> AlarmDelivery:
    """Say how a try went: sent, or why not and when it is tried again; after the last try it has failed."""
    row = AlarmDelivery.objects.select_for_update().get(uid=delivery_uid)
    if row.state == DeliveryState.PENDING:
        _settle(row, error)
    return row


def _settle(row: AlarmDelivery, error: str) -> None:
    now = timezone.now()
    row.error = " ".join(error.split())[:_ERROR_LENGTH]
    if not error:
        row.state, row.sent_at = DeliveryState.SENT, now
    elif row.tries >= TRIES_MAX:
        row.state = DeliveryState.FAILED
    else:
        wait_s = min(_FIRST_WAIT_S * 2 ** (row.tries - 1), _WAIT_MAX_S)
        row.next_try_at = now + timedelta(seconds=wait_s)
    row.save(update_fields=["state", "error", "sent_at", "next_try_at", "updated_at"])


def mail_send(delivery: AlarmDelivery) -> None:
    """Send an alarm to the route's addresses in both languages, outside of any transaction.

    Raises OSError or smtplib.SMTPException when the server does not take it.
    """
    parts, subject = [], ""
    for code, _name in settings.LANGUAGES:
        with translation.override(code):
            lines = _lines(delivery.alarm)
        parts.append("\n".join(lines))
        subject = subject or lines[0]
    EmailMessage(
        subject=" ".join(f"[Weir] {subject}".split())[:200],
        body="\n\n".join(parts),
        to=list(delivery.route.addresses),
        headers={"X-Weir-Alarm": str(delivery.alarm.uid), "Message-ID": f"<{delivery.uid}@weir>"},
    ).send()


def _lines(alarm: Alarm) -> list[str]:
    since = timezone.localtime(alarm.fired_at).strftime("%Y-%m-%d %H:%M:%S %z")
    rule = alarm.rule.code if alarm.rule_id else "–"
    return [
        f"{alarm.get_level_display()}: {alarm.title}",
        _("Since: %(since)s") % {"since": since},
        _("Rule: %(rule)s") % {"rule": rule},
        _("Subject: %(kind)s %(subject)s") % {"kind": alarm.subject_kind, "subject": alarm.subject_id},
        _("Number: %(uid)s") % {"uid": alarm.uid},
    ]
