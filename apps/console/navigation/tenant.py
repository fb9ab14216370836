"""The menu of the tenant's portal."""

from django.utils.translation import gettext_lazy as _

from apps.console.navigation.menu import Group, entry
from apps.kernel.reach import Records

TENANT = (
    Group(
        "home",
        _("Home"),
        "home",
        (
            entry(_("Overview"), "home", "console:home"),
            entry(
                _("Approvals"),
                "checklist",
                "approvals:inbox",
                "orders.view",
                beside=("approvals:task",),
                counted="approvals",
                is_urgent=True,
            ),
            entry(_("Messages"), "bell", "notices:messages"),
        ),
    ),
    Group(
        "work",
        _("Work"),
        "stack-2",
        (
            entry(_("My resources"), "cpu", "workloads:workloads", "resources.view", counted="running"),
            entry(_("Environments"), "box", "workloads:environments", "resources.view"),
            entry(
                _("Jobs over centres"),
                "world",
                "jointcloud:jobs",
                "resources.view",
                beside=("jointcloud:job", "jointcloud:submit"),
            ),
            entry(_("Where work would go"), "target", "jointcloud:try", "resources.view"),
            entry(_("Secrets"), "key", "workloads:secrets", "resources.operate"),
        ),
    ),
    Group(
        "data",
        _("Files"),
        "folder",
        (
            entry(_("My files"), "folder", "files:volumes", "storage.view"),
            entry(_("My images"), "stack-3", "images:images", "images.view"),
            entry(_("My assets"), "database", "assets:assets", "storage.view"),
            entry(
                _("Data of jobs"),
                "world",
                "jointcloud:datasets",
                "resources.view",
                beside=("jointcloud:dataset", "jointcloud:dataset_new"),
            ),
        ),
    ),
    Group(
        "services",
        _("Services"),
        "building-store",
        (
            entry(
                _("Catalogue"),
                "building-store",
                "catalog:commodities",
                "catalog.view",
                beside=("catalog:commodity", "catalog:compare"),
            ),
            entry(_("Cart"), "shopping-cart", "orders:cart", "orders.apply", counted="cart"),
            entry(_("My applications"), "file-text", "orders:forms", "orders.view"),
            entry(_("My orders"), "package", "orders:orders", "orders.view"),
            entry(
                _("My tickets"),
                "tool",
                "tickets:tickets",
                "tickets.open",
                "tickets.work",
                "orders.view",
                counted="tickets",
                is_urgent=True,
            ),
        ),
    ),
    Group(
        "cost",
        _("Cost"),
        "wallet",
        (
            entry(_("Cost analysis"), "chart-bar", "billing:costs", "billing.view"),
            entry(_("Bills"), "receipt", "billing:bills", "billing.view", counted="bills"),
            entry(_("Account"), "wallet", "billing:account", "billing.view", whole=Records.COSTS),
            entry(_("Details on bills"), "file-text", "billing:details", "billing.pay", "orgs.manage"),
            entry(_("Coupon centre"), "ticket", "catalog:coupons", "coupons.claim", "billing.view"),
        ),
    ),
    Group(
        "people",
        _("People"),
        "users",
        (
            entry(_("People"), "users", "people:people", "orgs.view"),
            entry(_("Organizations"), "sitemap", "orgs:organizations", "orgs.view"),
        ),
    ),
    Group(
        "system",
        _("Tools"),
        "terminal-2",
        (
            entry(_("API tokens"), "key", "identity:tokens"),
            entry(_("Command line"), "terminal-2", "client:install"),
            entry(_("Help"), "help", "help:index"),
        ),
    ),
)
