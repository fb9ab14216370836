"""The operators' admin (django-unfold): its name, colours and navigation."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

# Words of the kit that it brings no Chinese for: named here, so that they are in our catalogue.
KIT_WORDS = (
    gettext_noop("All applications"),
    gettext_noop("Apply Filters"),
    gettext_noop("Choose file to upload"),
    gettext_noop("Dark"),
    gettext_noop("False"),
    gettext_noop("Filters"),
    gettext_noop("General"),
    gettext_noop("Go back"),
    gettext_noop("Light"),
    gettext_noop("More actions"),
    gettext_noop("No data"),
    gettext_noop("No results found"),
    gettext_noop("No results matching your query"),
    gettext_noop("Reset filters"),
    gettext_noop("Return to site"),
    gettext_noop("Search apps and models..."),
    gettext_noop("Select record"),
    gettext_noop("Select value"),
    gettext_noop("Submit"),
    gettext_noop("System"),
    gettext_noop("This page yielded into no results. Create a new item or reset your filters."),
    gettext_noop("True"),
    gettext_noop("Type to search"),
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


def _may(permission: str) -> Callable[[HttpRequest], bool]:
    return lambda request: request.actor.may(permission)


def _page(title: Any, icon: str, name: str, permission: str) -> dict[str, Any]:
    return {"title": title, "icon": icon, "link": reverse_lazy(name), "permission": _may(permission)}


def _table(title: Any, icon: str, model: str, permission: str) -> dict[str, Any]:
    return _page(title, icon, f"admin:{model}_changelist", permission)


def _group(title: Any, *items: dict[str, Any]) -> dict[str, Any]:
    return {"title": title, "separator": True, "collapsible": True, "items": list(items)}


NAVIGATION = [
    _group(
        _("Operations"),
        # Every address begins like the overview's: it is never the page one is on here.
        _page(_("Operations overview"), "dashboard", "operator:home", "cases.view")
        | {"active": lambda request: False},
        _page(_("Approvals"), "checklist", "operator:inbox", "cases.view"),
        _page(_("Applications and orders"), "folder_open", "operator:cases", "cases.view"),
        _page(_("Tenants"), "apartment", "operator:tenants", "tenancy.view"),
        _page(_("Catalogue"), "storefront", "catalogue_admin:commodities", "catalog.view"),
        _table(_("Commodities"), "inventory_2", "catalog_commodity", "catalog.view"),
        _table(_("Categories"), "category", "catalog_category", "catalog.view"),
        _table(_("Components"), "extension", "catalog_component", "catalog.view"),
        _table(_("Form templates"), "description", "catalog_formtemplate", "catalog.view"),
        _table(_("Process templates"), "account_tree", "catalog_processtemplate", "catalog.view"),
        _table(_("Process applications"), "schema", "catalog_processapp", "catalog.view"),
    ),
    _group(
        _("Pool"),
        _page(_("Pool now"), "lan", "operator:pool", "fleet.view"),
        _table(_("Nodes"), "dns", "fleet_node", "fleet.view"),
        _table(_("Devices"), "memory", "fleet_device", "fleet.view"),
        _table(_("Slices"), "data_usage", "fleet_slice", "fleet.view"),
        _table(_("Resource groups"), "workspaces", "fleet_resourcegroup", "fleet.view"),
        _table(_("Resource specifications"), "straighten", "fleet_spec", "fleet.view"),
        _table(_("Agent tokens"), "key", "identity_agenttoken", "fleet.view"),
        _table(_("Workloads"), "pending_actions", "scheduling_workload", "scheduling.view"),
        _table(_("Queues"), "low_priority", "scheduling_queue", "scheduling.view"),
        _table(_("Scheduling policy"), "tune", "scheduling_schedulingpolicy", "scheduling.view"),
        _table(_("Tenant quotas"), "speed", "scheduling_tenantquota", "scheduling.view"),
        _table(_("Quota holds"), "lock_clock", "scheduling_quotahold", "scheduling.view"),
    ),
    _group(
        _("Money"),
        _table(_("Accounts"), "account_balance_wallet", "billing_account", "billing.view"),
        _table(_("Bills"), "receipt_long", "billing_bill", "billing.view"),
        _table(_("Charges"), "request_quote", "billing_charge", "billing.view"),
        _table(_("Transactions"), "swap_horiz", "billing_ledgertransaction", "billing.view"),
        _table(_("Ledger accounts"), "menu_book", "billing_ledgeraccount", "billing.view"),
        _table(_("Usage records"), "timer", "billing_usagerecord", "billing.view"),
        _table(_("Refused usage"), "report", "billing_usagerefusal", "billing.view"),
        _table(_("Price versions"), "sell", "catalog_priceversion", "catalog.view"),
        _table(_("Coupon budgets"), "savings", "catalog_couponbudget", "catalog.view"),
        _table(_("Coupon activities"), "campaign", "catalog_couponactivity", "catalog.view"),
        _table(_("Coupons"), "confirmation_number", "catalog_coupon", "catalog.view"),
    ),
    _group(
        _("People"),
        _page(_("Operators"), "support_agent", "operators:operators", "identity.view"),
        _table(_("Tenants' people"), "person", "identity_user", "identity.view"),
        _table(_("Operator roles"), "badge", "identity_operatorrole", "identity.view"),
        _table(_("API tokens"), "vpn_key", "identity_apitoken", "identity.view"),
    ),
    _group(
        _("Observability"),
        _page(_("Alarms now"), "notifications_active", "operator:alarms", "alarms.view"),
        _page(_("Log"), "manage_search", "operator:logs", "logs.view"),
        _page(_("Statistics"), "bar_chart", "operator:statistics", "reports.view"),
        _table(_("Alarm history"), "history", "telemetry_alarm", "alarms.view"),
        _table(_("Operation log"), "fact_check", "audit_record", "audit.view"),
        _table(_("Seals"), "verified", "audit_seal", "audit.view"),
        _table(_("Login log"), "login", "identity_signin", "audit.view"),
    ),
]

ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E"
    "%3Cpath d='M2 8c4-4 6 4 10 0s6 4 10 0v3c-4 4-6-4-10 0s-6-4-10 0zm0 8c4-4 6 4 10 0s6 4 10 0v3c-4 4-6-4-10 0s-6-4"
    "-10 0z' fill='%230b6e8f'/%3E%3C/svg%3E"
)
UNFOLD = {
    "SITE_TITLE": "portal.page_context.centre_name",
    "SITE_HEADER": "portal.page_context.centre_name",
    "SITE_SUBHEADER": _("Operator pages"),
    "SITE_SYMBOL": "water",
    "SITE_URL": "/",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda request: ICON}],
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_LANGUAGES": True,
    "SHOW_BACK_BUTTON": True,
    "BORDER_RADIUS": "6px",
    "DASHBOARD_CALLBACK": "apps.console.operator_views.dashboard",
    "ACCOUNT": {
        "navigation": [
            {"title": _("Operations overview"), "link": reverse_lazy("operator:home")},
            {"title": _("API tokens"), "link": reverse_lazy("identity:tokens")},
            {"title": _("Change the password"), "link": reverse_lazy("identity:password")},
        ]
    },
    "COMMAND": {"search_models": False, "show_history": False},
    "SIDEBAR": {"show_search": True, "show_all_applications": False, "navigation": NAVIGATION},
    "COLORS": {
        "primary": {
            "50": "oklch(97.3% .016 222)",
            "100": "oklch(94.4% .03 221)",
            "200": "oklch(88.9% .058 221)",
            "300": "oklch(81.3% .09 221)",
            "400": "oklch(71.5% .11 222)",
            "500": "oklch(61% .11 223)",
            "600": "oklch(50.6% .095 225)",
            "700": "oklch(44% .082 226)",
            "800": "oklch(38.5% .07 227)",
            "900": "oklch(33.5% .06 228)",
            "950": "oklch(25% .046 229)",
        }
    },
}
