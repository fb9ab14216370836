"""Who is told of alarms: routes made, edited and removed by operators (POOL-12.19)."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.identity.models import OperatorRole
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.service import service
from apps.telemetry.errors import TestRefused
from apps.telemetry.models import AlarmDelivery, AlarmRoute
from apps.telemetry.permissions import AlarmPermission as P
from apps.telemetry.services.deliveries import mail_try
from apps.telemetry.services.webhooks import hook_seal, hook_try
from apps.telemetry.states import AlarmLevel, Channel, DeliveryState, HookKind

ADDRESSES_MAX = 50
EDITABLE = ("name", "severities", "addresses", "roles", "hook_kind", "is_enabled")


@service(P.MANAGE)
def route_make(
    *,
    actor: Actor,
    channel: str,
    name: str = "",
    severities: Sequence[str] = (),
    addresses: Sequence[str] = (),
    roles: Sequence[str] = (),
    hook_kind: str = "",
    hook_url: str = "",
    hook_secret: str = "",
    is_enabled: bool = True,
) -> AlarmRoute:
    """Tell people of alarms from now on: by e-mail to `addresses`, in-site to who holds `roles`, or by a webhook.

    `hook_url` and `hook_secret` (which signs what is sent) are kept sealed and never shown again. InvalidInput names a
    channel, severity, address or role that is none, or a route that reaches nobody.
    """
    if channel not in Channel.values:
        raise InvalidInput(fields={"channel": _("in_site, email or webhook.")})
    row = AlarmRoute(
        channel=channel,
        name=name.strip(),
        severities=_unique(severities),
        addresses=_unique(addresses),
        roles=_unique(roles),
        hook_kind=hook_kind,
        is_enabled=is_enabled,
    )
    if channel == Channel.WEBHOOK:
        hook_seal(row, address=hook_url, secret=hook_secret)
    _check(row)
    row.save()
    act_subject("alarm_route", row.uid, channel=channel)
    return row


@service(P.MANAGE)
def route_edit(*, actor: Actor, route_uid: UUID | str, changes: Mapping[str, Any]) -> AlarmRoute:
    """Change what is named: name, severities, addresses, roles, hook_kind, hook_url, hook_secret, is_enabled. Its
    channel stays, and the record does not say a webhook's address or secret."""
    row = _locked(route_uid)
    sealed = {name: changes[name] for name in ("hook_url", "hook_secret") if name in changes}
    changes = {name: value for name, value in changes.items() if name not in sealed}
    if sealed and row.channel != Channel.WEBHOOK:
        raise InvalidInput(fields={name: _("Only a webhook has this.") for name in sealed})
    hook_seal(row, address=sealed.get("hook_url"), secret=sealed.get("hook_secret"))
    for name, value in changes.items():
        if name not in EDITABLE:
            raise InvalidInput(fields={name: _("This cannot be changed.")})
        setattr(row, name, _unique(value) if isinstance(value, (list, tuple)) else value)
    _check(row)
    row.save()
    if not row.is_enabled:
        _pending_end(row)
    act_subject("alarm_route", row.uid, **changes, **dict.fromkeys(sealed, "changed"))
    return row


@service(P.MANAGE)
def route_remove(*, actor: Actor, route_uid: UUID | str) -> None:
    """Tell nobody over this route any more; what was delivered stays on record."""
    row = _locked(route_uid)
    row.is_enabled, row.removed_at = False, timezone.now()
    row.save(update_fields=["is_enabled", "removed_at", "updated_at"])
    _pending_end(row)
    act_subject("alarm_route", row.uid)


@service(P.MANAGE)
def route_try(*, actor: Actor, route_uid: UUID | str) -> None:
    """Send a message that says it is a test over an e-mail route or a webhook.

    TestRefused says what the server says; InvalidInput is for an in-site route, which has no server to try.
    """
    row = AlarmRoute.objects.filter(uid=route_uid, removed_at=None).first()
    if row is None:
        raise NotFound(_("There is no such alarm route."))
    act_subject("alarm_route", row.uid)
    if row.channel == Channel.IN_SITE:
        raise InvalidInput(fields={"channel": _("In-site messages need no test.")})
    try:
        if row.channel == Channel.WEBHOOK:
            hook_try(row, f"test-{uuid4()}")
        else:
            mail_try(row)
    except Exception as problem:
        # Whatever a server does: who asked is told.
        raise TestRefused(str(problem) or type(problem).__name__) from problem


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
    if (row.channel == Channel.WEBHOOK) != (row.hook_kind in HookKind.values):
        wrong["hook_kind"] = _("standard, slack, wecom, dingtalk or feishu, for a webhook.")
    if wrong:
        raise InvalidInput(fields=wrong)


def _is_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return True
