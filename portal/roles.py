"""The built-in roles of both sides (platform.md, annex B): code, names, and what each may do."""

from apps.identity.services.users import BuiltinRole
from apps.kernel.reach import EVERYTHING, DataPermission, Scope


def _role(
    code: str,
    name_en: str,
    name_zh: str,
    *permissions: str,
    is_read_only: bool = False,
    data: DataPermission = EVERYTHING,
) -> BuiltinRole:
    return BuiltinRole(code, name_en, name_zh, frozenset(permissions), is_read_only, data)


# Whatever shows and changes nothing: all functions of the operators that are no change, one by one.
_SEES_ALL = (
    "tenancy.view", "identity.view", "orgs.view", "catalog.view", "billing.view", "orders.view", "cases.view",
    "resources.view", "assets.view", "images.view", "fleet.view", "centers.view", "scheduling.view", "conformance.view",
    "alarms.view",
    "logs.view", "reports.view", "audit.view",
)  # fmt: skip

# Each has what its day needs and no more (decision 23): a page that is nobody's work is not in his menu.
OPERATOR_ROLES = (
    _role("executive", "Executive", "高层管理", *_SEES_ALL, is_read_only=True),
    # Operation: what is sold, to whom, for what; nothing of the machines and of how they are shared.
    _role(
        "operations_manager",
        "Operations manager",
        "运营管理人员",
        "tenancy.view",
        "identity.view",
        "orgs.view",
        "catalog.view",
        "catalog.manage",
        "coupons.manage",
        "billing.view",
        "billing.manage",
        "orders.view",
        "cases.view",
        "resources.view",
        "assets.view",
        "reports.view",
        "approvals.decide",
        "tickets.manage",
        "tickets.open",
        "tickets.work",
    ),
    # What waits for somebody now, and what is needed to answer it.
    _role(
        "front_line",
        "Front-line staff",
        "一线工作人员",
        "catalog.view",
        "orders.view",
        "cases.view",
        "resources.view",
        "resources.operate",
        "fleet.view",
        "centers.view",
        "alarms.view",
        "alarms.acknowledge",
        "logs.view",
        "tickets.open",
        "tickets.work",
    ),
    # Sets the centre up and gives every role, its own among them.
    _role(
        "system_administrator",
        "System administrator",
        "系统管理员",
        *_SEES_ALL,
        "centre.manage",
        "centre.storage",
        "tenancy.manage",
        "identity.manage",
        "identity.grant",
        "orgs.manage",
        "orgs.grant",
        "catalog.manage",
        "fleet.manage",
        "centers.manage",
        "images.use",
        "images.manage",
        "scheduling.manage",
        "alarms.acknowledge",
        "alarms.manage",
        "resources.operate",
        "conformance.run",
        "tickets.manage",
        "tickets.open",
    ),
    # O&M: the machines and how they are shared; nothing of sale, money and people.
    _role(
        "cluster_administrator",
        "Cluster administrator",
        "集群管理员",
        "fleet.view",
        "fleet.manage",
        "centers.view",
        "centers.manage",
        "scheduling.view",
        "scheduling.manage",
        "resources.view",
        "resources.operate",
        "images.view",
        "images.use",
        "images.manage",
        "assets.view",
        "centre.storage",
        "conformance.view",
        "conformance.run",
        "alarms.view",
        "alarms.acknowledge",
        "alarms.manage",
        "logs.view",
        "reports.view",
        "approvals.decide",
        "tickets.open",
    ),
)

_TENANT_READS = ("catalog.view", "orders.view", "resources.view", "orgs.view", "storage.view", "images.view")

TENANT_ROLES = (
    _role(
        "tenant_decision_maker",
        "Decision maker",
        "租户决策",
        *_TENANT_READS,
        "approvals.decide",
        "tickets.open",
        "billing.view",
        data=DataPermission(Scope.ALL, Scope.ALL, Scope.OWN, Scope.ALL, Scope.ALL),
    ),
    _role(
        "tenant_operations_manager",
        "Operations manager",
        "租户运营管理人员",
        *_TENANT_READS,
        # Ends what somebody left behind who has gone.
        "orders.terminate",
        "approvals.decide",
        "tickets.open",
        "billing.view",
        "billing.pay",
        "coupons.claim",
        "orgs.manage",
        "storage.use",
        "storage.manage",
        "images.use",
        "images.manage",
    ),
    _role(
        "tenant_front_line",
        "Front-line staff",
        "租户一线工作人员",
        *_TENANT_READS,
        "orders.apply",
        "orders.terminate",
        "resources.operate",
        "storage.use",
        "images.use",
        "tickets.open",
        "tickets.work",
        # What the organization runs concerns all who work on it; what others have applied for does not.
        data=DataPermission(Scope.OWN, Scope.ALL, Scope.OWN, people=Scope.ALL),
    ),
    _role(
        "tenant_system_administrator",
        "System administrator",
        "租户系统管理员",
        *_TENANT_READS,
        "orgs.manage",
        "orgs.grant",
        "identity.view",
        "alarms.view",
        "storage.use",
        "storage.manage",
        "images.use",
        "images.manage",
        "tickets.open",
    ),
)
