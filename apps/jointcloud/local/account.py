"""In whose name the jobs of the network run in our own pool."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from apps.centers.adapters.base import CenterRefused
from apps.identity.models import User
from apps.identity.selectors import belongs, user_get, user_ids_named
from apps.kernel.actor import Actor
from apps.scheduling.permissions import ResourcePermission
from apps.tenancy.models import Tenant
from apps.tenancy.selectors import tenant_list
from apps.tenancy.states import TenantState


@dataclass(frozen=True, slots=True)
class Account:
    """A tenant, and the person of it who submits the jobs."""

    tenant: Tenant
    user: User

    @property
    def actor(self) -> Actor:
        """He, with what the centre's setting gives him and no more: to submit work here, and to end his own."""
        return Actor(
            kind="user",
            name=self.user.username,
            user_id=self.user.pk,
            tenant=self.tenant.schema_name,
            permissions=frozenset({ResourcePermission.VIEW, ResourcePermission.OPERATE}),
        )


def account_find(schema: str, username: str) -> Account:
    """The account as it is named, whether or not it may still submit: what it has sent is told and stopped all the
    same. Raises CenterRefused where there is no such tenant or user."""
    tenant = tenant_list().filter(schema_name=schema).first()
    if tenant is None:
        raise CenterRefused(_("There is no tenant with the code %(code)s.") % {"code": schema[:63]})
    for pk in user_ids_named(username):
        return Account(tenant, user_get(pk))
    raise CenterRefused(_("There is no login account %(account)s.") % {"account": username[:150]})


def account_use(schema: str, username: str) -> Account:
    """The account, which may submit work now. Raises CenterRefused where it may not, with what hinders it."""
    found = account_find(schema, username)
    told = {"tenant": found.tenant.name, "account": found.user.username}
    if found.tenant.state != TenantState.ACTIVE:
        raise CenterRefused(_("The tenant %(tenant)s is not active: its jobs are not taken.") % told)
    if found.user.is_operator or not belongs(found.user, found.tenant):
        raise CenterRefused(
            _("The login account %(account)s does not belong to the tenant %(tenant)s.") % told
        )
    if not found.user.is_active:
        raise CenterRefused(_("The login account %(account)s is disabled.") % told)
    return found
