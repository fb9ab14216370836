"""The side navigation of the tenant's portal: one table, shown as far as the active role may go."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from apps.kernel.actor import Actor
from apps.kernel.reach import Records


@dataclass(frozen=True, slots=True)
class Entry:
    """A page of the navigation: open to who holds one of `permissions`, to everybody if there are none.

    Pages under its address belong to it, and those of the views that `beside` names. What is the whole tenant's is
    shown to who reaches all records of the kind `whole`.
    """

    label: str | Promise
    icon: str
    view: str
    permissions: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()
    whole: Records | None = None

    @property
    def url(self) -> str:
        return reverse(self.view)

    @property
    def key(self) -> str:
        return self.view.replace(":", "-")

    def is_open_to(self, actor: Actor) -> bool:
        is_reached = self.whole is None or actor.reaches_all(self.whole)
        return is_reached and (not self.permissions or any(map(actor.may, self.permissions)))


@dataclass(frozen=True, slots=True)
class Group:
    label: str | Promise
    entries: tuple[Entry, ...]


def _entry(
    label: str | Promise,
    icon: str,
    view: str,
    *permissions: str,
    beside: tuple[str, ...] = (),
    whole: Records | None = None,
) -> Entry:
    return Entry(label, icon, view, frozenset(permissions), frozenset(beside), whole)


TENANT = (
    Group("", (_entry(_("Home"), "home", "console:home"),)),
    Group(
        _("Services"),
        (
            _entry(
                _("Catalogue"),
                "building-store",
                "catalog:commodities",
                "catalog.view",
                beside=("catalog:commodity",),
            ),
            _entry(_("Cart"), "shopping-cart", "orders:cart", "orders.apply"),
            _entry(_("My applications"), "file-text", "orders:forms", "orders.view"),
            _entry(_("My orders"), "package", "orders:orders", "orders.view"),
            _entry(_("My resources"), "cpu", "workloads:workloads", "resources.view"),
            _entry(_("Environments"), "box", "workloads:environments", "resources.view"),
            _entry(_("My files"), "folder", "files:volumes", "storage.view"),
            _entry(_("My images"), "stack-3", "images:images", "images.view"),
            _entry(_("My assets"), "database", "assets:assets", "storage.view"),
            _entry(_("Secrets"), "key", "workloads:secrets", "resources.operate"),
        ),
    ),
    Group(
        _("Tasks"),
        (
            _entry(_("Approvals"), "checklist", "approvals:inbox", "orders.view", beside=("approvals:task",)),
            _entry(_("My tickets"), "tool", "tickets:tickets", "tickets.open", "tickets.work", "orders.view"),
            _entry(_("Messages"), "bell", "notices:messages"),
        ),
    ),
    Group(
        _("Cost"),
        (
            _entry(_("Cost analysis"), "chart-bar", "billing:costs", "billing.view"),
            _entry(_("Bills"), "receipt", "billing:bills", "billing.view"),
            _entry(_("Account"), "wallet", "billing:account", "billing.view", whole=Records.COSTS),
            _entry(_("Coupon centre"), "ticket", "catalog:coupons", "coupons.claim", "billing.view"),
        ),
    ),
    Group(
        _("Tenant"),
        (
            _entry(_("People"), "users", "people:people", "orgs.view"),
            _entry(_("Organizations"), "sitemap", "orgs:organizations", "orgs.view"),
            _entry(_("API tokens"), "key", "identity:tokens"),
            _entry(_("Command line"), "terminal-2", "client:install"),
        ),
    ),
)
HOMES = ("console:home", "operator:home")
QUEUE_VIEWS = tuple(
    f"scheduling_admin:{name}" for name in ("group_queues", "reservations", "user_groups", "user_group")
)
POLICY_VIEWS = tuple(
    f"scheduling_admin:{name}"
    for name in ("priorities", "validity", "validity_rule", "default_spec", "specials", "special", "tickets",
                 "ticket", "start_estimates", "hooks")
)  # fmt: skip
ALARM_VIEWS = ("operator:rules", "operator:rule", "operator:rule_new", "operator:routes")
PROVIDER = (
    Group(
        "",
        (
            _entry(_("Operations overview"), "layout-dashboard", "operator:home"),
            # What cannot wait stands where no screen is too low for it.
            _entry(_("Alarms now"), "bell-ringing", "operator:alarms", "alarms.view", beside=ALARM_VIEWS),
        ),
    ),
    Group(
        _("Operations"),
        (
            _entry(_("Approvals"), "checklist", "operator:inbox", "cases.view"),
            _entry(_("Applications and orders"), "folders", "operator:cases", "cases.view"),
            _entry(_("Tickets"), "tool", "operator:tickets", "cases.view"),
            _entry(
                _("Tenants"),
                "building",
                "operator:tenants",
                "tenancy.view",
                beside=("operator:tenant", "operator:tenant_new"),
            ),
            _entry(_("Catalogue"), "building-store", "catalogue_admin:commodities", "catalog.view"),
            _entry(_("Bills"), "receipt", "admin:billing_bill_changelist", "billing.view"),
        ),
    ),
    Group(
        _("Pool"),
        (
            _entry(_("Pool now"), "server-2", "operator:pool", "fleet.view"),
            _entry(_("Capacity planning"), "trending-up", "operator:capacity", "reports.view"),
            _entry(_("Nodes"), "server", "fleet:nodes", "fleet.view"),
            _entry(_("Devices"), "cpu", "fleet:devices", "fleet.view"),
            _entry(_("Slices and sessions"), "chart-pie", "fleet:slices", "fleet.view"),
            _entry(_("Resource groups"), "components", "fleet:groups", "fleet.view"),
            _entry(_("Specifications"), "ruler-2", "fleet:specs", "fleet.view"),
            _entry(_("Container images"), "stack-3", "images_admin:images", "images.view"),
            _entry(
                _("Environment templates"),
                "box",
                "scheduling_admin:environment_templates",
                "scheduling.view",
                beside=(
                    "scheduling_admin:environment_template",
                    "scheduling_admin:environment_template_new",
                ),
            ),
        ),
    ),
    Group(
        _("Scheduling"),
        (
            _entry(_("Workloads"), "stack-2", "admin:scheduling_workload_changelist", "scheduling.view"),
            _entry(
                _("Queues"),
                "list-tree",
                "scheduling_admin:queues",
                "scheduling.view",
                beside=QUEUE_VIEWS,
            ),
            _entry(
                _("Scheduling policy"),
                "adjustments",
                "scheduling_admin:policy",
                "scheduling.view",
                beside=POLICY_VIEWS,
            ),
            _entry(_("What if"), "git-compare", "scheduling_admin:what_ifs", "scheduling.view"),
        ),
    ),
    Group(
        _("Components"),
        (
            _entry(_("Pool components"), "components", "rollouts:components", "fleet.view"),
            _entry(_("Releases"), "package", "rollouts:releases", "fleet.view"),
            _entry(_("Roll-outs"), "rocket", "rollouts:rollouts", "fleet.view"),
        ),
    ),
    Group(
        _("Watching"),
        (
            _entry(_("Log"), "file-search", "operator:logs", "logs.view"),
            _entry(_("Statistics"), "chart-bar", "operator:statistics", "reports.view"),
            _entry(_("Acceptance test"), "certificate", "conformance:home", "conformance.view"),
        ),
    ),
    Group(
        _("More"),
        (
            _entry(_("Operators"), "users", "operators:operators", "identity.view"),
            _entry(_("Centre"), "settings", "operator:centre", "centre.manage"),
            _entry(_("Storage classes"), "database", "operator:storage", "centre.manage"),
            _entry(
                _("Ticket categories"),
                "category",
                "ticketing:categories",
                "tickets.manage",
                beside=("ticketing:category",),
            ),
            _entry(_("Working hours"), "calendar-time", "ticketing:hours", "tickets.manage"),
            _entry(_("All tables"), "table", "admin:index", "cases.view"),
            _entry(_("Operation log"), "history", "admin:audit_record_changelist", "audit.view"),
            _entry(_("Messages"), "bell", "notices:messages"),
            _entry(_("API tokens"), "key", "identity:tokens"),
            _entry(_("Command line"), "terminal-2", "client:install"),
        ),
    ),
)


def navigation_for(actor: Actor, *, in_tenant: bool) -> list[Group]:
    """The groups with at least one page that the actor may open, with those pages only."""
    found = []
    for group in TENANT if in_tenant else PROVIDER:
        entries = tuple(entry for entry in group.entries if entry.is_open_to(actor))
        if entries:
            found.append(Group(group.label, entries))
    return found


def entry_of(groups: Iterable[Group], view: str, path: str) -> Entry | None:
    """The entry that a page belongs to: by its view, else the one with the nearest address above `path`."""
    entries = [entry for group in groups for entry in group.entries]
    named = next((entry for entry in entries if view == entry.view or view in entry.beside), None)
    above = [entry for entry in entries if entry.view not in HOMES and path.startswith(entry.url)]
    return named or max(above, key=lambda entry: len(entry.url), default=None)
