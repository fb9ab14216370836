"""The menu of the operator pages."""

from django.utils.translation import gettext_lazy as _

from apps.cases.permissions import INBOX, TICKETS
from apps.console.navigation.menu import Group, entry
from apps.scheduling.permissions import TICKETS_OF_ALL

# Each opens a table of the admin.
_WITH_TABLES = (
    "alarms.view", "audit.view", "billing.view", "cases.view", "catalog.view", "centers.view", "fleet.view",
    "identity.view", "scheduling.view", "tenancy.view",
)  # fmt: skip


def _of(namespace: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{namespace}:{name}" for name in names)


OPERATORS = (
    Group(
        "home",
        _("Home"),
        "home",
        (
            entry(_("Operations overview"), "layout-dashboard", "operator:home"),
            entry(
                _("Alarms now"),
                "bell-ringing",
                "operator:alarms",
                "alarms.view",
                beside=_of("operator", "alarm", "rules", "rule", "rule_new", "routes"),
                counted="alarms",
                is_urgent=True,
            ),
            entry(
                _("Approvals"),
                "checklist",
                "operator:inbox",
                *INBOX,
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
            entry(
                _("Workloads"),
                "stack-2",
                "scheduling_admin:workloads",
                "resources.view",
                counted="waiting",
            ),
            entry(_("Applications and orders"), "folders", "operator:cases", "cases.view"),
            entry(_("Tickets"), "tool", "operator:tickets", *TICKETS, counted="tickets", is_urgent=True),
            entry(
                _("Resource tickets"),
                "ticket",
                "scheduling_admin:tickets",
                *TICKETS_OF_ALL,
                beside=_of("scheduling_admin", "ticket"),
            ),
            entry(_("Container images"), "stack-3", "images_admin:images", "images.view"),
            entry(_("Assets"), "database", "assets_admin:assets", "assets.view"),
            entry(
                _("Environment templates"),
                "box",
                "scheduling_admin:environment_templates",
                "scheduling.view",
                beside=_of("scheduling_admin", "environment_template", "environment_template_new"),
            ),
        ),
    ),
    Group(
        "fleet",
        _("Fleet"),
        "server-2",
        (
            entry(_("Pool now"), "server-2", "operator:pool", "fleet.view"),
            entry(_("Nodes"), "server", "fleet:nodes", "fleet.view", counted="nodes_lost", is_urgent=True),
            entry(_("Devices"), "cpu", "fleet:devices", "fleet.view"),
            entry(_("Slices and sessions"), "chart-pie", "fleet:slices", "fleet.view"),
            entry(_("Resource groups"), "components", "fleet:groups", "fleet.view"),
            entry(_("Specifications"), "ruler-2", "fleet:specs", "fleet.view"),
            entry(
                _("AI computing centres"),
                "world",
                "centers:centers",
                "centers.view",
                beside=_of("centers", "center", "join", "change", "credential"),
            ),
            entry(
                _("Network specifications"),
                "layout-grid",
                "centers:specs",
                "centers.view",
                beside=_of("centers", "spec", "spec_new", "mapping"),
            ),
            entry(_("Pool components"), "components", "rollouts:components", "fleet.view"),
            entry(_("Releases"), "package", "rollouts:releases", "fleet.view"),
            entry(_("Roll-outs"), "rocket", "rollouts:rollouts", "fleet.view"),
        ),
    ),
    Group(
        "scheduling",
        _("Scheduling"),
        "adjustments",
        (
            entry(
                _("Queues"),
                "list-tree",
                "scheduling_admin:queues",
                "scheduling.view",
                beside=_of(
                    "scheduling_admin", "queue", "group_queues", "reservations", "user_groups", "user_group"
                ),
            ),
            entry(
                _("Priorities and limits"),
                "scale",
                "scheduling_admin:priorities",
                "scheduling.view",
                beside=_of(
                    "scheduling_admin",
                    "validity",
                    "validity_rule",
                    "default_spec",
                    "specials",
                    "special",
                ),
            ),
            entry(
                _("Scheduling policy"),
                "adjustments",
                "scheduling_admin:policy",
                "scheduling.view",
                beside=_of("scheduling_admin", "start_estimates", "hooks"),
            ),
            entry(_("What if"), "git-compare", "scheduling_admin:what_ifs", "scheduling.view"),
            entry(_("Jobs over centres"), "world", "jointcloud:jobs", "resources.view"),
            entry(
                _("Data of jobs"),
                "database",
                "jointcloud:datasets",
                "resources.view",
                beside=_of("jointcloud", "dataset", "dataset_new"),
            ),
            entry(_("Where work would go"), "target", "jointcloud:try", "resources.view"),
            entry(_("Choice of centres"), "scale", "jointcloud:settings", "scheduling.view"),
            entry(_("Capacity planning"), "trending-up", "operator:capacity", "reports.view"),
        ),
    ),
    Group(
        "business",
        _("Business"),
        "building-store",
        (
            entry(
                _("Tenants"),
                "building",
                "operator:tenants",
                "tenancy.view",
                beside=_of("operator", "tenant", "tenant_new"),
            ),
            entry(_("Catalogue"), "building-store", "catalogue_admin:commodities", "catalog.view"),
            entry(_("Accounts"), "wallet", "operator:accounts", "billing.view"),
            entry(_("Bills"), "receipt", "operator:bills", "billing.view", beside=_of("operator", "bill")),
            entry(_("Coupons"), "ticket", "operator:coupons", "catalog.view"),
            entry(_("Statistics"), "chart-bar", "operator:statistics", "reports.view"),
        ),
    ),
    Group(
        "people",
        _("People"),
        "users",
        (
            entry(_("Operators"), "users", "operators:operators", "identity.view"),
            entry(
                _("Ticket categories"),
                "category",
                "ticketing:categories",
                "tickets.manage",
                beside=("ticketing:category",),
            ),
            entry(_("Working hours"), "calendar-time", "ticketing:hours", "tickets.manage"),
        ),
    ),
    Group(
        "system",
        _("System"),
        "settings",
        (
            entry(_("Centre"), "settings", "operator:centre", "centre.manage"),
            entry(_("Storage classes"), "database", "operator:storage", "centre.storage"),
            entry(_("Log"), "file-search", "operator:logs", "logs.view"),
            entry(_("Operation log"), "history", "operation_log:records", "audit.view"),
            entry(_("Acceptance test"), "certificate", "conformance:home", "conformance.view"),
            entry(_("All tables"), "table", "admin:index", *_WITH_TABLES),
            entry(_("API tokens"), "key", "identity:tokens"),
            entry(_("Command line"), "terminal-2", "client:install"),
            entry(_("Help"), "help", "help:index"),
        ),
    ),
)
