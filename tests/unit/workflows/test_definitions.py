"""Each shipped process, along each of its paths."""

from __future__ import annotations

import pytest
from lxml import etree

from workflows.engine import Candidate, Step, check, complete, start
from workflows.registry import DefinitionUnknown, definition_get, definition_list
from workflows.xml_reader import MODEL

TENANT = "tenant_decision"
TENANT_OPERATIONS = "tenant_operations_decision"
OPERATIONS = "operations_decision"
CENTRE = "centre_decision"
PROGRESS = "progress_decision"

PATHS = [
    ("application_approval", 1, [(TENANT, "approve"), (OPERATIONS, "approve")], "approved"),
    ("application_approval", 1, [(TENANT, "approve"), (OPERATIONS, "refuse")], "rejected"),
    ("application_approval", 1, [(TENANT, "approve"), (OPERATIONS, "send_back")], "sent_back"),
    ("application_approval", 1, [(TENANT, "refuse")], "rejected"),
    ("application_approval", 1, [(TENANT, "send_back")], "sent_back"),
    ("termination_approval", 1, [(TENANT, "approve")], "approved"),
    ("termination_approval", 1, [(TENANT, "refuse")], "rejected"),
    ("resource_ticket_approval", 1, [(CENTRE, "approve")], "approved"),
    ("resource_ticket_approval", 1, [(CENTRE, "refuse")], "rejected"),
    ("business_system_progress", 1, [(PROGRESS, "approve")], "approved"),
    ("business_system_progress", 1, [(PROGRESS, "refuse")], "rejected"),
    ("application_approval_large", 10000, [(TENANT, "approve"), (OPERATIONS, "approve")], "approved"),
    ("application_approval_large", 10000, [(TENANT, "approve"), (OPERATIONS, "refuse")], "rejected"),
    ("application_approval_large", 10000, [(TENANT, "approve"), (OPERATIONS, "send_back")], "sent_back"),
    ("application_approval_large", 10001, [(TENANT, "refuse")], "rejected"),
    ("application_approval_large", 10001, [(TENANT, "send_back")], "sent_back"),
    ("application_approval_large", 10001, [(TENANT, "approve"), (TENANT_OPERATIONS, "refuse")], "rejected"),
    (
        "application_approval_large",
        10001,
        [(TENANT, "approve"), (TENANT_OPERATIONS, "send_back")],
        "sent_back",
    ),
    (
        "application_approval_large",
        10001,
        [(TENANT, "approve"), (TENANT_OPERATIONS, "approve"), (OPERATIONS, "approve")],
        "approved",
    ),
    (
        "application_approval_large",
        10001,
        [(TENANT, "approve"), (TENANT_OPERATIONS, "approve"), (OPERATIONS, "refuse")],
        "rejected",
    ),
]


def walked(key: str, amount: int, decisions: list[tuple[str, str]]) -> Step:
    """Take the decisions in turn, checking that the expected node, and it alone, waits each time."""
    definition = definition_get(key)
    step = start(definition, {"amount": amount}, seed="one")
    for node_id, decision in decisions:
        assert [one.node_id for one in step.waiting] == [node_id]
        assert (step.done, step.outcome) == (False, "")
        step = complete(definition, step.state, step.waiting[0].task_id, {"decision": decision})
    return step


@pytest.mark.req("PLAT-CFG-16", "PLAT-CFG-17", "PLAT-TODO-5")
@pytest.mark.parametrize(("key", "amount", "decisions", "outcome"), PATHS)
def test_each_path_ends_as_drawn(
    key: str, amount: int, decisions: list[tuple[str, str]], outcome: str
) -> None:
    step = walked(key, amount, decisions)

    assert (step.done, step.outcome, step.waiting) == (True, outcome, ())
    assert step.data["decision"] == decisions[-1][1]


def test_the_paths_pass_each_flow_of_each_process() -> None:
    """A process or an end event added without its paths here shows up as a difference."""
    ends = {
        (definition.key, outcome) for definition in definition_list() for _, outcome in definition.outcomes
    }
    assert {(key, outcome) for key, _, _, outcome in PATHS} == ends


@pytest.mark.req("PLAT-CFG-18", "PLAT-CFG-19")
def test_nodes_say_who_is_asked_and_what_is_offered() -> None:
    nodes = {node.node_id: node for node in definition_get("application_approval_large").nodes}

    assert nodes[TENANT].candidates == (Candidate("role", "tenant_decision_maker", "tenant"),)
    assert nodes[OPERATIONS].candidates == (Candidate("role", "operations_manager", "operator"),)
    assert (nodes[TENANT_OPERATIONS].rule, nodes[TENANT].rule) == ("all_of", "one_of")
    assert nodes[TENANT].decisions == ("approve", "refuse", "send_back")
    assert definition_get("termination_approval").nodes[0].decisions == ("approve", "refuse")
    assert nodes[TENANT].time_limit_s == 172800
    assert nodes[TENANT].mail_approver


def test_names_in_both_languages() -> None:
    definition = definition_get("application_approval")
    assert (definition.name, definition.name_zh) == ("Application approval", "申请审批")
    waiting = start(definition, {}).waiting[0]
    assert (waiting.name, waiting.name_zh) == ("Tenant decision maker decides", "租户决策者审批")
    assert definition.description.startswith("The tenant's decision maker decides")


@pytest.mark.req("PLAT-CFG-21")
@pytest.mark.parametrize("definition", definition_list(), ids=lambda one: one.key)
def test_files_are_complete_and_can_be_drawn(definition) -> None:  # type: ignore[no-untyped-def]
    assert check(definition.xml) == []
    root = etree.fromstring(definition.xml)
    drawn = set(root.xpath("//@bpmnElement"))
    kinds = ("Event", "Task", "Gateway", "Flow", "process")
    elements = {one.get("id") for one in root.iter(f"{{{MODEL}}}*") if one.tag.endswith(kinds)}
    assert drawn == elements


def test_unknown_key_names_the_known_ones() -> None:
    known = (
        "application_approval, application_approval_large, business_system_progress, resource_ticket_approval"
    )
    with pytest.raises(DefinitionUnknown, match=known):
        definition_get("../../etc/passwd")
