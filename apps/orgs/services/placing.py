"""How far somebody may place people: nobody widens what he reaches, or what those reach whom he manages, beyond it."""

from uuid import UUID

from django.utils.translation import gettext as _

from apps.identity.models import User
from apps.identity.rules.role_functions import data_permission_of
from apps.kernel.actor import Actor
from apps.kernel.errors import Forbidden
from apps.kernel.reach import EVERYTHING, Scope
from apps.orgs.models import BusinessSystem, Organization
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.selectors.business_systems import business_system_list, business_system_user_ids
from apps.orgs.selectors.organizations import organization_uids_below
from apps.orgs.selectors.roles import role_list_of


def placing_check(actor: Actor, *organizations: Organization | None, user: User | None = None) -> None:
    """Forbidden unless the actor may take people from and to these organizations; None: no organization.

    Who reaches everything, or may give himself a role that does, takes anybody anywhere. Everybody else stays within
    his own organization and those below it as far as his role reaches, and does not move himself.
    """
    if _is_unbounded(actor):
        return
    if user is not None and user.pk == actor.user_id:
        raise Forbidden(
            _("You cannot change your own organization: it decides which records you reach."), cure=_cure()
        )
    reached = _organizations(actor)
    for organization in organizations:
        if organization is not None and organization.uid not in reached:
            raise Forbidden(
                _("The organization %(name)s is beyond what your role reaches.") % {"name": organization},
                cure=_cure(),
            )


def take_part_check(actor: Actor, business_system: BusinessSystem, user: User) -> None:
    """Forbidden unless the actor reaches the business system, or takes part in it himself.

    Of a role that reaches the orders or resources of business systems one takes part in, no other one's are reached;
    nor does somebody let himself into one where another of his roles would show him more for it.
    """
    data = data_permission_of(actor)
    if _is_unbounded(actor) or actor.user_id in business_system_user_ids(business_system):
        return
    judged = [data]
    if user.pk == actor.user_id:
        judged += [role.data_permission for role in role_list_of(user.pk)]
    is_everything = {data.orders, data.resources} == {Scope.ALL}
    is_wider = any(Scope.SYSTEMS in (each.orders, each.resources) for each in judged)
    is_reached = business_system_list(actor=actor).filter(pk=business_system.pk).exists()
    if not is_reached or (is_wider and not is_everything):
        raise Forbidden(
            _("The business system %(name)s is beyond what your role reaches.") % {"name": business_system},
            cure=_cure(),
        )


def _is_unbounded(actor: Actor) -> bool:
    return actor.may(P.GRANT) or data_permission_of(actor) == EVERYTHING


def _organizations(actor: Actor) -> set[UUID]:
    """The uids of those within which the actor places people."""
    own = actor.organization
    if own is None:
        return set()
    data = data_permission_of(actor)
    if Scope.ORGANIZATION in {data.orders, data.resources, data.systems}:
        return {own}
    return set(organization_uids_below(Organization.objects.get(uid=own)))


def _cure() -> str:
    return _("Ask an administrator who may give every role.")
