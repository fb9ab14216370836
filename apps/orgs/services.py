"""Every write of the tenant's map: organizations, members, roles, business systems, business numbers."""

from collections.abc import Iterable, Mapping
from zoneinfo import ZoneInfo

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.identity.models import Membership, User
from apps.identity.services import BuiltinRole
from apps.kernel.acts import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput
from apps.kernel.planes import current_schema, current_tenant
from apps.kernel.service import service
from apps.orgs.models import (
    TAKE_PART,
    BusinessSystem,
    BusinessSystemUser,
    Member,
    Organization,
    Post,
    RoleBinding,
    TenantRole,
)
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.selectors import organization_ids_below

_NAME_MAX = 120


def _name(text: str, field: str = "name", longest: int = _NAME_MAX) -> str:
    text = " ".join(text.split())
    if not 1 <= len(text) <= longest:
        reason = _("Give 1 to %(longest)s characters.") % {"longest": longest}
        raise InvalidInput(fields={field: reason})
    return text


# --- organizations ---------------------------------------------------------------------------------------------


@service(P.MANAGE)
def organization_create(
    *,
    actor: Actor,
    name: str,
    parent: Organization | None = None,
    description: str = "",
    attributes: Mapping[str, str] | None = None,
) -> Organization:
    """An organization at the top or below another; names are unique below one parent (PLAT-TEN-14)."""
    name = _name(name)
    _sibling_check(name, parent, None)
    row = Organization.objects.create(
        name=name, parent=parent, description=description[:500], attributes=dict(attributes or {})
    )
    act_subject("organization", row.uid, name=name)
    return row


def _sibling_check(name: str, parent: Organization | None, own_pk: int | None) -> None:
    if Organization.objects.filter(parent=parent, name=name).exclude(pk=own_pk).exists():
        reason = _("There is already an organization %(name)s here.") % {"name": name}
        raise InvalidInput(reason, fields={"name": reason})


