"""Running instances: decisions, countersigning, loops, state."""

from __future__ import annotations

import json

import pytest

from tests.unit.workflows.samples import (
    APPROVED,
    REJECTED,
    START,
    bpmn,
    document,
    flow,
    one_step,
    path,
    process,
    user_task,
)
from workflows.engine import (
    Action,
    BpmnRefused,
    DataRefused,
    DecisionRefused,
    ExpressionRefused,
    StateRefused,
    WorkflowStuck,
    approval_path,
    complete,
    load,
    start,
    state_ref,
    tally,
)
from workflows.registry import definition_get

APPLICATION = definition_get("application_approval")
TERMINATION = definition_get("termination_approval")


@pytest.mark.req("PLAT-CFG-17")
@pytest.mark.parametrize("decision", ["send_back", "approved", "", None, 1, ["approve"]])
def test_a_decision_the_node_does_not_offer_is_refused(decision: object) -> None:
    step = start(TERMINATION, {})
    with pytest.raises(DecisionRefused, match="Choose one of: approve, refuse"):
        complete(TERMINATION, step.state, step.waiting[0].task_id, {"decision": decision})


def test_a_decision_on_a_finished_instance_is_refused() -> None:
    step = start(TERMINATION, {})
    task_id = step.waiting[0].task_id
    done = complete(TERMINATION, step.state, task_id, {"decision": "approve"})
    with pytest.raises(DecisionRefused, match="already decided"):
        complete(TERMINATION, done.state, task_id, {"decision": "approve"})


def test_a_second_decision_on_the_same_step_is_refused() -> None:
    step = start(APPLICATION, {})
    task_id = step.waiting[0].task_id
    second = complete(APPLICATION, step.state, task_id, {"decision": "approve"})
    with pytest.raises(DecisionRefused, match="already decided"):
        complete(APPLICATION, second.state, task_id, {"decision": "refuse"})


def test_unknown_parts_of_an_outcome_are_refused() -> None:
    step = start(APPLICATION, {})
    with pytest.raises(DecisionRefused, match="no part force"):
        complete(APPLICATION, step.state, step.waiting[0].task_id, {"decision": "approve", "force": True})


@pytest.mark.req("PLAT-CFG-18")
@pytest.mark.parametrize(
    ("rule", "decisions", "expected", "settled"),
    [
        ("one_of", {}, {"ann", "bob"}, None),
        ("one_of", {"bob": "approve"}, {"ann", "bob"}, "approve"),
        ("one_of", {"bob": "refuse", "ann": "approve"}, {"ann", "bob"}, "refuse"),
        ("one_of", {"eve": "approve"}, {"ann", "bob"}, None),
        ("all_of", {"ann": "approve"}, {"ann", "bob"}, None),
        ("all_of", {"ann": "approve", "bob": "approve"}, {"ann", "bob"}, "approve"),
        ("all_of", {"ann": "approve", "bob": "send_back"}, {"ann", "bob"}, "send_back"),
        ("all_of", {"bob": "refuse"}, {"ann", "bob"}, "refuse"),
        ("all_of", {"ann": "approve", "eve": "approve"}, {"ann", "bob"}, None),
        ("all_of", {"ann": "approve", "eve": "refuse"}, {"ann"}, "approve"),
        ("all_of", {}, set(), None),
    ],
)
def test_tally(rule, decisions, expected, settled) -> None:  # type: ignore[no-untyped-def]
    assert tally(rule, decisions, expected) == settled


@pytest.mark.req("PLAT-CFG-17")
def test_sending_back_to_an_earlier_node_asks_it_again() -> None:
    gateway = '<bpmn:exclusiveGateway id="choice" default="back"/>'
    xml = bpmn(
        START, user_task("first"), user_task("second", 'allowSendBack="true"'), gateway, APPROVED,
        path("begin", "first", "second", "choice"),
        flow("choice", "approved", "decision == 'approve'"), flow("choice", "first", flow_id="back"),
    )  # fmt: skip
    definition = load(xml, key="loop")
    step = start(definition, {})
    seen = []
    for decision in ("approve", "send_back", "approve", "approve"):
        seen.append(step.waiting[0])
        step = complete(definition, step.state, step.waiting[0].task_id, {"decision": decision})

    assert [one.node_id for one in seen] == ["first", "second", "first", "second"]
    assert len({one.task_id for one in seen}) == 4
    assert (step.done, step.outcome) == (True, "approved")


