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


# What every operator meets, what is looked at where the pool is run (O&M), and where it is sold (operation). Each
# built-in role sees the menus of its own work (PLAT-GEN-9); roles of people's own making combine them otherwise.
_EVERY_OPERATOR = ("tenancy.view", "resources.view", "cases.view", "orders.view")
_POOL = ("fleet.view", "scheduling.view", "alarms.view")
_SALE = ("catalog.view", "billing.view", "orgs.view")
_EVERYTHING_TO_SEE = (
    *_EVERY_OPERATOR,
    *_POOL,
    *_SALE,
    "identity.view",
    "images.view",
    "logs.view",
    "reports.view",
    "conformance.view",
)

OPERATOR_ROLES = (
    _role(
        "executive",
        "Executive",
        "高层管理",
        *_EVERYTHING_TO_SEE,
        is_read_only=True,
    ),
    _role(
        "operations_manager",
        "Operations manager",
        "运营管理人员",
        *_EVERY_OPERATOR,
        *_SALE,
        "identity.view",
        "images.view",
        "reports.view",
        "catalog.manage",
        "coupons.manage",
        "billing.manage",
        "approvals.decide",
        "tickets.manage",
        "tickets.open",
        "tickets.work",
    ),
    _role(
        "front_line",
        "Front-line staff",
        "一线工作人员",
        *_EVERY_OPERATOR,
        *_POOL,
        "catalog.view",
        "orgs.view",
        "logs.view",
        "tickets.open",
        "tickets.work",
        "alarms.manage",
        "resources.operate",
    ),
    _role(
        "system_administrator",
        "System administrator",
        "系统管理员",
        *_EVERYTHING_TO_SEE,
        "centre.manage",
        "tenancy.manage",
        "identity.manage",
        "identity.grant",
        "orgs.manage",
        "orgs.grant",
        "catalog.manage",
        "fleet.manage",
        "images.use",
        "images.manage",
        "scheduling.manage",
        "alarms.manage",
        "audit.view",
        "resources.operate",
        "conformance.run",
        "tickets.manage",
        "tickets.open",
    ),
    _role(
        "cluster_administrator",
        "Cluster administrator",
        "集群管理员",
        *_EVERY_OPERATOR,
        *_POOL,
        "images.view",
        "logs.view",
        "reports.view",
        "conformance.view",
        "fleet.manage",
        "images.use",
        "images.manage",
        "scheduling.manage",
        "alarms.manage",
        "resources.operate",
        "conformance.run",
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
