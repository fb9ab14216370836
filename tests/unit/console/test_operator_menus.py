"""What the operators' built-in roles are for: each role's menu, whole, and what it can do at all."""

import pytest

from apps.console.navigation.selectors import navigation_for
from apps.identity.rules.role_functions import Side, functions_of
from apps.kernel.actor import Actor
from portal.roles import OPERATOR_ROLES

ROLES = {role.code: role for role in OPERATOR_ROLES}
# By page who has it in his menu: E executive, M operations manager, F front line, S system and C cluster administrator.
MENU = {
    "operator:home": "EMFSC",
    "operator:alarms": "E FSC",
    "operator:inbox": "EMFSC",
    "notices:messages": "EMFSC",
    "scheduling_admin:workloads": "EMFSC",
    "operator:cases": "EMFS ",
    "operator:tickets": "EMFSC",
    "scheduling_admin:tickets": "EM SC",
    "images_admin:images": "E  SC",
    "assets_admin:assets": "EM SC",
    "scheduling_admin:environment_templates": "E  SC",
    "operator:pool": "E FSC",
    "fleet:nodes": "E FSC",
    "fleet:devices": "E FSC",
    "fleet:slices": "E FSC",
    "fleet:groups": "E FSC",
    "fleet:specs": "E FSC",
    "centers:centers": "E FSC",
    "centers:specs": "E FSC",
    "rollouts:components": "E FSC",
    "rollouts:releases": "E FSC",
    "rollouts:rollouts": "E FSC",
    "scheduling_admin:queues": "E  SC",
    "scheduling_admin:priorities": "E  SC",
    "scheduling_admin:policy": "E  SC",
    "scheduling_admin:what_ifs": "E  SC",
    "jointcloud:jobs": "EMFSC",
    "jointcloud:datasets": "EMFSC",
    "jointcloud:try": "EMFSC",
    "jointcloud:settings": "E  SC",
    "operator:capacity": "EM SC",
    "operator:tenants": "EM S ",
    "catalogue_admin:commodities": "EMFS ",
    "operator:accounts": "EM S ",
    "operator:bills": "EM S ",
    "operator:coupons": "EMFS ",
    "operator:statistics": "EM SC",
    "operators:operators": "EM S ",
    "ticketing:categories": " M S ",
    "ticketing:hours": " M S ",
    "operator:centre": "   S ",
    "operator:storage": "   SC",
    "operator:logs": "E FSC",
    "operation_log:records": "E  S ",
    "conformance:home": "E  SC",
    "admin:index": "EMFSC",
    "identity:tokens": "EMFSC",
    "client:install": "EMFSC",
    "help:index": "EMFSC",
}
LETTERS = {
    "E": "executive", "M": "operations_manager", "F": "front_line", "S": "system_administrator",
    "C": "cluster_administrator",
}  # fmt: skip


@pytest.mark.req("PLAT-GEN-9", "PLAT-GEN-16", "PLAT-TEN-32")
@pytest.mark.parametrize("letter", LETTERS)
def test_each_role_has_its_own_menu(letter):
    role = ROLES[LETTERS[letter]]
    actor = Actor("operator", "x", 1, "", role.code, role.permissions)
    shown = [entry.view for group in navigation_for(actor, in_tenant=False) for entry in group.entries]
    assert shown == [view for view, who in MENU.items() if letter in who]


@pytest.mark.req("PLAT-GEN-9")
def test_no_two_roles_do_the_same():
    assert len({role.permissions for role in OPERATOR_ROLES}) == len(OPERATOR_ROLES) == 5


@pytest.mark.req("PLAT-GEN-9", "PLAT-TEN-32")
def test_the_executive_sees_whatever_there_is_to_see_and_changes_nothing():
    seen = {function.permission for function in functions_of(Side.OPERATOR) if not function.is_change}
    assert ROLES["executive"].permissions == seen
    assert ROLES["executive"].is_read_only


@pytest.mark.req("PLAT-GEN-16")
def test_operation_and_o_and_m_are_apart():
    """Of the business one role changes what the other does not, and neither looks into the other's field."""
    manager, cluster = (ROLES[code].permissions for code in ("operations_manager", "cluster_administrator"))
    o_and_m = {"fleet", "scheduling", "alarms", "logs", "conformance", "images"}
    business = {"catalog", "billing", "tenancy", "coupons", "orders", "cases", "orgs", "identity"}
    fields = [{code.partition(".")[0] for code in codes} for codes in (manager, cluster)]
    assert not fields[0] & o_and_m
    assert not fields[1] & business


@pytest.mark.req("PLAT-TEN-32")
@pytest.mark.parametrize("role", ROLES.values(), ids=ROLES)
def test_a_role_has_what_its_functions_need_and_none_that_its_side_lacks(role):
    known = {function.permission: function for function in functions_of(Side.OPERATOR)}
    assert role.permissions <= set(known)
    assert {need for code in role.permissions for need in known[code].needs} <= role.permissions
