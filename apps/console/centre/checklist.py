"""What a centre still lacks before anybody can buy: each in a sentence, with the page where it is made."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _

from apps.approvals.selectors import steps_undecidable_here
from apps.billing.selectors.accounts import tenants_without_account
from apps.catalog.models import FormTemplate, ProcessApp
from apps.catalog.selectors.commodities import (
    category_list,
    commodities_listed,
    commodities_priced,
    commodity_all,
)
from apps.catalog.selectors.processes import (
    form_template_list,
    operator_roles_asked,
    process_app_list,
    process_apps_published,
    steps_undecidable,
)
from apps.catalog.states import CommodityKind
from apps.centre.selectors import centre_shown
from apps.fleet.selectors import node_list
from apps.identity.selectors import operator_role_title
from apps.kernel.planes import in_tenant
from apps.kernel.translatable import localized
from apps.scheduling.selectors.environment_templates import environment_template_list
from apps.scheduling.selectors.workloads import policy_get
from apps.tenancy.models import Tenant
from apps.tenancy.selectors import tenant_active_list
from workflows.engine import Node

# Of many tenants those that came last: the others have long been at work.
_NEWEST = 5
LACKS = (
    "node", "category", "form", "process", "environment", "commodity", "price", "listing", "direct", "tenant",
    "account", "decider", "seller",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lack:
    """Something that is missing: why it matters, the page where it is made, and who may make it there."""

    code: str
    sentence: str
    link: str
    permission: str


def lacks() -> list[Lack]:
    """All that is missing, in the order in which one thing needs another; empty for a centre that can sell."""
    newest = list(tenant_active_list().order_by("-created_at")[:_NEWEST])
    return [*_pool(), *_catalogue(), *_tenants(newest), *_deciders(newest), *_seller()]


def _seller() -> Iterator[Lack]:
    if not centre_shown().legal_name:
        yield Lack(
            "seller",
            _("Bills do not say who sells: the centre's legal name, address and tax number are empty."),
            f"{reverse('operator:centre')}#seller",
            "centre.manage",
        )


def _pool() -> Iterator[Lack]:
    if not node_list().exists():
        yield Lack(
            "node",
            _(
                "No node has joined: there is nothing to compute on. Add one: the page shows what to run on it."
            ),
            reverse("fleet:join"),
            "fleet.manage",
        )


def _catalogue() -> Iterator[Lack]:
    manage = "catalog.manage"
    if not category_list(is_enabled=True).exists():
        yield Lack(
            "category",
            _("There is no category: commodities are found by theirs."),
            reverse("catalogue_admin:category_new"),
            manage,
        )
    yield from _forms_and_processes(manage)
    if not environment_template_list().exists():
        yield Lack(
            "environment",
            _("There is no environment template: nobody starts a development environment with one click."),
            reverse("scheduling_admin:environment_template_new"),
            "scheduling.manage",
        )
    if not commodity_all().exists():
        yield Lack(
            "commodity",
            _("There is no commodity: tenants see an empty catalogue."),
            reverse("catalogue_admin:commodity_kinds"),
            manage,
        )
    else:
        yield from _offers(manage)
    if commodities_priced().exists() and policy_get().direct_commodity is None:
        yield Lack(
            "direct",
            _(
                "The scheduling policy names no commodity for work without an order: jobs and sessions are refused."
                " One whose price is 0 makes them free."
            ),
            f"{reverse('scheduling_admin:policy')}#direct",
            "scheduling.manage",
        )


def _forms_and_processes(manage: str) -> Iterator[Lack]:
    """A commodity needs both: how it is applied for, and how its early end is."""
    wanted = (
        (
            FormTemplate.Kind.NEW,
            _("There is no form template of the kind %(kind)s: nothing says what an application asks for."),
            _(
                "No process application for the kind %(kind)s is published: nobody could approve an application."
            ),
        ),
        (
            FormTemplate.Kind.TERMINATION,
            _("There is no form template of the kind %(kind)s: nothing says what is asked at an early end."),
            _(
                "No process application for the kind %(kind)s is published: nobody could approve an early end."
            ),
        ),
    )
    for kind, no_form, no_process in wanted:
        named = {"kind": kind.label}
        if not form_template_list().filter(kind=kind).exists():
            yield Lack("form", no_form % named, reverse("catalogue_admin:form_template_new"), manage)
        if not process_apps_published().filter(form_template__kind=kind).exists():
            is_made = process_app_list().filter(form_template__kind=kind).exists()
            page = "catalogue_admin:processes" if is_made else "catalogue_admin:process_new"
            yield Lack("process", no_process % named, reverse(page), manage)


def _offers(manage: str) -> Iterator[Lack]:
    """What the commodities that there are lack before a tenant sees one."""
    unpriced = (
        commodity_all().exclude(kind=CommodityKind.MANUAL).exclude(pk__in=commodities_priced().values("pk"))
    )
    for row in unpriced[:_NEWEST]:
        yield Lack(
            "price",
            _("%(name)s has no price in force: it cannot be listed.") % {"name": row},
            reverse("catalogue_admin:commodity_price", args=[row.uid]),
            manage,
        )
    if not commodities_listed().exists():
        yield Lack(
            "listing",
            _("No commodity is listed: tenants see an empty catalogue."),
            reverse("catalogue_admin:commodities"),
            manage,
        )


def _tenants(newest: list[Tenant]) -> Iterator[Lack]:
    if not newest:
        yield Lack(
            "tenant",
            _("There is no tenant yet: nobody can buy."),
            reverse("operator:tenant_new"),
            "tenancy.manage",
        )
    for tenant in tenants_without_account(newest):
        yield Lack(
            "account",
            _("%(tenant)s has no account: its applications are refused until it is opened.")
            % {"tenant": tenant},
            reverse("operator:tenant", args=[tenant.schema_name]),
            "billing.manage",
        )


def _deciders(newest: list[Tenant]) -> Iterator[Lack]:
    """Steps that nobody can decide: the centre's own, then each new tenant's."""
    apps = list(process_apps_published())
    for app in apps:
        for node in steps_undecidable(app.process_template):
            roles = ", ".join(operator_role_title(code) or code for code in operator_roles_asked(node))
            text = _(
                "Nobody can decide the step %(step)s of %(process)s: give an operator the role %(roles)s."
            )
            yield Lack(
                "decider",
                text % _names(app, node, roles=roles),
                reverse("operators:operators"),
                "identity.manage",
            )
    for tenant in newest:
        yield from _deciders_of(tenant, apps)


def _deciders_of(tenant: Tenant, apps: list[ProcessApp]) -> Iterator[Lack]:
    with in_tenant(tenant.schema_name):
        found = [(app, node) for app in apps for node in steps_undecidable_here(app.process_template)]
    for app, node in found:
        text = _("Nobody of %(tenant)s can decide the step %(step)s of %(process)s: give somebody its role.")
        yield Lack(
            "decider",
            text % _names(app, node, tenant=tenant),
            f"/t/{tenant.schema_name}/people/",
            "orgs.manage",
        )


def _names(app: ProcessApp, node: Node, **more: object) -> dict[str, object]:
    return {"step": localized(node.name_zh, node.name), "process": app, **more}
