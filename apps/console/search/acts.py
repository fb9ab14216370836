"""What can be begun from anywhere: acts by name, each with the page on which it begins."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from apps.kernel.actor import Actor


@dataclass(frozen=True, slots=True)
class Beginning:
    """An act that somebody who holds `permission` may begin on the page `view`."""

    label: str | Promise
    icon: str
    view: str
    permission: str

    def is_open_to(self, actor: Actor) -> bool:
        return not self.permission or actor.may(self.permission)


IN_TENANT = (
    Beginning(_("Apply for a service"), "shopping-cart-plus", "catalog:commodities", "orders.apply"),
    Beginning(_("Submit work"), "player-play", "workloads:submit", "resources.operate"),
    Beginning(_("Start an environment"), "box", "workloads:environments", "resources.operate"),
    Beginning(_("Open a ticket"), "tool", "tickets:new", "tickets.open"),
    Beginning(_("Import an image"), "upload", "images:new", "images.use"),
    Beginning(_("Make an API token"), "key", "identity:tokens", ""),
    Beginning(_("Change the password"), "lock", "identity:password", ""),
)
OPERATORS = (
    Beginning(_("New tenant"), "building", "operator:tenant_new", "tenancy.manage"),
    Beginning(_("Add a node"), "server", "fleet:join", "fleet.manage"),
    Beginning(_("New commodity"), "building-store", "catalogue_admin:commodity_kinds", "catalog.manage"),
    Beginning(_("New queue"), "list-tree", "scheduling_admin:queue_new", "scheduling.manage"),
    Beginning(_("New operator"), "user-plus", "operators:new", "identity.manage"),
    Beginning(_("New alarm rule"), "bell-ringing", "operator:rule_new", "alarms.manage"),
    Beginning(_("Ask what if"), "git-compare", "scheduling_admin:what_ifs", "scheduling.manage"),
    Beginning(_("Make an API token"), "key", "identity:tokens", ""),
    Beginning(_("Change the password"), "lock", "identity:password", ""),
)
