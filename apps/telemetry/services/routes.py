"""Who is told of alarms: routes made, edited and removed by operators (POOL-12.19)."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.identity.models import OperatorRole
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.service import service
from apps.telemetry.models import AlarmDelivery, AlarmRoute
from apps.telemetry.permissions import AlarmPermission as P
from apps.telemetry.states import AlarmLevel, Channel, DeliveryState

ADDRESSES_MAX = 50
EDITABLE = ("name", "severities", "addresses", "roles", "is_enabled")


@service(P.MANAGE)
def route_make(
    *,
    actor: Actor,
    channel: str,
    name: str = "",
    severities: Sequence[str] = (),
    addresses: Sequence[str] = (),
    roles: Sequence[str] = (),
    is_enabled: bool = True,
) -> AlarmRoute:
    """Tell people of alarms from now on: by e-mail to `addresses`, or in-site to who holds one of `roles`.

    InvalidInput names a channel, severity, address or role that is none, or a route that reaches nobody.
    """
    if channel not in Channel.values:
        raise InvalidInput(fields={"channel": _("in_site or email.")})
    row = AlarmRoute(
        channel=channel,
        name=name.strip(),
        severities=_unique(severities),
        addresses=_unique(addresses),
        roles=_unique(roles),
        is_enabled=is_enabled,
    )
    _check(row)
    row.save()
    act_subject("alarm_route", row.uid, channel=channel)
    return row


@service(P.MANAGE)
def route_edit(*, actor: Actor, route_uid: UUID | str, changes: Mapping[str, Any]) -> AlarmRoute:
    """Change what is named: name, severities, addresses, roles, is_enabled. Its channel stays."""
    row = _locked(route_uid)
    for name, value in changes.items():
        if name not in EDITABLE:
            raise InvalidInput(fields={name: _("This cannot be changed.")})
        setattr(row, name, _unique(value) if isinstance(value, (list, tuple)) else value)
    _check(row)
    row.save()
    if not row.is_enabled:
        _pending_end(row)
    act_subject("alarm_route", row.uid, **changes)
    return row


@service(P.MANAGE)
def route_remove(*, actor: Actor, route_uid: UUID | str) -> None:
    """Tell nobody over this route any more; what was delivered stays on record."""
    row = _locked(route_uid)
    row.is_enabled, row.removed_at = False, timezone.now()
    row.save(update_fields=["is_enabled", "removed_at", "updated_at"])
    _pending_end(row)
    act_subject("alarm_route", row.uid)


def _locked(uid: UUID | str) -> AlarmRoute:
    row = AlarmRoute.objects.select_for_update().filter(uid=uid, removed_at=None).first()
    if row is None:
        raise NotFound(_("There is no such alarm route."))
    return row


def _pending_end(row: AlarmRoute) -> None:
    """What is still to be told over a route that is off is told no more."""
    rows = AlarmDelivery.objects.filter(route=row, state=DeliveryState.PENDING)
    rows.update(state=DeliveryState.FAILED, error=_("The route was switched off."), updated_at=timezone.now())


def _unique(values: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(value.strip() for value in values))


def _check(row: AlarmRoute) -> None:
    wrong: dict[str, object] = {}
    if set(row.severities) - set(AlarmLevel.values):
        wrong["severities"] = _("critical, major, minor or notice.")
    unknown = set(row.roles) - set(OperatorRole.objects.values_list("code", flat=True))
    if unknown:
        wrong["roles"] = _("No such role: %(roles)s") % {"roles": ", ".join(sorted(unknown))}
    if len(row.addresses) > ADDRESSES_MAX or not all(map(_is_address, row.addresses)):
        wrong["addresses"] = _("At most %(most)s e-mail addresses.") % {"most": ADDRESSES_MAX}
    if row.channel == Channel.EMAIL and not row.addresses:
        wrong.setdefault("addresses", _("An e-mail route needs at least one address."))
    if row.channel == Channel.IN_SITE and not row.roles:
        wrong.setdefault("roles", _("An in-site route needs at least one role."))
    if wrong:
        raise InvalidInput(fields=wrong)


def _is_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return True
