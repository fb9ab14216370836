"""What a role may allow, in words: the functions from which people put together roles of their own (PLAT-TEN-32)."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from apps.identity.rules.role_functions import RoleFunction, Side

_TENANT, _OPERATOR = frozenset({Side.TENANT}), frozenset({Side.OPERATOR})
_BOTH = _TENANT | _OPERATOR


def _sees(
    permission: str, group: Promise, label: Promise, sides: frozenset[Side], *needs: str
) -> RoleFunction:
    return RoleFunction(permission, group, label, sides, is_change=False, needs=needs)


def _does(
    permission: str, group: Promise, label: Promise, sides: frozenset[Side], *needs: str
) -> RoleFunction:
    return RoleFunction(permission, group, label, sides, is_change=True, needs=needs)


_SERVICES, _RESOURCES, _TASKS, _COST = _("Services"), _("Resources"), _("Tasks"), _("Cost")
_FILES = _("Files")
_PEOPLE, _POOL, _WATCHING, _CENTRE = (
    _("People"),
    _("Pool and scheduling"),
    _("Watching"),
    _("Computing centre"),
)

# In the order in which a page shows them: group by group.
ROLE_FUNCTIONS = (
    _sees("catalog.view", _SERVICES, _("See commodities and prices"), _BOTH),
    _does("catalog.manage", _SERVICES, _("Make and change commodities, prices and processes"), _OPERATOR,
          "catalog.view"),
    _sees("orders.view", _SERVICES, _("See applications and orders"), _BOTH),
    _does("orders.apply", _SERVICES, _("Apply for resources"), _TENANT, "orders.view", "catalog.view"),
    _does("orders.terminate", _SERVICES, _("End ordered resources"), _TENANT, "orders.view"),
    _sees("cases.view", _SERVICES, _("See applications and orders of all tenants"), _OPERATOR),
    _sees("resources.view", _RESOURCES, _("See jobs, sessions and environments"), _BOTH),
    _does("resources.operate", _RESOURCES, _("Submit, start, stop and resize jobs and sessions"), _BOTH,
          "resources.view"),
    _sees("assets.view", _FILES, _("See the assets of all tenants"), _OPERATOR),
    _sees("storage.view", _FILES, _("See volumes and files"), _TENANT),
    _does("storage.use", _FILES, _("Make volumes of one's own, upload, change and delete files"), _TENANT,
          "storage.view"),
    _does("storage.manage", _FILES, _("Make and keep volumes of the tenant, of organizations and of others"), _TENANT,
          "storage.use", "storage.view"),
    _sees("images.view", _FILES, _("See container images"), _BOTH),
    _does("images.use", _FILES, _("Make container images of one's own, and delete them"), _BOTH, "images.view"),
    _does("images.manage", _FILES, _("Keep container images of the tenant, or of the centre"), _BOTH, "images.use",
          "images.view"),
    _does("approvals.decide", _TASKS, _("Approve and refuse"), _BOTH),
    _does("tickets.open", _TASKS, _("Open tickets"), _BOTH),
    _does("tickets.work", _TASKS, _("Work on tickets"), _BOTH),
    _does("tickets.manage", _TASKS, _("Keep ticket categories, their rules and the working hours"), _OPERATOR),
    _sees("billing.view", _COST, _("See bills, costs and the account"), _BOTH),
    _does("billing.pay", _COST, _("Pay bills"), _TENANT, "billing.view"),
    _does("billing.manage", _COST, _("Book deposits, confirm bills, set credit limits"), _OPERATOR, "billing.view"),
    _does("coupons.claim", _COST, _("Claim coupons"), _TENANT),
    _does("coupons.manage", _COST, _("Issue coupons"), _OPERATOR),
    _sees("orgs.view", _PEOPLE, _("See people, organizations and business systems"), _BOTH),
    _does("orgs.manage", _PEOPLE, _("Keep people, organizations and business systems"), _BOTH, "orgs.view"),
    _does("orgs.grant", _PEOPLE, _("Give every role of a tenant and make roles that may do anything"), _BOTH,
          "orgs.manage", "orgs.view"),
    _sees("identity.view", _PEOPLE, _("See accounts and sign-ins"), _BOTH),
    _does("identity.manage", _PEOPLE, _("Keep the operators' accounts"), _OPERATOR, "identity.view"),
    _does("identity.grant", _PEOPLE, _("Give every role of operators and make roles that may do anything"), _OPERATOR,
          "identity.manage", "identity.view"),
    _sees("fleet.view", _POOL, _("See nodes and devices"), _OPERATOR),
    _does("fleet.manage", _POOL, _("Join, group, change and retire nodes and devices"), _OPERATOR, "fleet.view"),
    _sees("centers.view", _POOL, _("See the AI computing centres of the network and its specifications"), _OPERATOR),
    _does("centers.manage", _POOL, _("Join, change and remove AI computing centres, keep network specifications"),
          _OPERATOR, "centers.view"),
    _sees("scheduling.view", _POOL, _("See queues, policy and decisions"), _OPERATOR),
    _does("scheduling.manage", _POOL, _("Change queues, policy, quotas and reservations"), _OPERATOR,
          "scheduling.view"),
    _sees("conformance.view", _POOL, _("See acceptance reports"), _OPERATOR),
    _does("conformance.run", _POOL, _("Run the acceptance test"), _OPERATOR, "conformance.view"),
    _sees("alarms.view", _WATCHING, _("See alarms"), _BOTH),
    _does("alarms.acknowledge", _WATCHING, _("Acknowledge alarms"), _OPERATOR, "alarms.view"),
    _does("alarms.manage", _WATCHING, _("Change the rules of alarms, and who is told"), _OPERATOR, "alarms.view"),
    _sees("logs.view", _WATCHING, _("See the logs"), _OPERATOR),
    _sees("reports.view", _WATCHING, _("See statistics and reports"), _OPERATOR),
    _sees("audit.view", _WATCHING, _("See the audit record"), _OPERATOR),
    _sees("tenancy.view", _CENTRE, _("See tenants"), _OPERATOR),
    _does("tenancy.manage", _CENTRE, _("Make, suspend and close tenants"), _OPERATOR, "tenancy.view"),
    _does("centre.manage", _CENTRE, _("Change the centre's settings"), _OPERATOR),
    _does("centre.storage", _CENTRE, _("Keep the storage classes"), _OPERATOR),
)  # fmt: skip
