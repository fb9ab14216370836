"""Who hears that a tenant's money runs low, or is used up (ELA-1911)."""

from django.utils.translation import gettext_noop

from apps.billing.events import FundsFell
from apps.billing.permissions import BillingPermission
from apps.billing.states import FundsLevel
from apps.identity.selectors import members_enabled
from apps.kernel.actor import Actor
from apps.kernel.planes import in_tenant
from apps.notices.services import notice_send
from apps.orgs.selectors.roles import members_who_may
from apps.tenancy.selectors import tenant_get

_TOLD = {
    FundsLevel.LOW: gettext_noop(
        "The account is low: ¥%(spendable)s can still be spent, less than what runs will soon need. Top it up, or"
        " ask the computing centre for credit."
    ),
    FundsLevel.EMPTY: gettext_noop(
        "The account gives no more money for work that runs: it will be told to save itself and be put aside. Top the"
        " account up, or ask the computing centre for credit."
    ),
}


def level_fell(event: FundsFell, actor: Actor) -> None:
    """A message to everybody of the tenant who may pay."""
    tenant = tenant_get(event.tenant)
    with in_tenant(event.tenant):
        ids = members_enabled(tenant).values_list("user_id", flat=True)
        people = members_who_may(BillingPermission.PAY, ids)
    notice_send(
        actor=actor,
        user_ids=people,
        msgid=_TOLD[FundsLevel(event.level)],
        params={"spendable": event.spendable},
        link="/billing/account/",
        tenant=tenant,
    )
