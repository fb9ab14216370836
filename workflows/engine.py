"""Approval processes drawn in BPMN 2.0, run as pure functions over JSON text (PLAT-CFG-16 to -19, -21, -22).

`load` a file, `start` an instance, `complete` each waiting task; every call returns the next `Step` and
changes nothing that it was given. What people may do at a node is data (`Waiting`); who those people are,
and when a time limit has passed, is the caller's knowledge. No text of an uploaded file is ever executed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from lxml import etree

from workflows.checks import problems_of
from workflows.extension_elements import handler_read, name_of, name_zh_of, node_read, outcome_read
from workflows.machine import Machine, machine_check
from workflows.state import Saved, data_checked, renumbered, state_read, state_ref, state_write
from workflows.types import (
    Action,
    BpmnRefused,
    Candidate,
    DataRefused,
    Decision,
    DecisionRefused,
    Definition,
    ExpressionRefused,
    Node,
    Outcome,
    Problem,
    Rule,
    StateRef,
    StateRefused,
    Step,
    Waiting,
    WorkflowError,
    WorkflowStuck,
)
from workflows.xml_reader import KEY_PATTERN, main_processes, model, source_read

__all__ = [
    "Action", "BpmnRefused", "Candidate", "DataRefused", "Decision", "DecisionRefused", "Definition",
    "ExpressionRefused", "Node", "Outcome", "Problem", "Rule", "StateRef", "StateRefused", "Step", "Waiting",
    "WorkflowError", "WorkflowStuck", "approval_path", "check", "complete", "load", "resumed", "start", "state_ref",
    "tally",
]  # fmt: skip

NO_HANDLERS: frozenset[str] = frozenset()
# With several ends reached, the one that grants least counts.
OUTCOME_ORDER: tuple[Outcome, ...] = ("rejected", "sent_back", "approved")


def check(xml: bytes, *, handlers: frozenset[str] = NO_HANDLERS) -> list[Problem]:
    """What is wrong with the file; an empty list means that instances can start from it."""
    try:
        root = source_read(xml)
    except BpmnRefused as refused:
        return list(refused.problems)
    problems = list(dict.fromkeys(problems_of(root, handlers)))
    complaint = "" if problems else machine_check(xml)
    if complaint:
        return [Problem("refused", "not_runnable", "", "process", "", complaint, "Simplify the drawing.")]
    return problems


def load(xml: bytes, *, key: str, handlers: frozenset[str] = NO_HANDLERS) -> Definition:
    """The definition in the file. Raises BpmnRefused for code, unknown elements and the like.

    A drawing that is only unfinished is loaded, to be edited; its `problems` say what is missing, and `start`
    refuses it. `handlers` are the registered names that service tasks may use.
    """
    if not KEY_PATTERN.fullmatch(key):
        raise WorkflowError(f"The process key {key!r} is malformed. Use small letters, digits and _.")
    problems = tuple(check(xml, handlers=handlers))
    refused = tuple(problem for problem in problems if problem.kind == "refused")
    if refused:
        raise BpmnRefused(refused)
    return _definition(source_read(xml), xml, key, problems)


def _definition(root: etree._Element, xml: bytes, key: str, problems: tuple[Problem, ...]) -> Definition:
    process = main_processes(root)[0]
    description = process.findtext(model("documentation"), default="")
    return Definition(
        key=key,
        sha256=hashlib.sha256(xml).hexdigest(),
        xml=xml,
        process_id=process.get("id") or "",
        name=name_of(process),
        name_zh=name_zh_of(process, "process"),
        description=" ".join(description.split()),
        nodes=tuple(node_read(task) for task in root.iter(model("userTask"))),
        handlers=tuple(
            (task.get("id") or "", handler_read(task)) for task in root.iter(model("serviceTask"))
        ),
        outcomes=tuple(
            (end.get("id") or "", outcome_read(end)) for end in process.findall(model("endEvent"))
        ),
        problems=problems,
    )


def start(definition: Definition, data: Mapping[str, Any], *, seed: str = "") -> Step:
    """A new instance over the form's values (plain JSON), moved to its first waiting nodes.

    `seed` makes task ids differ between instances (pass the instance's id); equal input gives equal output.
    Raises BpmnRefused for an unfinished definition, DataRefused, ExpressionRefused, WorkflowError.
    """
    if definition.problems:
        raise BpmnRefused(definition.problems)
    saved = Saved(seed, 0, (), data_checked(data), {})
    machine = Machine.fresh(definition, saved.values)
    machine.advance()
    return _step(definition, machine, saved)


def complete(definition: Definition, state: str, task_id: str, outcome: Mapping[str, Any]) -> Step:
    """Decide one waiting task: `outcome` is `{"decision": "approve" | "refuse" | "send_back"}`.

    It may also carry `"data"`, values to add to the form's. The conditions behind the node read `decision`;
    later ones may read `decision_<node id>`. For a countersigned node (`rule == "all_of"`) the caller keeps
    each person's decision, asks `tally`, and completes the task once. Raises DecisionRefused, StateRefused,
    DataRefused, ExpressionRefused; nothing is changed then.
    """
    saved = state_read(definition, state)
    machine = Machine.restored(definition, saved.workflow, saved.values)
    task = next((one for one in machine.waiting() if str(one.id) == task_id), None)
    if task is None:
        raise DecisionRefused("This step is already decided or no longer waits. Reload the page.")
    node = _node(definition, task.task_spec.name)
    values = {**saved.values, **_outcome_values(node, outcome)}
    machine.decide(task, values)
    return _step(definition, machine, replace(saved, values=values))


def resumed(definition: Definition, state: str) -> Step:
    """Where a kept instance stands: the step that led to this state, without what it passed on the way there.

    Raises StateRefused for a damaged state, and for one of another file.
    """
    saved = state_read(definition, state)
    return _step(definition, Machine.restored(definition, saved.workflow, saved.values), saved)


def approval_path(definition: Definition, step: Step) -> tuple[Waiting, ...]:
    """The nodes that an instance, from this step on, asks somebody at when everybody approves; each once, in order.

    Raises what `complete` raises: an instance that could not go on then is found before anybody is asked.
    """
    asked: dict[str, Waiting] = {}
    approved: set[str] = set()
    while step.waiting:
        for waiting in step.waiting:
            asked.setdefault(waiting.node_id, waiting)
        ahead = next((one for one in step.waiting if one.node_id not in approved), None)
        if ahead is None:
            break
        approved.add(ahead.node_id)
        step = complete(definition, step.state, ahead.task_id, {"decision": "approve"})
    return tuple(asked.values())


def tally(rule: Rule, decisions: Mapping[str, Decision], expected: Collection[str]) -> Decision | None:
    """What a node with several people has decided so far; None while it still waits (PLAT-CFG-18).

    `decisions` maps a person to the decision given, in the order of time; `expected` are the people asked.
    Of one: the first decision counts. Of all: the first that does not approve counts, approval needs
    everybody.
    Decisions of people who are not expected do not count; with nobody expected the node waits.
    """
    counted = {person: decision for person, decision in decisions.items() if person in expected}
    if rule == "one_of":
        return next(iter(counted.values()), None)
    against = [decision for decision in counted.values() if decision != "approve"]
    if against:
        return against[0]
    return "approve" if expected and len(counted) == len(set(expected)) else None


def _outcome_values(node: Node, outcome: Mapping[str, Any]) -> dict[str, Any]:
    unknown = set(outcome) - {"decision", "data"}
    if unknown:
        raise DecisionRefused(
            f"A decision has no part {', '.join(sorted(unknown))}. Send decision and data only."
        )
    decision = outcome.get("decision")
    if decision not in node.decisions:
        offered = ", ".join(node.decisions)
        raise DecisionRefused(f"{node.name} does not offer {decision!r}. Choose one of: {offered}.")
    added = outcome.get("data") or {}
    if not isinstance(added, Mapping):
        raise DataRefused("The values added by a decision are not a mapping. Send names with values.")
    return {**data_checked(added), "decision": decision, f"decision_{node.node_id}": decision}


def _node(definition: Definition, node_id: str) -> Node:
    for node in definition.nodes:
        if node.node_id == node_id:
            return node
    raise StateRefused(
        f"The state waits at {node_id}, which the definition does not have. Restore the state."
    )


def _step(definition: Definition, machine: Machine, before: Saved) -> Step:
    if not machine.is_done() and not machine.waiting():
        raise WorkflowStuck(
            "After this nobody would be asked and no end reached: a join waits for a branch not taken. "
            "Correct the drawing and start a new process."
        )
    workflow, count, names = renumbered(before, machine.saved())
    after = Saved(before.seed, count, (*before.ended, *machine.reached), before.values, workflow)
    handlers = dict(definition.handlers)
    return Step(
        state=state_write(definition, after),
        waiting=tuple(_waiting(definition, names.get(str(one.id), str(one.id)), one.task_spec.name)
                      for one in machine.waiting()),
        done=machine.is_done(),
        data=dict(after.values),
        outcome=_outcome(definition, after.ended) if machine.is_done() else "",
        actions=tuple(Action(node_id, handlers[node_id]) for node_id in machine.passed),
    )  # fmt: skip


def _outcome(definition: Definition, ended: tuple[str, ...]) -> Outcome:
    reached = {outcome for node_id, outcome in definition.outcomes if node_id in ended}
    return next((outcome for outcome in OUTCOME_ORDER if outcome in reached), "")


def _waiting(definition: Definition, task_id: str, node_id: str) -> Waiting:
    node = _node(definition, node_id)
    return Waiting(
        task_id=task_id,
        node_id=node_id,
        name=node.name,
        candidates=node.candidates,
        rule=node.rule,
        allow_refuse=node.allow_refuse,
        allow_send_back=node.allow_send_back,
        time_limit_s=node.time_limit_s,
        name_zh=node.name_zh,
        mail_approver=node.mail_approver,
    )
