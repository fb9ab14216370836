"""Money on the operator pages: facts are only read; accounts are opened, credited and billed by services."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

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
from apps.billing.selectors.accounts import account_list, balance_get, funds_of
from apps.billing.services.bills import bill_correct, bill_make, bill_write_off
from apps.billing.services.ledger import account_deposit, account_open, account_refund, credit_limit_set
from apps.billing.states import BillState
from apps.identity.admin_base import Act, ActForm, OperatorAdmin, OperatorInline, column, money
from apps.kernel.actor import Actor
from apps.kernel.money import bill_round
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


class ReasonForm(ActForm):
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=200)


class CreditForm(ActForm):
    amount = forms.DecimalField(
        label=gettext_lazy("Credit limit (CNY)"), decimal_places=2, max_digits=18, min_value=0
    )
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=200)


class RefundForm(ActForm):
    amount = forms.DecimalField(label=gettext_lazy("Amount (CNY)"), decimal_places=2, max_digits=18)
    reference = forms.CharField(
        label=gettext_lazy("Payment number"),
        max_length=80,
        help_text=gettext_lazy("The same number again is the same booking: nothing is paid back twice."),
    )
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=200)


def _account_open(actor: Actor, row: None, given: Given) -> str:
    account_open(actor=actor, tenant=given["tenant"])
    return _("The account of %(tenant)s is open.") % {"tenant": given["tenant"]}


def _account_deposit(actor: Actor, row: Account, given: Given) -> str:
    account_deposit(actor=actor, tenant=row.tenant, **given)
    shown = money(balance_get(row.tenant))
    return _("%(tenant)s has %(balance)s CNY now.") % {"tenant": row.tenant, "balance": shown}


def _account_refund(actor: Actor, row: Account, given: Given) -> str:
    account_refund(actor=actor, tenant=row.tenant, **given)
    return _("%(amount)s CNY are refunded to %(tenant)s.") % {
        "amount": money(given["amount"]),
        "tenant": row.tenant,
    }


def _credit_limit(actor: Actor, row: Account, given: Given) -> str:
    credit_limit_set(actor=actor, tenant=row.tenant, **given)
    return _("%(tenant)s may owe %(amount)s CNY beyond its balance.") % {
        "amount": money(given["amount"]),
        "tenant": row.tenant,
    }


def _bill_correct(actor: Actor, row: Bill, given: Given) -> str:
    bill_correct(actor=actor, bill_uid=row.uid, **given)
    return _("%(amount)s CNY of bill %(no)s are given back to the balance.") % {
        "amount": money(given["amount"]),
        "no": row.no,
    }


def _bill_write_off(actor: Actor, row: Bill, given: Given) -> str:
    bill_write_off(actor=actor, bill_uid=row.uid, **given)
    return _("Bill %(no)s over %(total)s CNY is written off.") % {"no": row.no, "total": money(row.total)}


def _bill_make(actor: Actor, row: Account, given: Given) -> str:
    bill = bill_make(actor=actor, tenant=row.tenant)
    return _("Bill %(no)s over %(total)s CNY is made.") % {"no": bill.no, "total": money(bill.total)}


@admin.register(Account)
class AccountAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = ["tenant", "shown_balance", "shown_credit", "shown_funds", "bill_count", "opened_at"]
    fields = [
        "tenant", "shown_balance", "shown_credit", "shown_reserved", "shown_spendable", "said_level", "bill_count",
        "opened_at",
    ]  # fmt: skip
    readonly_fields = ["shown_balance", "shown_credit", "shown_reserved", "shown_spendable", "said_level"]
    search_fields = ["tenant__name", "tenant__schema_name"]
    add_act = Act("add", gettext_lazy("Open an account"), P.MANAGE, _account_open, OpenForm)
    row_acts = [
        Act(
            "deposit",
            gettext_lazy("Credit a deposit"),
            P.MANAGE,
            _account_deposit,
            DepositForm,
        ),
        Act(
            "credit_limit",
            gettext_lazy("Set the credit limit"),
            P.MANAGE,
            _credit_limit,
            CreditForm,
            hint=gettext_lazy("How much the tenant may owe beyond its balance; 0 is none."),
            initial=lambda row: {"amount": bill_round(row.credit_limit)},
        ),
        Act(
            "refund",
            gettext_lazy("Refund"),
            P.MANAGE,
            _account_refund,
            RefundForm,
            hint=gettext_lazy("At most what was paid in and is neither spent nor owed nor set aside."),
        ),
        Act(
            "make_bill",
            gettext_lazy("Make a bill"),
            P.MANAGE,
            _bill_make,
            hint=gettext_lazy("All use up to now that is on no bill yet comes on it."),
        ),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Account]:
        return account_list()

    @column(description=gettext_lazy("balance (CNY)"))
    def shown_balance(self, row: Account) -> str:
        return money(row.balance)

    @column(description=gettext_lazy("credit limit (CNY)"), ordering="credit_limit")
    def shown_credit(self, row: Account) -> str:
        return money(row.credit_limit)

    @column(description=gettext_lazy("set aside (CNY)"))
    def shown_reserved(self, row: Account) -> str:
        return money(funds_of(row).reserved)

    @column(description=gettext_lazy("can be spent (CNY)"))
    def shown_spendable(self, row: Account) -> str:
        return money(funds_of(row).spendable)

    @column(description=gettext_lazy("funds"), is_state=True)
    def shown_funds(self, row: Account) -> tuple[str, str]:
        return row.funds_level, row.get_funds_level_display()

    @column(description=gettext_lazy("funds"))
    def said_level(self, row: Account) -> str:
        return row.get_funds_level_display()


class LegInline(OperatorInline):
    model = LedgerLeg
    fields = ["account", "amount"]


@admin.register(LedgerTransaction)
class LedgerTransactionAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = ["created_at", "kind", "tenant", "reference", "reason", "idempotency_key"]
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

    @column(description=gettext_lazy("state"), is_state=True)
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

    @column(description=gettext_lazy("amount"))
    def shown_amount(self, row: BillLine) -> str:
        return money(row.amount)


class PaymentInline(OperatorInline):
    model = BillPayment
    fields = ["coupon_code", "from_coupon", "from_balance", "created_at"]

    @column(description=gettext_lazy("from the coupon"))
    def from_coupon(self, row: BillPayment) -> str:
        return money(row.coupon_amount)

    @column(description=gettext_lazy("from the balance"))
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
        "paid_at", "written_off_at",
    ]  # fmt: skip
    readonly_fields = ["shown_total"]
    inlines = [BillLineInline, PaymentInline]
    row_acts = [
        Act(
            "correct",
            gettext_lazy("Correct"),
            P.MANAGE,
            _bill_correct,
            RefundForm,
            hint=gettext_lazy(
                "Gives back to the balance what the bill charged too much: at most what was paid."
            ),
            applies=lambda row: row.state == BillState.PAID,
        ),
        Act(
            "write_off",
            gettext_lazy("Write off"),
            P.MANAGE,
            _bill_write_off,
            ReasonForm,
            hint=gettext_lazy(
                "The tenant owes it no more, and the centre bears it. This cannot be taken back."
            ),
            is_danger=True,
            applies=lambda row: row.state in (BillState.MADE, BillState.CONFIRMED),
        ),
    ]

    @column(description=gettext_lazy("state"), is_state=True)
    def shown_state(self, row: Bill) -> tuple[str, str]:
        return row.state, row.get_state_display()

    @column(description=gettext_lazy("total (CNY)"), ordering="total")
    def shown_total(self, row: Bill) -> str:
        return money(row.total)
