"""What operators do with a tenant on its page: each is one form, one service, and back to the page."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponseBase
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.billing.forms import BuyerForm
from apps.billing.services.ledger import account_deposit, account_open, credit_limit_set
from apps.console.tenants.forms import (
    CreditForm,
    DepositForm,
    QuotasForm,
    ReasonForm,
    TenantDeleteForm,
    TenantNameForm,
)
from apps.console.tenants.services import quotas_set, tenant_end
from apps.identity.pages.access import cleaned, go, operator_page
from apps.identity.pages.requests import PortalRequest
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput
from apps.tenancy.models import Tenant
from apps.tenancy.selectors import tenant_shown
from apps.tenancy.services import (
    tenant_buyer_set,
    tenant_change,
    tenant_delete,
    tenant_resume,
    tenant_suspend,
)

Work = Callable[[Actor, Tenant, dict[str, Any]], str]
MANAGE, BILLING, SCHEDULING = "tenancy.manage", "billing.manage", "scheduling.manage"


def _act(
    permission: str, form: type[forms.Form] = forms.Form
) -> Callable[[Work], Callable[..., HttpResponseBase]]:
    """A view that reads `form`, does the work, says what was done, and goes back to the tenant's page."""

    def decorate(work: Work) -> Callable[..., HttpResponseBase]:
        @require_POST
        @operator_page(permission)
        def run(request: PortalRequest, schema: str) -> HttpResponseBase:
            row = tenant_shown(schema)
            messages.success(request, work(request.actor, row, cleaned(form(request.POST))))
            return go(request, "operator:tenant", row.schema_name)

        return run

    return decorate


@_act(MANAGE, TenantNameForm)
def change(actor: Actor, row: Tenant, given: dict[str, Any]) -> str:
    tenant_change(actor=actor, tenant=row, **given)
    return _("%(tenant)s is saved.") % {"tenant": row}


@_act(MANAGE, BuyerForm)
def buyer(actor: Actor, row: Tenant, given: dict[str, Any]) -> str:
    tenant_buyer_set(actor=actor, tenant=row, **given)
    return _("Saved: bills that are made from now on say so.")


@_act(MANAGE, ReasonForm)
def suspend(actor: Actor, row: Tenant, given: dict[str, Any]) -> str:
    tenant_suspend(actor=actor, tenant=row, reason=given["reason"])
    return _("%(tenant)s is suspended: nobody of it signs in.") % {"tenant": row}


@_act(MANAGE)
def resume(actor: Actor, row: Tenant, given: dict[str, Any]) -> str:
    tenant_resume(actor=actor, tenant=row)
    return _("%(tenant)s is active again.") % {"tenant": row}


@_act(MANAGE)
def close(actor: Actor, row: Tenant, given: dict[str, Any]) -> str:
    tenant_end(actor=actor, tenant=row)
    return _("%(tenant)s is closed for good.") % {"tenant": row}


@_act(MANAGE, TenantDeleteForm)
def delete(actor: Actor, row: Tenant, given: dict[str, Any]) -> str:
    if given["code"] != row.schema_name:
        wrong = _("Write the tenant's code, %(code)s, to delete its data.") % {"code": row.schema_name}
        raise InvalidInput(wrong, fields={"code": wrong})
    tenant_delete(actor=actor, tenant=row)
    return _("The data of %(tenant)s are deleted. Its bills and records stay.") % {"tenant": row}


@_act(BILLING)
def account(actor: Actor, row: Tenant, given: dict[str, Any]) -> str:
    account_open(actor=actor, tenant=row)
    return _("The account of %(tenant)s is open.") % {"tenant": row}


@_act(BILLING, DepositForm)
def deposit(actor: Actor, row: Tenant, given: dict[str, Any]) -> str:
    account_deposit(actor=actor, tenant=row, **given)
    return _("The deposit of ¥%(amount)s is credited.") % {"amount": given["amount"]}


@_act(BILLING, CreditForm)
def credit(actor: Actor, row: Tenant, given: dict[str, Any]) -> str:
    credit_limit_set(actor=actor, tenant=row, **given)
    said = {"amount": given["amount"], "tenant": row}
    return _("%(tenant)s may owe ¥%(amount)s beyond its balance.") % said


@_act(SCHEDULING, QuotasForm)
def quota(actor: Actor, row: Tenant, given: dict[str, Any]) -> str:
    quotas_set(
        actor=actor, tenant=row, totals={item: total for item, total in given.items() if total is not None}
    )
    return _("The quota of %(tenant)s is set.") % {"tenant": row}
