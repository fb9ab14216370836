"""Reads: roles, what they allow and who has them."""

from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.utils.translation import gettext as _

from apps.identity.selectors import members_enabled
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.planes import current_tenant
from apps.kernel.reach import DataPermission, Reach, Records, Scope
from apps.kernel.translatable import localized
from apps.orgs.models import (
    TAKE_PART,
    BusinessSystemUser,
    DefaultSystem,
    Member,
    Organization,
    RoleBinding,
    TenantRole,
)
from apps.orgs.selectors.organizations import organization_ids_below, organization_uids_below


def role_list(search: str = "") -> QuerySet[TenantRole]:
    """The tenant's roles, with a part of the name; each with `holders`, how many hold it."""
    rows = TenantRole.objects.annotate(holders=Count("bindings")).order_by("-is_builtin", "name_en", "code")
    return rows.filter(Q(name_en__icontains=search) | Q(name_zh__icontains=search)) if search else rows


def role_get(code: str) -> TenantRole:
    row = role_list().filter(code=code).first()
    if row is None:
        raise NotFound()
    return row


def role_list_of(user_id: int) -> list[TenantRole]:
    """The roles a user holds in the current tenant, first bound first."""
    return [binding.role for binding in RoleBinding.objects.filter(user_id=user_id).select_related("role")]


class Standing(NamedTuple):
    """What somebody is in the current tenant: the roles he holds, first bound first, his organization, and his default
    business system; without a role the two are not asked for."""

    roles: list[TenantRole]
    organization: UUID | None
    default_system: UUID | None


def standing_of(user_id: int) -> Standing:
    place = Member.objects.filter(user_id=OuterRef("user_id")).values("organization__uid")
    default = DefaultSystem.objects.filter(user_id=OuterRef("user_id")).values("business_system__uid")
    bindings = RoleBinding.objects.filter(user_id=user_id).select_related("role")
    rows = list(bindings.annotate(place=Subquery(place), default=Subquery(default)))
    first = rows[0] if rows else None
    return Standing(
        [row.role for row in rows], first.place if first else None, first.default if first else None
    )


def reach_of(user_id: int, permission: DataPermission, organization: UUID | None) -> Reach:
    """Whose records a user reaches by a data permission: its organizations and business systems are looked up where it
    asks for them."""
    asked = {permission.of(records) for records in Records}
    below: frozenset[UUID] = frozenset()
    if Scope.BELOW in asked and organization is not None:
        below = frozenset(organization_uids_below(Organization.objects.get(uid=organization)))
    systems: frozenset[UUID] = frozenset()
    if Scope.SYSTEMS in asked:
        taking_part = BusinessSystemUser.objects.filter(user_id=user_id, permission__codename=TAKE_PART)
        systems = frozenset(taking_part.values_list("content_object__uid", flat=True))
    return Reach(permission, organization, below, systems)


def permissions_of(user_id: int, role_code: str) -> frozenset[str]:
    """What a role lets a user do; empty when the user does not hold it."""
    binding = RoleBinding.objects.filter(user_id=user_id, role__code=role_code).select_related("role").first()
    return frozenset(binding.role.permissions) if binding else frozenset()


def role_codes_of(user_id: int) -> frozenset[str]:
    return frozenset(RoleBinding.objects.filter(user_id=user_id).values_list("role__code", flat=True))


def role_title(code: str) -> str:
    """What the tenant's role is called in the reader's language; "" where there is none of that code."""
    row = TenantRole.objects.filter(code=code).first()
    return localized(row.name_zh, row.name_en) if row else ""


def users_with_role(role_code: str, organization: Organization | None = None) -> list[int]:
    """The enabled users who hold a role, of one organization and those below it if one is given."""
    inside = members_enabled(current_tenant())
    rows = RoleBinding.objects.filter(
        role__code=role_code, user__is_active=True, user_id__in=inside.values("user_id")
    )
    if organization is not None:
        members = Member.objects.filter(organization_id__in=organization_ids_below(organization))
        rows = rows.filter(user_id__in=members.values("user_id"))
    return list(rows.order_by("user_id").values_list("user_id", flat=True))


def members_who_may(permission: str, ids: Iterable[int]) -> set[int]:
    """Of these users those who may enter the current tenant and hold a role in it that allows `permission`."""
    rows = RoleBinding.objects.filter(
        user_id__in=list(ids),
        user__is_active=True,
        role__permissions__contains=[permission],
    ).filter(user_id__in=members_enabled(current_tenant()).values("user_id"))
    return set(rows.values_list("user_id", flat=True))


def role_codes_named(name: str) -> list[str]:
    """The codes of the tenant's roles that are called so, in either language or by their code."""
    named = Q(code=name) | Q(name_zh=name) | Q(name_en=name)
    return list(TenantRole.objects.filter(named).values_list("code", flat=True))


def roles_named(codes: Iterable[str]) -> list[TenantRole]:
    """The roles of these codes; InvalidInput for a code that is none."""
    wanted = list(dict.fromkeys(codes))
    found = {role.code: role for role in TenantRole.objects.filter(code__in=wanted)}
    missing = [code for code in wanted if code not in found]
    if missing:
        reason = _("There is no role %(code)s.") % {"code": missing[0][:48]}
        raise InvalidInput(reason, fields={"roles": reason})
    return [found[code] for code in wanted]
