"""Money on the operator pages: facts are only read; accounts are opened, credited and billed by services."""

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
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
from apps.billing.selectors.accounts import account_list, funds_of
from apps.identity.admin_base import OperatorAdmin, OperatorInline, column, money

Given = Mapping[str, Any]


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
    # Opened, credited, refunded and billed on the tenant's page.
    page = ("operator:tenant", "tenant__schema_name")
    page_permission = "tenancy.view"

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
    page = ("operator:bill", "uid")

    @column(description=gettext_lazy("state"), is_state=True)
    def shown_state(self, row: Bill) -> tuple[str, str]:
        return row.state, row.get_state_display()

    @column(description=gettext_lazy("total (CNY)"), ordering="total")
    def shown_total(self, row: Bill) -> str:
        return money(row.total)
