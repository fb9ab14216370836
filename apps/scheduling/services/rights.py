"""Operators say who may use what of the pool, and when: priorities, validity, special specifications."""

from collections.abc import Collection, Mapping
from datetime import datetime

from django.utils.translation import gettext as _

from apps.identity.models import User
from apps.kernel.acts import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.service import service
from apps.scheduling.models import SpecialSpec, UserPriority, ValidityPeriod, ValidityRule, ValidityUser
from apps.scheduling.permissions import SchedulingPermission as P
from apps.scheduling.states import Purpose
from apps.scheduling.weekly import Span, weekly_check
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
    if ValidityRule.objects.filter(name=name).exclude(pk=rule and rule.pk).exists():
        raise Conflict(_("There is a rule %(name)s already.") % {"name": name}, cure=_("Change that one."))
    row = rule or ValidityRule()
    row.name = name
    row.save()
    row.users.all().delete()
    row.periods.all().delete()
    ValidityUser.objects.bulk_create(ValidityUser(rule=row, user=user) for user in users)
    ValidityPeriod.objects.bulk_create(
        ValidityPeriod(rule=row, purpose=Purpose(purpose), weekday=day, from_minute=begin, to_minute=end)
        for purpose, spans in periods.items()
        for day, begin, end in weekly_check(spans, field=purpose)
    )
    return row


@service(P.MANAGE)
def validity_remove(*, actor: Actor, pks: Collection[int]) -> int:
    """Take rules away; their limits end at once (PLAT-AICFG-33). How many there were."""
    rows = ValidityRule.objects.filter(pk__in=pks)
    act_subject("validity_rule", ", ".join(rows.values_list("name", flat=True))[:64])
    count = rows.count()
    rows.delete()
    return count


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
    if until_at <= from_at:
        raise InvalidInput(fields={"until_at": _("later than its begin")})
    if all(amount is None for amount in amounts.values()):
        raise InvalidInput(_("Say at least one amount."), fields=dict.fromkeys(amounts, _("at least one")))
    act_subject("tenant", tenant.schema_name, name=name, user=user.username if user else "", **amounts)
    return SpecialSpec.plain.create(
        tenant=tenant, name=name, user=user, from_at=from_at, until_at=until_at, **amounts
    )


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
