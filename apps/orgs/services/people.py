"""The tenant's people: who comes, what each may do, who is kept out, who leaves (PLAT-TEN-24 to PLAT-TEN-29).

Three rules hold for each of them: nobody gives, takes or touches more than his own right allows; nobody keeps himself
out; and somebody stays who can give roles.
"""

from collections.abc import Iterable

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.identity.models import User
from apps.identity.rules.organizations import enabled_check
from apps.identity.selectors import tenant_side_user, was_member
from apps.identity.services import accounts
from apps.identity.services.password_reset import ResetLink
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, NotFound
from apps.kernel.planes import current_tenant
from apps.kernel.service import service
from apps.orgs.models import Invitation, Member, Organization, RoleBinding, TenantRole
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.selectors.organizations import organization_of
from apps.orgs.services.placing import placing_check
from apps.orgs.services.roles import administrator_stays, grant_check, person_reach_check


@service(P.MANAGE)
def person_make(
    *,
    actor: Actor,
    username: str,
    display_name: str,
    email: str = "",
    organization: Organization | None = None,
    roles: Iterable[TenantRole] = (),
) -> tuple[User, str]:
    """A new account in this tenant with a first password, which is shown once and must be changed (PLAT-TEN-24)."""
    roles = list(roles)
    grant_check(actor, roles)
    placing_check(actor, organization)
    user, password = accounts.account_make(
        tenant=current_tenant(), username=username, display_name=display_name, email=email
    )
    person_place(user, organization, roles)
    act_subject("user", user.uid, username=user.username, roles=[role.code for role in roles])
    return user, password


@service(P.MANAGE)
def person_add(
    *,
    actor: Actor,
    username: str,
    organization: Organization | None = None,
    roles: Iterable[TenantRole] = (),
) -> User:
    """Let somebody who has an account belong to this tenant too.

    The tenant's own administrators bring back who has been here before; anybody else they invite, so that nobody is
    pulled into a tenant, or found out to have an account, without his doing. Operators add any tenant user.
    """
    roles = list(roles)
    grant_check(actor, roles)
    placing_check(actor, organization)
    user = tenant_side_user(username)
    if user is None or not (actor.kind != "user" or was_member(user, current_tenant())):
        raise NotFound(
            _("Nobody with the login account %(name)s has been here before.")
            % {"name": username.strip()[:64]},
            cure=_("Send an invitation link: it works for people who have an account elsewhere too."),
        )
    accounts.account_join(tenant=current_tenant(), user=user)
    person_place(user, organization, roles)
    act_subject("user", user.uid, username=user.username, roles=[role.code for role in roles])
    return user


def person_place(user: User, organization: Organization | None, roles: Iterable[TenantRole]) -> None:
    """Give somebody who has just come his organization and roles, inside a service."""
    if organization is not None:
        enabled_check(organization)
        Member.objects.create(user=user, organization=organization)
    RoleBinding.objects.bulk_create(RoleBinding(user=user, role=role) for role in roles)


@service(P.MANAGE)
def person_edit(*, actor: Actor, user: User, display_name: str, email: str = "") -> None:
    """Another name or e-mail. Forbidden where the account is used outside of this tenant too."""
    act_subject("user", user.uid, username=user.username)
    person_reach_check(actor, user)
    accounts.account_edit(
        actor=actor, tenant=current_tenant(), user=user, display_name=display_name, email=email
    )


@service(P.MANAGE)
def person_roles_set(*, actor: Actor, user: User, roles: Iterable[TenantRole]) -> None:
    """From now on the person holds exactly these roles (PLAT-TEN-28).

    Raises Forbidden where a role that is given or taken may do more than the actor, Conflict where no administrator
    would be left. One's own roles can be set too, within the same rules.
    """
    _present_check(user)
    wanted = {role.pk: role for role in roles}
    with administrator_stays():
        bindings = RoleBinding.objects.filter(user=user).select_related("role")
        held = {binding.role_id: binding.role for binding in bindings}
        given = [role for pk, role in wanted.items() if pk not in held]
        taken = [role for pk, role in held.items() if pk not in wanted]
        act_subject(
            "user", user.uid, given=[role.code for role in given], taken=[role.code for role in taken]
        )
        grant_check(actor, given + taken)
        RoleBinding.objects.filter(user=user, role__in=taken).delete()
        RoleBinding.objects.bulk_create(RoleBinding(user=user, role=role) for role in given)


@service(P.MANAGE)
def person_move(*, actor: Actor, user: User, organization: Organization) -> Member:
    """The person's one organization from now on (PLAT-TEN-29). Forbidden beyond the mover's own reach, and for himself
    unless he reaches everything."""
    act_subject("user", user.uid, organization=organization.name)
    _present_check(user)
    placing_check(actor, organization_of(user.pk), organization, user=user)
    enabled_check(organization)
    row, made = Member.objects.get_or_create(user=user, defaults={"organization": organization})
    if not made and row.organization_id != organization.pk:
        row.organization, row.post = organization, None
        row.save(update_fields=["organization", "post"])
    return row


@service(P.MANAGE)
def person_disable(*, actor: Actor, user: User) -> None:
    """The person enters this tenant no more: sessions and tokens end at once, roles are kept (PLAT-TEN-27)."""
    act_subject("user", user.uid, username=user.username)
    _other_check(actor, user)
    person_reach_check(actor, user)
    with administrator_stays():
        accounts.account_disable(tenant=current_tenant(), user=user)
    Invitation.objects.filter(made_by=user, used_at=None, withdrawn_at=None).update(
        withdrawn_at=timezone.now()
    )


@service(P.MANAGE)
def person_enable(*, actor: Actor, user: User) -> None:
    """The person enters again, with the roles he had."""
    act_subject("user", user.uid, username=user.username)
    person_reach_check(actor, user)
    accounts.account_enable(tenant=current_tenant(), user=user)


@service(P.MANAGE)
def person_password_reset(*, actor: Actor, user: User) -> ResetLink:
    """A link, shown once, with which the person chooses a new password; the old one stops working (PLAT-TEN-26)."""
    act_subject("user", user.uid, username=user.username)
    _present_check(user)
    _other_check(actor, user)
    person_reach_check(actor, user)
    return accounts.account_password_reset(actor=actor, tenant=current_tenant(), user=user)


@service(P.MANAGE)
def person_remove(*, actor: Actor, user: User) -> None:
    """The person leaves this tenant with all roles in it; what he did, and his account elsewhere, stay."""
    act_subject("user", user.uid, username=user.username)
    _other_check(actor, user)
    person_reach_check(actor, user)
    accounts.account_leave(actor=actor, tenant=current_tenant(), user=user)


def _present_check(user: User) -> None:
    if accounts.membership_of(user, current_tenant()) is None:
        raise NotFound()


def _other_check(actor: Actor, user: User) -> None:
    if actor.user_id == user.pk:
        raise Conflict(
            _("You cannot do this to your own account."), cure=_("Ask another administrator to do it.")
        )