def test_parallel_nodes_wait_together_and_join() -> None:
    fork, join = '<bpmn:parallelGateway id="fork"/>', '<bpmn:parallelGateway id="join"/>'
    gateway = '<bpmn:exclusiveGateway id="choice" default="otherwise"/>'
    settings = 'allowRefuse="true"'
    xml = bpmn(
        START, fork, user_task("left", settings), user_task("right", settings), join, gateway,
        APPROVED, REJECTED,
        path("begin", "fork", "left", "join", "choice"), path("fork", "right", "join"),
        flow("choice", "approved", "decision_left == 'approve' and decision_right == 'approve'"),
        flow("choice", "rejected", flow_id="otherwise"),
    )  # fmt: skip
    definition = load(xml, key="fork")
    outcomes = {}
    for left, right in (("approve", "approve"), ("approve", "refuse"), ("refuse", "approve")):
        step = start(definition, {})
        assert sorted(one.node_id for one in step.waiting) == ["left", "right"]
        task_ids = {one.node_id: one.task_id for one in step.waiting}
        step = complete(definition, step.state, task_ids["left"], {"decision": left})
        assert [one.task_id for one in step.waiting] == [task_ids["right"]]
        outcomes[left, right] = complete(
            definition, step.state, task_ids["right"], {"decision": right}
        ).outcome
    assert outcomes == {
        ("approve", "approve"): "approved",
        ("approve", "refuse"): "rejected",
        ("refuse", "approve"): "rejected",
    }


def test_a_called_process_and_an_embedded_one_run_inside() -> None:
    call = '<bpmn:callActivity id="call" calledElement="called"/>'
    inner = process(
        '<bpmn:startEvent id="in"/>', user_task("asked"),
        '<bpmn:endEvent id="out"/>', path("in", "asked", "out"),
        process_id="called",
    )  # fmt: skip
    embedded = (
        '<bpmn:subProcess id="part"><bpmn:startEvent id="s"/>' + user_task("within")
        + '<bpmn:endEvent id="e"/>'
        + path("s", "within", "e") + "</bpmn:subProcess>"
    )  # fmt: skip
    outer = process(START, call, embedded, APPROVED, path("begin", "call", "part", "approved"))
    definition = load(document(outer, inner), key="nested")
    step = start(definition, {})
    asked = []
    while not step.done:
        asked += [one.node_id for one in step.waiting]
        step = complete(definition, step.state, step.waiting[0].task_id, {"decision": "approve"})
    assert (asked, step.outcome) == (["asked", "within"], "approved")


def test_service_tasks_hand_their_handlers_to_the_caller_once() -> None:
    task = (
        '<bpmn:serviceTask id="tell" name="Tell"><bpmn:extensionElements><weir:handler name="notify"/>'
        "</bpmn:extensionElements></bpmn:serviceTask>"
    )
    xml = bpmn(START, user_task("ask"), task, APPROVED, path("begin", "ask", "tell", "approved"))
    definition = load(xml, key="handler", handlers=frozenset({"notify"}))
    step = start(definition, {})
    assert step.actions == ()
    step = complete(definition, step.state, step.waiting[0].task_id, {"decision": "approve"})
    assert (step.actions, step.done) == ((Action("tell", "notify"),), True)


def test_a_loop_without_people_stops() -> None:
    gateways = '<bpmn:exclusiveGateway id="a"/><bpmn:exclusiveGateway id="b" default="again"/>'
    xml = bpmn(
        START, gateways, APPROVED, path("begin", "a", "b"),
        flow("b", "approved", "amount > 1"), flow("b", "a", flow_id="again"),
    )  # fmt: skip
    definition = load(xml, key="spin")
    assert start(definition, {"amount": 2}).outcome == "approved"
    with pytest.raises(WorkflowStuck, match="500 moves without a person"):
        start(definition, {"amount": 1})


def test_a_process_sent_back_without_end_is_refused_before_it_seems_done() -> None:
    gateway = '<bpmn:exclusiveGateway id="choice" default="back"/>'
    gates = [f"gate{number}" for number in range(120)]
    embedded = (
        '<bpmn:subProcess id="part"><bpmn:startEvent id="s"/><bpmn:endEvent id="e"/>'
        + "".join(f'<bpmn:exclusiveGateway id="{gate}"/>' for gate in gates)
        + path("s", *gates, "e") + "</bpmn:subProcess>"
    )  # fmt: skip
    xml = bpmn(
        START, embedded, user_task("ask", 'allowSendBack="true"'), gateway, APPROVED,
        path("begin", "part", "ask", "choice"), flow("choice", "part", flow_id="back"),
        flow("choice", "approved", "decision == 'approve'"),
    )  # fmt: skip
    definition = load(xml, key="endless")
    step = start(definition, {})
    rounds = 0
    with pytest.raises(WorkflowStuck, match="more than 900 steps"):  # noqa: PT012
        while True:
            step = complete(definition, step.state, step.waiting[0].task_id, {"decision": "send_back"})
            rounds += 1
    assert rounds == 5
    assert (
        complete(definition, step.state, step.waiting[0].task_id, {"decision": "approve"}).outcome
        == "approved"
    )


