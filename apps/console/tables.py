"""*All tables*: what the operators' tables are called, and in which order they stand."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the label of its model, as `fleet.node`, and what it is called."""

    model: str
    name: str | Promise


TABLES = (
    (
        _("Work"),
        (
            Table("scheduling.workload", _("Workloads")),
            Table("cases.case", _("Applications and orders")),
        ),
    ),
    (
        _("Fleet"),
        (
            Table("fleet.node", _("Nodes")),
            Table("fleet.device", _("Devices")),
            Table("fleet.slice", _("Slices")),
            Table("fleet.resourcegroup", _("Resource groups")),
            Table("fleet.spec", _("Resource specifications")),
            Table("centers.center", _("AI computing centres")),
            Table("centers.resourcespec", _("Network specifications")),
            Table("identity.agenttoken", _("Agent tokens")),
        ),
    ),
    (
        _("Scheduling"),
        (
            Table("scheduling.queue", _("Queues")),
            Table("scheduling.schedulingpolicy", _("Scheduling policy")),
            Table("scheduling.tenantquota", _("Tenant quotas")),
            Table("scheduling.quotahold", _("Quota holds")),
        ),
    ),
    (
        _("Catalogue"),
        (
            Table("catalog.commodity", _("Commodities")),
            Table("catalog.category", _("Categories")),
            Table("catalog.component", _("Components")),
            Table("catalog.priceversion", _("Price versions")),
            Table("catalog.formtemplate", _("Form templates")),
            Table("catalog.processtemplate", _("Process templates")),
            Table("catalog.processapp", _("Process applications")),
        ),
    ),
    (
        _("Money"),
        (
            Table("billing.account", _("Accounts")),
            Table("billing.bill", _("Bills")),
            Table("billing.charge", _("Charges")),
            Table("billing.ledgertransaction", _("Transactions")),
            Table("billing.ledgeraccount", _("Ledger accounts")),
            Table("billing.usagerecord", _("Usage records")),
            Table("billing.usagerefusal", _("Refused usage")),
            Table("catalog.couponbudget", _("Coupon budgets")),
            Table("catalog.couponactivity", _("Coupon activities")),
            Table("catalog.coupon", _("Coupons")),
        ),
    ),
    (
        _("People"),
        (
            Table("tenancy.tenant", _("Tenants")),
            Table("identity.user", _("Tenants' people")),
            Table("identity.operatorrole", _("Operator roles")),
            Table("identity.apitoken", _("API tokens")),
            Table("identity.signin", _("Login log")),
        ),
    ),
    (
        _("Records"),
        (
            Table("telemetry.alarm", _("Alarm history")),
            Table("audit.record", _("Operation log")),
            Table("audit.seal", _("Seals")),
        ),
    ),
)


# Fields without a name of their own are called by their word: see apps/identity/admin_base.py.
FIELD_WORDS = (
    gettext_noop("activity"),
    gettext_noop("bill count"),
    gettext_noop("boot at"),
    gettext_noop("boot id"),
    gettext_noop("clock shift s"),
    gettext_noop("closed at"),
    gettext_noop("compute percent"),
    gettext_noop("config generation"),
    gettext_noop("counted from at"),
    gettext_noop("counted until at"),
    gettext_noop("event seq"),
    gettext_noop("final at"),
    gettext_noop("generation"),
    gettext_noop("idempotency key"),
    gettext_noop("is exclusive"),
    gettext_noop("is primary"),
    gettext_noop("memory mib"),
    gettext_noop("peak mib"),
    gettext_noop("peak percent"),
    gettext_noop("price line"),
    gettext_noop("released at"),
    gettext_noop("seat"),
    gettext_noop("slice drivers"),
    gettext_noop("slice uid"),
    gettext_noop("stop code"),
    gettext_noop("surplus mib"),
    gettext_noop("surplus percent"),
    gettext_noop("txid"),
    gettext_noop("usage last seq"),
    gettext_noop("usage seq"),
)


def table_name(model: str) -> str | Promise:
    """What the table of a model is called."""
    return next(table.name for _group, tables in TABLES for table in tables if table.model == model)