@service(P.MANAGE)
def organization_update(
    *,
    actor: Actor,
    organization: Organization,
    name: str,
    parent: Organization | None = None,
    description: str = "",
) -> Organization:
    """Rename or move an organization. It cannot move below itself."""
    act_subject("organization", organization.uid)
    # One lock for the whole tree: two moves that each are fine could close a circle together.
    list(Organization.objects.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    name = _name(name)
    if parent is not None and parent.pk in organization_ids_below(organization):
        reason = _("An organization cannot be moved below itself.")
        raise InvalidInput(reason, fields={"parent": reason})
    _sibling_check(name, parent, organization.pk)
    organization.name, organization.parent, organization.description = name, parent, description[:500]
    organization.save(update_fields=["name", "parent", "description", "updated_at"])
    return organization


@service(P.MANAGE)
def organization_enable(*, actor: Actor, organization: Organization) -> None:
    act_subject("organization", organization.uid)
    Organization.objects.filter(pk=organization.pk).update(is_enabled=True, updated_at=timezone.now())


@service(P.MANAGE)
def organization_disable(*, actor: Actor, organization: Organization) -> None:
    """A disabled organization takes no new members and business systems; those it has stay."""
    act_subject("organization", organization.uid)
    Organization.objects.filter(pk=organization.pk).update(is_enabled=False, updated_at=timezone.now())


@service(P.MANAGE)
def organization_delete(*, actor: Actor, organization: Organization) -> None:
    """Delete an empty organization. Raises Conflict while it holds members, business systems or organizations."""
    act_subject("organization", organization.uid, name=organization.name)
    # The row lock makes a member that is being added right now either visible here or fail there.
    row = Organization.objects.select_for_update().filter(pk=organization.pk).first()
    if row is None:
        raise Conflict(_("The organization is already deleted."))
    if row.members.exists() or row.business_systems.exists() or row.children.exists():
        raise Conflict(
            _("The organization %(name)s is not empty.") % {"name": row.name},
            cure=_("Move its members, business systems and lower organizations elsewhere first."),
        )
    row.delete()


# --- members ---------------------------------------------------------------------------------------------------


@service(P.MANAGE)
def member_add(*, actor: Actor, user: User, organization: Organization, post: Post | None = None) -> Member:
    """Give a user of this tenant his one organization (PLAT-TEN-29). Raises Conflict when he has one."""
    act_subject("user", user.uid, organization=organization.name)
    if not Membership.objects.filter(user=user, tenant=current_tenant(), is_active=True).exists():
        raise InvalidInput(_("%(user)s does not belong to this tenant.") % {"user": user})
    _enabled_check(organization)
    row, made = Member.objects.get_or_create(user=user, defaults={"organization": organization, "post": post})
    if not made:
        raise Conflict(
            _("%(user)s already belongs to %(name)s.") % {"user": user, "name": row.organization},
            cure=_("Move the member instead."),
        )
    return row


def _enabled_check(organization: Organization) -> None:
    if not organization.is_enabled:
        reason = _("The organization %(name)s is disabled.") % {"name": organization.name}
        raise InvalidInput(reason, fields={"organization": reason})


@service(P.MANAGE)
def member_move(
    *, actor: Actor, member: Member, organization: Organization, post: Post | None = None
) -> Member:
    """Moving replaces the first organization (PLAT-TEN-29)."""
    act_subject("user", member.user.uid, organization=organization.name)
    _enabled_check(organization)
    member.organization, member.post = organization, post
    member.save(update_fields=["organization", "post"])
    return member


@service(P.MANAGE)
def member_remove(*, actor: Actor, member: Member) -> None:
    """Take a user out of his organization; roles and account stay (PLAT-TEN-17)."""
    act_subject("user", member.user.uid, organization=member.organization.name)
    Member.objects.filter(pk=member.pk).delete()


@service(P.MANAGE)
def post_create(*, actor: Actor, name: str) -> Post:
    name = _name(name)
    row, made = Post.objects.get_or_create(name=name)
    if not made:
        raise InvalidInput(fields={"name": _("There is already a post %(name)s.") % {"name": name}})
    act_subject("post", row.uid, name=name)
    return row


# --- roles -----------------------------------------------------------------------------------------------------


@service(P.MANAGE)
def roles_sync(*, actor: Actor, roles: Iterable[BuiltinRole]) -> None:
    """Bring the built-in roles of the current tenant to what the code says; user-defined ones stay."""
    act_subject("tenant", current_schema())
    for role in roles:
        fields = {"name_en": role.name_en, "name_zh": role.name_zh, "permissions": sorted(role.permissions)}
        TenantRole.objects.update_or_create(code=role.code, defaults={**fields, "is_builtin": True})


@service(P.MANAGE)
def role_bind(*, actor: Actor, user: User, role: TenantRole) -> RoleBinding:
    """Let a user of this tenant hold a role; binding twice changes nothing."""
    act_subject("user", user.uid, role=role.code)
    if not Membership.objects.filter(user=user, tenant=current_tenant(), is_active=True).exists():
        raise InvalidInput(_("%(user)s does not belong to this tenant.") % {"user": user})
    return RoleBinding.objects.get_or_create(user=user, role=role)[0]


@service(P.MANAGE)
def role_unbind(*, actor: Actor, user: User, role: TenantRole) -> None:
    act_subject("user", user.uid, role=role.code)
    RoleBinding.objects.filter(user=user, role=role).delete()


@service()
def roles_unbind_all(*, actor: Actor, user_id: int) -> None:
    """Take every role of this tenant from somebody who no longer belongs to it."""
    act_subject("user", user_id)
    RoleBinding.objects.filter(user_id=user_id).delete()


# --- business systems ------------------------------------------------------------------------------------------


@service(P.MANAGE)
def business_system_create(
    *, actor: Actor, name: str, number: str, organization: Organization, parent: BusinessSystem | None = None
) -> BusinessSystem:
    """A business system of one organization, at the first or second level (PLAT-TEN-21)."""
    name, number = _name(name), _name(number, "number", 48)
    _enabled_check(organization)
    if parent is not None and parent.parent_id is not None:
        reason = _("Business systems have two levels: %(name)s is already at the second.") % {
            "name": parent.name
        }
        raise InvalidInput(reason, fields={"parent": reason})
    for field, value in (("name", name), ("number", number)):
        if BusinessSystem.objects.filter(**{field: value}).exists():
            reason = _("There is already a business system %(value)s.") % {"value": value}
            raise InvalidInput(reason, fields={field: reason})
    row = BusinessSystem.objects.create(name=name, number=number, organization=organization, parent=parent)
    act_subject("business_system", row.uid, name=name)
    return row


def _take_part() -> Permission:
    """The permission row of `take_part`, made where a database has none yet."""
    kind = ContentType.objects.get_for_model(BusinessSystem)
    return Permission.objects.get_or_create(
        content_type=kind, codename=TAKE_PART, defaults={"name": "Can take part in the business system"}
    )[0]


@service(P.MANAGE)
def business_system_member_add(
    *, actor: Actor, business_system: BusinessSystem, user: User
) -> BusinessSystemUser:
    """Let a user of this tenant, of any organization, take part (PLAT-TEN-22)."""
    act_subject("business_system", business_system.uid, user=user.username)
    if not Membership.objects.filter(user=user, tenant=current_tenant(), is_active=True).exists():
        raise InvalidInput(_("%(user)s does not belong to this tenant.") % {"user": user})
    return BusinessSystemUser.objects.assign_perm(_take_part(), user, business_system)


@service(P.MANAGE)
def business_system_member_remove(*, actor: Actor, business_system: BusinessSystem, user: User) -> None:
    """The user sees the business system no longer (PLAT-TEN-22)."""
    act_subject("business_system", business_system.uid, user=user.username)
    BusinessSystemUser.objects.remove_perm(_take_part(), user, business_system)


# --- business numbers ------------------------------------------------------------------------------------------

_NEXT = """
INSERT INTO orgs_numbersequence AS s (prefix, last) VALUES (%s, 1)
ON CONFLICT (prefix) DO UPDATE SET last = s.last + 1 RETURNING last
"""


@service(recorded=False)
def number_next(*, actor: Actor, letter: str) -> str:
    """The tenant's next business number of a kind and day, such as `F20261121-0001` (a refused transaction gives
    its number back; gaps may still occur). The day is the tenant's own."""
    today = timezone.now().astimezone(ZoneInfo(current_tenant().timezone))
    prefix = f"{letter}{today:%Y%m%d}"
    with connection.cursor() as cursor:
        cursor.execute(_NEXT, [prefix])
        last = cursor.fetchone()[0]
    return f"{prefix}-{last:04d}"