def test_a_move_that_would_get_stuck_is_not_made() -> None:
    gateway = '<bpmn:exclusiveGateway id="choice" default="left"/><bpmn:parallelGateway id="join"/>'
    xml = bpmn(
        START, user_task("ask"), gateway, user_task("a"), user_task("b"), APPROVED,
        path("begin", "ask", "choice"), flow("choice", "a", flow_id="left"),
        flow("choice", "b", "amount &gt; 1"),
        path("a", "join", "approved"), path("b", "join"),
    )  # fmt: skip
    definition = load(xml, key="stuck")
    step = start(definition, {"amount": 1})
    step = complete(definition, step.state, step.waiting[0].task_id, {"decision": "approve"})
    with pytest.raises(WorkflowStuck, match="a join waits for a branch not taken"):
        complete(definition, step.state, step.waiting[0].task_id, {"decision": "approve"})


def test_a_terminating_end_stops_the_other_branch() -> None:
    stop = REJECTED.replace("</bpmn:endEvent>", "<bpmn:terminateEventDefinition/></bpmn:endEvent>")
    xml = bpmn(
        START, '<bpmn:parallelGateway id="fork"/>', user_task("left"), user_task("right"), stop, APPROVED,
        path("begin", "fork", "left", "rejected"), path("fork", "right", "approved"),
    )  # fmt: skip
    definition = load(xml, key="stop")
    step = start(definition, {})
    left = next(one for one in step.waiting if one.node_id == "left")
    step = complete(definition, step.state, left.task_id, {"decision": "approve"})
    assert (step.done, step.outcome, step.waiting) == (True, "rejected", ())


# -- state


def test_equal_input_gives_equal_state_and_seeds_give_own_task_ids() -> None:
    one, same, other = (start(APPLICATION, {"amount": 3}, seed=seed) for seed in ("a", "a", "b"))
    assert one == same
    assert one.waiting[0].task_id != other.waiting[0].task_id
    moved = [
        complete(APPLICATION, step.state, step.waiting[0].task_id, {"decision": "approve"})
        for step in (one, same)
    ]
    assert moved[0] == moved[1]


def test_state_is_plain_json_and_moving_on_leaves_the_old_state_usable() -> None:
    step = start(APPLICATION, {"note": "堰", "lines": [{"typename": "Task", "qty": 1}]})
    again = json.dumps(json.loads(step.state), sort_keys=True)
    for decision in ("approve", "refuse"):
        moved = complete(APPLICATION, again, step.waiting[0].task_id, {"decision": decision})
        assert moved.data["lines"] == [{"typename": "Task", "qty": 1}]
    assert "pickle" not in step.state


@pytest.mark.req("PLAT-CFG-22")
def test_an_instance_goes_on_with_the_version_it_was_started_with() -> None:
    old = load(one_step(condition="amount &gt; 10"), key="versioned")
    new = load(one_step(condition="amount &gt; 100"), key="versioned")
    step = start(old, {"amount": 50})
    reference = state_ref(step.state)

    assert (reference.key, reference.sha256) == (old.key, old.sha256)
    with pytest.raises(StateRefused, match="Load the file it was started with"):
        complete(new, step.state, step.waiting[0].task_id, {"decision": "approve"})
    assert complete(old, step.state, step.waiting[0].task_id, {"decision": "approve"}).outcome == "approved"


def test_the_state_of_another_definition_is_refused() -> None:
    step = start(TERMINATION, {})
    with pytest.raises(StateRefused, match="belongs to version"):
        complete(APPLICATION, step.state, step.waiting[0].task_id, {"decision": "approve"})


@pytest.mark.parametrize(
    "damage",
    [
        lambda fields: "not json",
        lambda fields: "[]",
        lambda fields: "[" * 100_000,
        lambda fields: json.dumps({**fields, "format": 2}),
        lambda fields: json.dumps({**fields, "values": []}),
        lambda fields: json.dumps({**fields, "workflow": {}}),
        lambda fields: json.dumps({**fields, "workflow": {**fields["workflow"], "tasks": {}}}),
        lambda fields: json.dumps({**fields, "workflow": {**fields["workflow"], "typename": "Task"}}),
        lambda fields: json.dumps({**fields, "workflow": {**fields["workflow"], "typename": "os.system"}}),
        lambda fields: json.dumps({**fields, "seed": "x" * 600_000}),
        lambda fields: json.dumps(fields).replace('"tenant_decision"', '"nowhere"'),
        lambda fields: json.dumps(fields).replace('"state": 16', '"state": "ready"'),
    ],
)
def test_a_damaged_state_is_refused(damage) -> None:  # type: ignore[no-untyped-def]
    step = start(APPLICATION, {})
    with pytest.raises(StateRefused):
        complete(
            APPLICATION, damage(json.loads(step.state)), step.waiting[0].task_id, {"decision": "approve"}
        )


