"""Money on the operator pages: facts are only read; accounts are opened, credited and billed by services."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.decorators import display

from apps.billing.models import (
    Account,
    Bill,
    BillLine,
    BillPayment,
    Charge,
    LedgerAccount,
    LedgerLeg,
    LedgerTransaction,
    UsageRecord,
    UsageRefusal,
)
from apps.billing.permissions import BillingPermission as P
from apps.billing.selectors import account_list, balance_get
from apps.billing.services.bills import bill_make
from apps.billing.services.ledger import account_deposit, account_open
from apps.identity.admin_base import Act, ActForm, OperatorAdmin, OperatorInline, money
from apps.kernel.actor import Actor
from apps.tenancy.selectors import tenant_active_list

Given = Mapping[str, Any]


class OpenForm(ActForm):
    tenant = forms.ModelChoiceField(tenant_active_list(), label=gettext_lazy("Tenant"))

    def prepare(self) -> None:
        opened = account_list().order_by().values("tenant")
        self.fields["tenant"].queryset = tenant_active_list().exclude(pk__in=opened)


class DepositForm(ActForm):
    amount = forms.DecimalField(label=gettext_lazy("Amount (CNY)"), decimal_places=2, max_digits=18)
    reference = forms.CharField(
        label=gettext_lazy("Payment number"),
        max_length=80,
        help_text=gettext_lazy("The same number again is the same deposit: nothing is credited twice."),
    )


def _account_open(actor: Actor, row: None, given: Given) -> str:
    account_open(actor=actor, tenant=given["tenant"])
    return _("The account of %(tenant)s is open.") % {"tenant": given["tenant"]}


def _account_deposit(actor: Actor, row: Account, given: Given) -> str:
    account_deposit(actor=actor, tenant=row.tenant, **given)
    shown = money(balance_get(row.tenant))
    return _("%(tenant)s has %(balance)s CNY now.") % {"tenant": row.tenant, "balance": shown}


def _bill_make(actor: Actor, row: Account, given: Given) -> str:
    bill = bill_make(actor=actor, tenant=row.tenant)
    return _("Bill %(no)s over %(total)s CNY is made.") % {"no": bill.no, "total": money(bill.total)}


@admin.register(Account)
class AccountAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = ["tenant", "shown_balance", "bill_count", "opened_at"]
    fields = ["tenant", "shown_balance", "bill_count", "opened_at"]
    readonly_fields = ["shown_balance"]
    search_fields = ["tenant__name", "tenant__schema_name"]
    add_act = Act("add", gettext_lazy("Open an account"), P.MANAGE, _account_open, OpenForm)
    row_acts = [
        Act(
            "deposit",
            gettext_lazy("Credit a deposit"),
            P.MANAGE,
            _account_deposit,
            DepositForm,
            icon="payments",
        ),
        Act(
            "make_bill",
            gettext_lazy("Make a bill"),
            P.MANAGE,
            _bill_make,
            hint=gettext_lazy("All use up to now that is on no bill yet comes on it."),
            icon="receipt_long",
        ),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Account]:
        return account_list()

    @display(description=gettext_lazy("balance (CNY)"))
    def shown_balance(self, row: Account) -> str:
        return money(row.balance)


class LegInline(OperatorInline):
    model = LedgerLeg
    fields = ["account", "amount"]


@admin.register(LedgerTransaction)
class LedgerTransactionAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = ["created_at", "kind", "tenant", "reference", "idempotency_key"]
    list_filter = ["kind", "tenant"]
    list_select_related = ["tenant"]
    search_fields = ["reference", "idempotency_key"]
    inlines = [LegInline]


@admin.register(LedgerAccount)
class LedgerAccountAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = ["code", "kind", "tenant"]
    list_filter = ["kind", "tenant"]
    list_select_related = ["tenant"]
    search_fields = ["code"]


@admin.register(Charge)
class ChargeAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = [
        "order_no", "tenant", "commodity_name_zh", "commodity_name_en", "count", "business_system", "person",
        "shown_state", "opened_at", "closed_at",
    ]  # fmt: skip
    list_filter = ["state", "tenant", "business_system"]
    list_select_related = ["tenant"]
    search_fields = ["order_no", "commodity_number", "person", "business_system", "workload_uid"]

    @display(description=gettext_lazy("state"), label={"open": "success", "closed": "info"})
    def shown_state(self, row: Charge) -> tuple[str, str]:
        return row.state, row.get_state_display()


@admin.register(UsageRecord)
class UsageRecordAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = [
        "start_at", "end_at", "seconds", "tenant", "charge", "slice_uid", "seq", "compute_percent", "memory_mib",
        "node_uid", "rated_at",
    ]  # fmt: skip
    list_filter = ["tenant", "node_uid"]
    list_select_related = ["tenant", "charge"]
    search_fields = ["slice_uid", "workload_uid", "charge__order_no", "device_uid"]
    ordering = ["-start_at", "-pk"]


@admin.register(UsageRefusal)
class UsageRefusalAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = ["created_at", "code", "workload_uid", "slice_uid", "seq"]
    list_filter = ["code"]
    search_fields = ["workload_uid", "slice_uid"]


class BillLineInline(OperatorInline):
    model = BillLine
    fields = ["charge", "component", "quantity", "unit_amount", "share_seconds", "exact", "shown_amount"]

    @display(description=gettext_lazy("amount"))
    def shown_amount(self, row: BillLine) -> str:
        return money(row.amount)


class PaymentInline(OperatorInline):
    model = BillPayment
    fields = ["coupon_code", "from_coupon", "from_balance", "created_at"]

    @display(description=gettext_lazy("from the coupon"))
    def from_coupon(self, row: BillPayment) -> str:
        return money(row.coupon_amount)

    @display(description=gettext_lazy("from the balance"))
    def from_balance(self, row: BillPayment) -> str:
        return money(row.balance_amount)


@admin.register(Bill)
class BillAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = [
        "no",
        "tenant",
        "shown_state",
        "shown_total",
        "period_from",
        "period_until",
        "made_at",
        "paid_at",
    ]
    list_filter = ["state", "tenant"]
    list_select_related = ["tenant"]
    search_fields = ["no", "tenant__name"]
    fields = [
        "no", "tenant", "state", "shown_total", "period_from", "period_until", "made_at", "confirmed_at",
        "paid_at",
    ]  # fmt: skip
    readonly_fields = ["shown_total"]
    inlines = [BillLineInline, PaymentInline]

    @display(
        description=gettext_lazy("state"), label={"made": "info", "confirmed": "warning", "paid": "success"}
    )
    def shown_state(self, row: Bill) -> tuple[str, str]:
        return row.state, row.get_state_display()

    @display(description=gettext_lazy("total (CNY)"), ordering="total")
    def shown_total(self, row: Bill) -> str:
        return money(row.total)
