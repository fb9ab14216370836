"""Telling people of alarms, and when they are over: one delivery of each for each alarm and route, tried until it is
through or given up. Whoever was not told of the alarm is not told of its end.

An e-mail may come twice (a process that dies between sending and saying so), never not at all while its server can be
reached within the tries. An in-site message comes exactly once.
"""

from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from apps.identity.selectors import operators_with_role
from apps.kernel.actor import Actor
from apps.kernel.control_characters import control_removed
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.kernel.translatable import message
from apps.telemetry.events import AlarmNotified
from apps.telemetry.models import Alarm, AlarmDelivery, AlarmRoute
from apps.telemetry.services.wording import OVER, lines_of
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


def deliveries_make_over(alarm: Alarm) -> None:
    """Make the message that the alarm is over, for each enabled route that has told of it or is about to. A first
    message that nobody has begun to send says itself that it is over. Internal to the app's services."""
    now = timezone.now()
    told = AlarmDelivery.objects.filter(alarm=alarm, is_over=False, route__is_enabled=True)
    told = told.filter(Q(state=DeliveryState.SENT) | Q(state=DeliveryState.PENDING, tries__gt=0))
    rows = [
        AlarmDelivery(alarm=alarm, route=first.route, channel=first.channel, is_over=True, next_try_at=now)
        for first in told.select_related("route")
    ]
    AlarmDelivery.objects.bulk_create(rows, ignore_conflicts=True)


@service(recorded=False)
def delivery_claim(*, actor: Actor) -> AlarmDelivery | None:
    """The delivery that is due, kept from others for a minute; None when none is. That it is over waits until the
    alarm itself was told."""
    now = timezone.now()
    first = AlarmDelivery.objects.filter(
        alarm=OuterRef("alarm"), route=OuterRef("route"), is_over=False, state=DeliveryState.PENDING
    )
    due = AlarmDelivery.objects.filter(state=DeliveryState.PENDING, next_try_at__lte=now)
    due = due.filter(Q(is_over=False) | ~Exists(first)).order_by("next_try_at", "pk")
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
    alarm, msgid, params = row.alarm, row.alarm.msgid, row.alarm.params
    if row.is_over:
        msgid, params = OVER, {"alarm": message(msgid, params)}
    emit(
        AlarmNotified(
            user_ids=tuple(sorted(users)), msgid=msgid, params=params, link=f"/alarms/{alarm.uid}/"
        ),
        actor=actor,
    )
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
    # Another program's words: what a database cannot keep is left out.
    row.error = control_removed(" ".join(error.split()))[:_ERROR_LENGTH]
    if not error:
        row.state, row.sent_at = DeliveryState.SENT, now
    elif row.tries >= TRIES_MAX:
        row.state = DeliveryState.FAILED
        _over_drop(row)
    else:
        wait_s = min(_FIRST_WAIT_S * 2 ** (row.tries - 1), _WAIT_MAX_S)
        row.next_try_at = now + timedelta(seconds=wait_s)
    row.save(update_fields=["state", "error", "sent_at", "next_try_at", "updated_at"])


def _over_drop(row: AlarmDelivery) -> None:
    """Whom the alarm could not be told is not told that it is over."""
    rows = AlarmDelivery.objects.filter(alarm=row.alarm_id, route=row.route_id, is_over=True)
    rows.filter(state=DeliveryState.PENDING).update(
        state=DeliveryState.FAILED, error=_("The alarm itself was not told."), updated_at=timezone.now()
    )


def mail_send(delivery: AlarmDelivery) -> None:
    """Send an alarm, or that it is over, to the route's addresses in both languages, outside of any transaction.

    Raises OSError or smtplib.SMTPException when the server does not take it.
    """
    headers = {
        "X-Weir-Alarm": str(delivery.alarm.uid),
        "Message-ID": f"<{delivery.uid}@weir>",
        # So that mail programs show an alarm and its end together.
        "References": f"<alarm.{delivery.alarm.uid}@weir>",
    }
    _mail(delivery.route, delivery.alarm, headers, is_over=delivery.is_over)


def mail_try(route: AlarmRoute) -> None:
    """Send a mail that says it is a test to the route's addresses. Raises as `mail_send`."""
    _mail(route, None, {}, is_over=False)


def _mail(route: AlarmRoute, alarm: Alarm | None, headers: dict[str, str], *, is_over: bool) -> None:
    parts, subject = [], ""
    for code, _name in settings.LANGUAGES:
        with translation.override(code):
            lines = lines_of(alarm, is_over=is_over)
        parts.append("\n".join(lines))
        subject = subject or lines[0]
    EmailMessage(
        subject=" ".join(f"[Weir] {subject}".split())[:200],
        body="\n\n".join(parts),
        to=list(route.addresses),
        headers=headers,
    ).send()