def test_a_state_cannot_bring_its_own_process() -> None:
    step = start(TERMINATION, {})
    fields = json.loads(step.state)
    fields["workflow"]["spec"] = {"typename": "BpmnProcessSpec", "task_specs": {}}
    moved = complete(TERMINATION, json.dumps(fields), step.waiting[0].task_id, {"decision": "refuse"})
    assert moved.outcome == "rejected"


# -- values


@pytest.mark.parametrize(
    "data",
    [
        {"decision": "approve"},
        {"decision_tenant_decision": "approve"},
        {"true": False},
        {1: 2},
        {"amount": float("nan")},
        {"amount": 10**19},
        {"when": object()},
        {"raw": b"x"},
        {"nested": {1: 2}},
        {"text": "x" * 70_000},
        {"broken": "\ud800"},
        {"deep": [[[[[[[[[[1]]]]]]]]]]},
    ],
)
def test_values_that_are_not_small_plain_json_are_refused(data: dict) -> None:  # type: ignore[type-arg]
    with pytest.raises(DataRefused):
        start(APPLICATION, data)


def test_a_decision_may_add_values_that_later_branches_read() -> None:
    definition = load(one_step(condition="amount &gt; 10"), key="adds")
    step = start(definition, {"amount": 1})
    outcome = {"decision": "approve", "data": {"amount": 11}}
    assert complete(definition, step.state, step.waiting[0].task_id, outcome).outcome == "approved"
    with pytest.raises(DataRefused, match="reserved"):
        complete(
            definition, step.state, step.waiting[0].task_id, {"decision": "approve", "data": {"decision": 1}}
        )


def test_a_branch_on_a_missing_value_is_refused_with_its_name() -> None:
    definition = load(one_step(condition="amount &gt; 10"), key="missing")
    step = start(definition, {})
    with pytest.raises(ExpressionRefused, match="no value named 'amount'"):
        complete(definition, step.state, step.waiting[0].task_id, {"decision": "approve"})


def test_an_unfinished_drawing_loads_but_does_not_start() -> None:
    definition = load(one_step(candidates=""), key="unfinished")
    assert [problem.code for problem in definition.problems] == ["no_candidates"]
    assert not definition.is_startable
    with pytest.raises(BpmnRefused, match='userTask ask "Ask ask": Nobody is asked'):
        start(definition, {})


def test_the_path_of_an_approval_is_who_would_be_asked_and_changes_nothing() -> None:
    large = definition_get("application_approval_large")
    names = {
        amount: [one.node_id for one in approval_path(large, start(large, {"amount": amount}))]
        for amount in (5, 20000)
    }
    assert names == {
        5: ["tenant_decision", "operations_decision"],
        20000: ["tenant_decision", "tenant_operations_decision", "operations_decision"],
    }
    step = start(APPLICATION, {})
    approval_path(APPLICATION, step)
    assert complete(APPLICATION, step.state, step.waiting[0].task_id, {"decision": "approve"}).waiting


def test_the_path_of_steps_side_by_side_has_all_of_them_and_of_a_circle_each_once() -> None:
    both = load(
        bpmn(
            START,
            APPROVED,
            '<bpmn:parallelGateway id="fork"/>',
            '<bpmn:parallelGateway id="join"/>',
            user_task("left"),
            user_task("right"),
            flow("begin", "fork"),
            flow("fork", "left"),
            flow("fork", "right"),
            flow("left", "join"),
            flow("right", "join"),
            flow("join", "approved"),
        ),
        key="both",
    )
    assert sorted(one.node_id for one in approval_path(both, start(both, {}))) == ["left", "right"]
    circle = load(
        bpmn(
            START,
            APPROVED,
            user_task("again"),
            '<bpmn:exclusiveGateway id="gate" default="back"/>',
            flow("begin", "again"),
            flow("again", "gate"),
            flow("gate", "approved", "count > 5"),
            flow("gate", "again", flow_id="back"),
        ),
        key="circle",
    )
    assert [one.node_id for one in approval_path(circle, start(circle, {"count": 1}))] == ["again"]
