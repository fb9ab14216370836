"""Reads of who may use what: users with a resource group and their priorities, validity rules, special specs."""

from dataclasses import dataclass

from django.db.models import Prefetch, Q, QuerySet

from apps.fleet.models import GroupGrant
from apps.identity.models import Membership, User
from apps.kernel.errors import NotFound
from apps.scheduling.models import SpecialSpec, UserPriority, ValidityRule, ValidityUser


@dataclass(frozen=True, slots=True)
class PriorityLine:
    """A user who has a resource group, and what priority their work has (PLAT-AICFG-24)."""

    user: User
    groups: list[str]
    priority: int = 0
    most_priority: int = 1000
    may_urgent: bool = False


def priority_list() -> list[PriorityLine]:
    """The users to whom a resource group is granted, by name; without a row of their own they may name any."""
    groups: dict[int, set[str]] = {}
    members = dict[int, list[int]]()
    for tenant_id, user_id in Membership.objects.values_list("tenant_id", "user_id"):
        members.setdefault(tenant_id, []).append(user_id)
    for grant in GroupGrant.objects.across().select_related("group").prefetch_related("clients"):
        chosen = (
            members.get(grant.tenant_id, []) if grant.is_open else [each.pk for each in grant.clients.all()]
        )
        for user_id in chosen:
            groups.setdefault(user_id, set()).add(grant.group.code)
    rows = {row.user_id: row for row in UserPriority.objects.all()}
    users = User.objects.filter(Q(pk__in=groups) | Q(pk__in=rows), is_active=True).order_by("username")
    return [_line(user, sorted(groups.get(user.pk, ())), rows.get(user.pk)) for user in users]


def _line(user: User, groups: list[str], row: UserPriority | None) -> PriorityLine:
    if row is None:
        return PriorityLine(user, groups)
    return PriorityLine(user, groups, row.priority, row.most_priority, row.may_urgent)


def validity_list() -> QuerySet[ValidityRule]:
    """The validity rules with their users and periods."""
    users = Prefetch("users", ValidityUser.objects.select_related("user").order_by("user__username"))
    return ValidityRule.objects.order_by("name").prefetch_related(users, "periods")


def special_list() -> QuerySet[SpecialSpec]:
    """All tenants' special specifications, newest first: the operators' side only."""
    return SpecialSpec.objects.across().select_related("tenant", "user")


def user_find(username: str) -> User:
    row = User.objects.filter(username=username, is_active=True).first()
    if row is None:
        raise NotFound()
    return row
