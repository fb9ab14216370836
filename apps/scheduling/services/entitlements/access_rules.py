"""Operators say who may use what of the pool, and when: priorities, validity, special specifications."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.identity.models import User
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.service import service
from apps.scheduling.models import (
    DefaultSpec,
    SpecialSpec,
    UserPriority,
    ValidityPeriod,
    ValidityRule,
    ValidityUser,
)
from apps.scheduling.permissions import SchedulingPermission as P
from apps.scheduling.queue_config.time_windows import Span, weekly_check
from apps.scheduling.states import Purpose
from apps.tenancy.models import Tenant

Periods = Mapping[str, Collection[Span]]


@service(P.MANAGE)
def priority_set(
    *, actor: Actor, user: User, priority: int, most_priority: int, may_urgent: bool = False
) -> UserPriority:
    """The priority of a user's new work where it names none, the most it may name, and whether it may be urgent
    (PLAT-AICFG-25)."""
    if priority > most_priority:
        raise InvalidInput(
            _("A user's priority is at most the highest they may name."),
            fields={"priority": _("at most %(most)s") % {"most": most_priority}},
        )
    given = {"priority": priority, "most_priority": most_priority, "may_urgent": may_urgent}
    act_subject("user", user.username, **given)
    return UserPriority.objects.update_or_create(user=user, defaults=given)[0]


@service(P.MANAGE)
def validity_make(
    *, actor: Actor, name: str, users: Collection[User], periods: Periods, rule: ValidityRule | None = None
) -> ValidityRule:
    """A rule that lets `users` start work of a purpose only in its periods; or another shape of `rule`. A purpose
    without a period is valid at all times (PLAT-AICFG-29, PLAT-AICFG-30, PLAT-AICFG-32)."""
    if not users:
        raise InvalidInput(fields={"users": _("Choose at least one.")})
    act_subject("validity_rule", name, users=", ".join(sorted(user.username for user in users)))
    row = _rule_named(rule, name)
    row.users.all().delete()
    row.periods.all().delete()
    ValidityUser.objects.bulk_create(ValidityUser(rule=row, user=user) for user in users)
    ValidityPeriod.objects.bulk_create(
        ValidityPeriod(rule=row, purpose=Purpose(purpose), weekday=day, from_minute=begin, to_minute=end)
        for purpose, spans in periods.items()
        for day, begin, end in weekly_check(spans, field=purpose)
    )
    return row


def _rule_named(rule: ValidityRule | None, name: str) -> ValidityRule:
    """The rule, locked and saved under that name; a new one for None. Raises Conflict for a name in use."""
    row = ValidityRule()
    if rule is not None:
        row = ValidityRule.objects.select_for_update().filter(pk=rule.pk).first()
        if row is None:
            raise Conflict(_("The rule %(name)s was removed meanwhile.") % {"name": rule.name})
    row.name = name
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise Conflict(
            _("There is a rule %(name)s already.") % {"name": name}, cure=_("Change that one.")
        ) from error
    return row


@service(P.MANAGE)
def validity_remove(*, actor: Actor, pks: Collection[int]) -> int:
    """Take rules away; their limits end at once (PLAT-AICFG-33). How many there were."""
    rows = ValidityRule.objects.filter(pk__in=pks)
    act_subject("validity_rule", ", ".join(rows.values_list("name", flat=True))[:64])
    count = rows.count()
    rows.delete()
    return count


Param = Mapping[str, int | None]


def amounts_check(amounts: Param) -> None:
    """InvalidInput where nothing is said."""
    if all(amount is None for amount in amounts.values()):
        raise InvalidInput(_("Say at least one amount."), fields=dict.fromkeys(amounts, _("at least one")))


def span_check(from_at: datetime, until_at: datetime) -> None:
    if until_at <= from_at:
        raise InvalidInput(fields={"until_at": _("later than its begin")})


@service(P.MANAGE)
def default_spec_set(
    *,
    actor: Actor,
    instances: int | None = None,
    compute_percent: int | None = None,
    memory_mib: int | None = None,
) -> DefaultSpec:
    """What every user of the platform may hold who has nothing else; None: no bound (PLAT-CLU-33, PLAT-CLU-34)."""
    amounts = {"instances": instances, "compute_percent": compute_percent, "memory_mib": memory_mib}
    act_subject("default_spec", 1, **amounts)
    return DefaultSpec.objects.update_or_create(pk=1, defaults=amounts)[0]


@service(P.MANAGE)
def special_make(
    *,
    actor: Actor,
    tenant: Tenant,
    name: str,
    from_at: datetime,
    until_at: datetime,
    user: User | None = None,
    instances: int | None = None,
    compute_percent: int | None = None,
    memory_mib: int | None = None,
) -> SpecialSpec:
    """What a user, or each user of a tenant, may hold from one instant to another (PLAT-CLU-35, PLAT-CLU-37)."""
    amounts = {"instances": instances, "compute_percent": compute_percent, "memory_mib": memory_mib}
    _special_check(tenant, user, from_at, until_at, amounts)
    act_subject("tenant", tenant.schema_name, name=name, user=user.username if user else "", **amounts)
    return SpecialSpec.plain.create(
        tenant=tenant, name=name, user=user, from_at=from_at, until_at=until_at, **amounts
    )


@service(P.MANAGE)
def specials_make(
    *, actor: Actor, tenant: Tenant, users: Collection[User], given: Mapping[str, Any]
) -> list[SpecialSpec]:
    """`special_make` of `given` for several users at once, each with a rule of their own; nobody named: one for each
    user of the tenant."""
    whom = list(users) or [None]
    return [special_make(actor=actor, tenant=tenant, user=user, **given) for user in whom]


def _special_check(
    tenant: Tenant, user: User | None, from_at: datetime, until_at: datetime, amounts: Param
) -> None:
    span_check(from_at, until_at)
    amounts_check(amounts)
    if user is not None and not user.memberships.filter(tenant=tenant, is_active=True).exists():
        text = _("%(name)s is no member of %(tenant)s.") % {"name": user.username, "tenant": tenant.name}
        raise InvalidInput(text, fields={"user": text})


@service(P.MANAGE)
def special_change(
    *,
    actor: Actor,
    pk: int,
    name: str,
    from_at: datetime,
    until_at: datetime,
    instances: int | None = None,
    compute_percent: int | None = None,
    memory_mib: int | None = None,
) -> SpecialSpec:
    """Other amounts or another period for whom it is; it holds at once, what runs goes on (PLAT-CLU-40)."""
    amounts = {"instances": instances, "compute_percent": compute_percent, "memory_mib": memory_mib}
    row = SpecialSpec.plain.select_for_update(of=("self",)).select_related("tenant").filter(pk=pk).first()
    if row is None:
        raise NotFound()
    _special_check(row.tenant, None, from_at, until_at, amounts)
    act_subject("special_spec", pk, name=name, **amounts)
    for field, value in {"name": name, "from_at": from_at, "until_at": until_at, **amounts}.items():
        setattr(row, field, value)
    row.save(update_fields=["name", "from_at", "until_at", *amounts])
    return row


@service(P.MANAGE)
def special_act(*, actor: Actor, pk: int, act: str) -> None:
    """`disable`, `enable` or `delete` a special specification; what runs goes on (PLAT-CLU-38, PLAT-CLU-39)."""
    row = SpecialSpec.plain.select_for_update().filter(pk=pk).first()
    if row is None or act not in ("disable", "enable", "delete"):
        raise NotFound()
    act_subject("special_spec", pk, act=act, name=row.name)
    if act == "delete":
        row.delete()
        return
    row.is_enabled = act == "enable"
    row.save(update_fields=["is_enabled"])
