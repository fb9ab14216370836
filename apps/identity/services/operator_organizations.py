"""The organizations of the computing centre itself, and which operator is in which (PLAT-TEN-36)."""

from collections.abc import Iterable, Mapping

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.identity.models import OperatorOrganization, User
from apps.identity.permissions import IdentityPermission as P
from apps.identity.rules.organizations import (
    attributes_clean,
    enabled_check,
    lower_first,
    name_clean,
    place_check,
    sibling_check,
    tree_lock,
)
from apps.identity.services.operators import grant_check, operator_check, roles_of
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict
from apps.kernel.service import service

SUBJECT = "operator_organization"


@service(P.MANAGE)
def operator_organization_create(
    *,
    actor: Actor,
    name: str,
    parent: OperatorOrganization | None = None,
    description: str = "",
    attributes: Mapping[str, str] | None = None,
) -> OperatorOrganization:
    """An organization at the top or below another; names are unique below one parent."""
    name = name_clean(name)
    tree_lock(OperatorOrganization)
    sibling_check(OperatorOrganization.objects.all(), name, parent, None)
    row = OperatorOrganization.objects.create(
        name=name, parent=parent, description=description[:500], attributes=attributes_clean(attributes or {})
    )
    act_subject(SUBJECT, row.uid, name=name)
    return row


@service(P.MANAGE)
def operator_organization_update(
    *,
    actor: Actor,
    organization: OperatorOrganization,
    name: str,
    parent: OperatorOrganization | None = None,
    description: str = "",
    attributes: Mapping[str, str] | None = None,
) -> OperatorOrganization:
    """Rename or move an organization, or say more of it; without `attributes` those that it has stay."""
    act_subject(SUBJECT, organization.uid, name=name)
    tree_lock(OperatorOrganization)
    name = name_clean(name)
    place_check(OperatorOrganization.objects.all(), organization.pk, parent)
    sibling_check(OperatorOrganization.objects.all(), name, parent, organization.pk)
    organization.name, organization.parent, organization.description = name, parent, description[:500]
    if attributes is not None:
        organization.attributes = attributes_clean(attributes)
    organization.save(update_fields=["name", "parent", "description", "attributes", "updated_at"])
    return organization


@service(P.MANAGE)
def operator_organization_switch(
    *, actor: Actor, organization: OperatorOrganization, is_enabled: bool
) -> None:
    """Enable it, or disable it: then it takes nobody new, and who is in it stays."""
    act_subject(SUBJECT, organization.uid, name=organization.name)
    rows = OperatorOrganization.objects.filter(pk=organization.pk)
    rows.update(is_enabled=is_enabled, updated_at=timezone.now())


@service(P.MANAGE)
def operator_organizations_delete(*, actor: Actor, organizations: Iterable[OperatorOrganization]) -> int:
    """Delete empty organizations, the lower before the upper; all of them or none. How many.

    Raises Conflict while one holds operators, or an organization that is not chosen.
    """
    chosen = {row.pk: row for row in organizations}
    act_subject(SUBJECT, "", names=[row.name for row in chosen.values()])
    tree_lock(OperatorOrganization)
    for pk in lower_first(OperatorOrganization.objects.all(), chosen):
        # The row lock makes an operator who is being moved here either visible or fail there.
        row = OperatorOrganization.objects.select_for_update().filter(pk=pk).first()
        if row is None:
            raise Conflict(_("The organization is already deleted."))
        if row.operators.exists() or row.children.exists():
            raise Conflict(
                _("The organization %(name)s is not empty.") % {"name": row.name},
                cure=_("Move its operators and lower organizations elsewhere first."),
            )
        row.delete()
    return len(chosen)


@service(P.MANAGE)
def operator_move(*, actor: Actor, user: User, organization: OperatorOrganization | None) -> None:
    """The operator's one organization from now on (PLAT-TEN-29); None: he is in none."""
    act_subject("user", user.uid, organization=organization.name if organization else "")
    operator_check(user)
    grant_check(actor, roles_of(user))
    if organization is not None:
        enabled_check(organization)
    User.objects.filter(pk=user.pk).update(organization=organization)
