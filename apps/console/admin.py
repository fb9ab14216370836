"""Tenants on the operator pages: their life, money and quota meet here."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.decorators import display

from apps.billing.selectors import account_get
from apps.billing.services.ledger import account_deposit, account_open, credit_limit_set
from apps.console.services import quotas_set
from apps.identity.admin_base import Act, ActForm, OperatorAdmin, OperatorInline, money
from apps.identity.models import Membership
from apps.kernel.actor import Actor
from apps.kernel.money import bill_round
from apps.scheduling.forms.quotas import quota_field
from apps.scheduling.selectors.workloads import quota_get
from apps.scheduling.states import QuotaItem
from apps.tenancy.models import Domain, Tenant
from apps.tenancy.permissions import TenancyPermission as P
from apps.tenancy.selectors import tenant_list
from apps.tenancy.services import tenant_close, tenant_resume, tenant_suspend
from apps.tenancy.states import TenantState

Given = Mapping[str, Any]
BILLING_MANAGE, SCHEDULING_MANAGE = "billing.manage", "scheduling.manage"

# What an operator may do is the active role; Django's own groups decide nothing here.
admin.site.unregister(Group)


class ReasonForm(ActForm):
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=200)


class DepositForm(ActForm):
    amount = forms.DecimalField(label=gettext_lazy("Amount (CNY)"), decimal_places=2, max_digits=18)
    reference = forms.CharField(
        label=gettext_lazy("Payment number"),
        max_length=80,
        help_text=gettext_lazy("The same number again is the same deposit: nothing is credited twice."),
    )


class CreditForm(ActForm):
    amount = forms.DecimalField(
        label=gettext_lazy("Credit limit (CNY)"), decimal_places=2, max_digits=18, min_value=0
    )
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=200)


class QuotasForm(ActForm):
    """One figure for each item; an empty one stays as it is."""

    def prepare(self) -> None:
        for item in QuotaItem:
            self.fields[item.value] = quota_field(item, required=False)


def _suspend(actor: Actor, row: Tenant, given: Given) -> str:
    tenant_suspend(actor=actor, tenant=row, reason=given["reason"])
    return _("%(tenant)s is suspended: nobody of it signs in.") % {"tenant": row}


def _resume(actor: Actor, row: Tenant, given: Given) -> str:
    tenant_resume(actor=actor, tenant=row)
    return _("%(tenant)s is active again.") % {"tenant": row}


def _close(actor: Actor, row: Tenant, given: Given) -> str:
    tenant_close(actor=actor, tenant=row)
    return _("%(tenant)s is closed for good.") % {"tenant": row}


def _account_open(actor: Actor, row: Tenant, given: Given) -> str:
    account_open(actor=actor, tenant=row)
    return _("The account of %(tenant)s is open.") % {"tenant": row}


def _deposit(actor: Actor, row: Tenant, given: Given) -> str:
    account_deposit(actor=actor, tenant=row, **given)
    return _("The deposit of %(amount)s CNY is credited.") % {"amount": given["amount"]}


def _credit_limit(actor: Actor, row: Tenant, given: Given) -> str:
    credit_limit_set(actor=actor, tenant=row, **given)
    return _("%(tenant)s may owe %(amount)s CNY beyond its balance.") % {
        "amount": money(given["amount"]),
        "tenant": row,
    }


def _credit_now(row: Tenant) -> Given:
    account = account_get(row)
    return {"amount": bill_round(account.credit_limit)} if account else {}


def _quotas(actor: Actor, row: Tenant, given: Given) -> str:
    quotas_set(actor=actor, tenant=row, totals={k: v for k, v in given.items() if v is not None})
    return _("The quota of %(tenant)s is set.") % {"tenant": row}


def _quotas_now(row: Tenant) -> Given:
    return {item: figures.total for item, figures in quota_get(row).items()}


class DomainInline(OperatorInline):
    model = Domain
    fields = ["domain", "is_primary"]


class MemberInline(OperatorInline):
    model = Membership
    fields = ["user", "is_active", "created_at"]


@admin.register(Tenant)
class TenantAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = ["name", "code", "shown_state", "timezone", "created_at", "opens"]
    list_filter = ["state"]
    search_fields = ["name", "schema_name"]
    fields = ["name", "code", "state", "timezone", "created_at", "opens"]
    readonly_fields = ["code", "opens"]
    inlines = [DomainInline, MemberInline]
    add_page = (P.MANAGE, "operator:tenant_new")
    row_acts = [
        Act(
            "suspend",
            gettext_lazy("Suspend"),
            P.MANAGE,
            _suspend,
            ReasonForm,
            hint=gettext_lazy("Nobody of it signs in until it is resumed; what runs goes on."),
            icon="pause_circle",
            is_danger=True,
            applies=lambda row: row.state == TenantState.ACTIVE,
        ),
        Act(
            "resume",
            gettext_lazy("Resume"),
            P.MANAGE,
            _resume,
            icon="play_circle",
            applies=lambda row: row.state == TenantState.SUSPENDED,
        ),
        Act(
            "close",
            gettext_lazy("Close for good"),
            P.MANAGE,
            _close,
            hint=gettext_lazy("This cannot be taken back. Bills and the operation log stay."),
            icon="cancel",
            is_danger=True,
            applies=lambda row: row.state == TenantState.SUSPENDED,
        ),
        Act(
            "open_account",
            gettext_lazy("Open its account"),
            BILLING_MANAGE,
            _account_open,
            icon="account_balance_wallet",
            applies=lambda row: account_get(row) is None,
        ),
        Act(
            "deposit",
            gettext_lazy("Credit a deposit"),
            BILLING_MANAGE,
            _deposit,
            DepositForm,
            icon="payments",
            applies=lambda row: account_get(row) is not None,
        ),
        Act(
            "credit_limit",
            gettext_lazy("Set the credit limit"),
            BILLING_MANAGE,
            _credit_limit,
            CreditForm,
            hint=gettext_lazy("How much the tenant may owe beyond its balance; 0 is none."),
            icon="credit_score",
            applies=lambda row: account_get(row) is not None,
            initial=_credit_now,
        ),
        Act(
            "set_quota",
            gettext_lazy("Set its quota"),
            SCHEDULING_MANAGE,
            _quotas,
            QuotasForm,
            hint=gettext_lazy("An empty figure stays as it is."),
            icon="data_usage",
            initial=_quotas_now,
        ),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tenant]:
        return tenant_list()

    @display(
        description=gettext_lazy("state"),
        label={"active": "success", "suspended": "warning", "closed": "danger"},
    )
    def shown_state(self, row: Tenant) -> tuple[str, str]:
        return row.state, row.get_state_display()

    @display(description=gettext_lazy("code"), ordering="schema_name")
    def code(self, row: Tenant) -> str:
        return row.schema_name

    @display(description=gettext_lazy("portal"))
    def opens(self, row: Tenant) -> str:
        return format_html('<a href="/t/{}/">/t/{}/</a>', row.schema_name, row.schema_name)
