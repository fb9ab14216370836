"""Reads of who may use what: users with a resource group and their priorities, validity rules, special specs."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet
from django.utils.translation import gettext as _

from apps.fleet.models import GroupGrant
from apps.identity.models import Membership, User
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput, NotFound
from apps.scheduling.models import (
    DefaultSpec,
    Queue,
    ResourceTicket,
    SpecialSpec,
    UserGroup,
    UserPriority,
    ValidityRule,
    ValidityUser,
)
from apps.scheduling.models.entitlements import MEMBER_MOST_PRIORITY
from apps.scheduling.permissions import FOR_ALL
from apps.scheduling.selectors.workloads import queue_list
from apps.scheduling.states import ResourceTicketState
from apps.tenancy.models import Tenant


@dataclass(frozen=True, slots=True)
class PriorityLine:
    """A user who has a resource group, and what priority their work has (PLAT-AICFG-24)."""

    user: User
    groups: list[str]
    priority: int = 0
    most_priority: int = MEMBER_MOST_PRIORITY
    may_urgent: bool = False


def priority_list() -> list[PriorityLine]:
    """The users to whom a resource group is granted where they are members now, and nobody else, by name; without a
    row of their own they may name any priority. A row outlives the grant, and counts again with the next."""
    groups: dict[int, set[str]] = {}
    members = dict[int, set[int]]()
    for tenant_id, user_id in Membership.objects.filter(is_active=True).values_list("tenant_id", "user_id"):
        members.setdefault(tenant_id, set()).add(user_id)
    for grant in GroupGrant.objects.across().select_related("group").prefetch_related("clients"):
        chosen = members.get(grant.tenant_id, set())
        if not grant.is_open:
            chosen = chosen & {each.pk for each in grant.clients.all()}
        for user_id in chosen:
            groups.setdefault(user_id, set()).add(grant.group.code)
    rows = {row.user_id: row for row in UserPriority.objects.filter(user__in=groups)}
    users = User.objects.filter(pk__in=groups, is_active=True).order_by("username")
    return [_line(user, sorted(groups[user.pk]), rows.get(user.pk)) for user in users]


def _line(user: User, groups: list[str], row: UserPriority | None) -> PriorityLine:
    if row is None:
        return PriorityLine(user, groups)
    return PriorityLine(user, groups, row.priority, row.most_priority, row.may_urgent)


def queue_list_of(tenant: Tenant, user_id: int | None) -> list[Queue]:
    """The queues that a tenant's user may know of: those that admit the tenant, and whose resource group, if any, is
    granted to the user, and of whose user groups, if any, the user is in one."""
    mine = GroupGrant.objects.of(tenant).filter(Q(is_open=True) | Q(clients__pk=user_id))
    granted = {"", *mine.values_list("group__code", flat=True)}
    groups = UserGroup.objects.filter(queues=OuterRef("pk"))
    rows = queue_list().filter(~Exists(groups) | Exists(groups.filter(users=user_id)))
    return [row for row in rows if row.resource_group in granted and _admits(row, tenant)]


def user_group_list() -> QuerySet[UserGroup]:
    """The groups of users by code, with their users and the queues that are for them."""
    return UserGroup.objects.prefetch_related(
        Prefetch("users", User.objects.order_by("username")),
        Prefetch("queues", Queue.objects.filter(retired_at=None)),
    )


def user_group_get(code: str) -> UserGroup:
    row = user_group_list().filter(code=code).first()
    if row is None:
        raise NotFound()
    return row


def user_groups_find(codes: Collection[str]) -> list[UserGroup]:
    """The groups of those codes; InvalidInput names those that there are not."""
    found = list(UserGroup.objects.filter(code__in=codes))
    missing = sorted(set(codes) - {group.code for group in found})
    if missing:
        text = _("There is no user group %(codes)s.") % {"codes": ", ".join(missing)}
        raise InvalidInput(text, fields={"user_groups": text})
    return found


def _admits(queue: Queue, tenant: Tenant) -> bool:
    admitted = {each.tenant_id for each in queue.admitted.all()}
    return not admitted or tenant.pk in admitted


def validity_list() -> QuerySet[ValidityRule]:
    """The validity rules with their users and periods."""
    users = Prefetch("users", ValidityUser.objects.select_related("user").order_by("user__username"))
    return ValidityRule.objects.order_by("name").prefetch_related(users, "periods")


def special_list() -> QuerySet[SpecialSpec]:
    """All tenants' special specifications, newest first: the operators' side only."""
    return SpecialSpec.objects.across().select_related("tenant", "user")


def special_get(pk: int) -> SpecialSpec:
    row = special_list().filter(pk=pk).first()
    if row is None:
        raise NotFound()
    return row


def default_spec_get() -> DefaultSpec:
    """The default specification; nobody has set one: it says nothing."""
    return DefaultSpec.objects.first() or DefaultSpec()


def validity_get(pk: int) -> ValidityRule:
    row = validity_list().filter(pk=pk).first()
    if row is None:
        raise NotFound()
    return row


_TICKET_PEOPLE = ("tenant", "applicant", "user", "decided_by")


def ticket_list_across() -> QuerySet[ResourceTicket]:
    """All tenants' resource tickets but those deleted, newest first: the operators' side only."""
    rows = ResourceTicket.objects.across().exclude(state=ResourceTicketState.DELETED)
    return rows.select_related(*_TICKET_PEOPLE)


def ticket_get_across(uid: UUID) -> ResourceTicket:
    """Anybody's resource ticket, deleted or not: the operators' side only."""
    rows = ResourceTicket.objects.across().select_related(*_TICKET_PEOPLE)
    return _found(rows.filter(uid=uid).first())


def ticket_list(tenant: Tenant, actor: Actor) -> QuerySet[ResourceTicket]:
    """The actor's own resource tickets; of who manages the organization, and of operators, all of the tenant's."""
    rows = ResourceTicket.objects.of(tenant).select_related(*_TICKET_PEOPLE)
    if actor.kind == "operator" or actor.may(FOR_ALL):
        return rows
    return rows.filter(Q(applicant=actor.user_id) | Q(user=None, state=ResourceTicketState.APPROVED))


def ticket_get(tenant: Tenant, actor: Actor, uid: UUID) -> ResourceTicket:
    return _found(ticket_list(tenant, actor).filter(uid=uid).first())


def _found(row: ResourceTicket | None) -> ResourceTicket:
    if row is None:
        raise NotFound()
    return row


def user_find(username: str) -> User:
    row = User.objects.filter(username=username, is_active=True).first()
    if row is None:
        raise NotFound()
    return row


def users_find(usernames: Collection[str]) -> list[User]:
    """The people of those login accounts; InvalidInput names those that there are not."""
    names = {name.strip() for name in usernames if name.strip()}
    found = list(User.objects.filter(username__in=names, is_active=True).order_by("username"))
    missing = names - {user.username for user in found}
    if missing:
        text = _("There is no user %(names)s.") % {"names": ", ".join(sorted(missing))}
        raise InvalidInput(text, fields={"users": text})
    return found
