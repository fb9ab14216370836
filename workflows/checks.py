"""What can be wrong with an uploaded process, each named by its element (PLAT-CFG-16, -20, -21)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from lxml import etree

from workflows.expressions import expression_check, expression_parts
from workflows.extension_elements import extension, extension_problems, handler_read, node_read, outcome_read
from workflows.types import ExpressionRefused, Problem
from workflows.vocabulary import (
    CODE,
    CODE_MARK,
    CODE_NAME,
    DRAWN_ONLY,
    FLOW_NODES,
    INERT,
    PARENTS,
    RUN,
    WEIR_ATTRIBUTES,
)
from workflows.xml_reader import (
    DIAGRAM_NAMESPACES,
    ID_PATTERN,
    MODEL,
    WEIR,
    called_ids,
    local,
    main_processes,
    model,
    namespace,
    problem_at,
    scopes,
)

FLOW_NODE_LIMIT = 150
NAME_LIMIT = 200


def problems_of(root: etree._Element, handlers: frozenset[str]) -> Iterator[Problem]:
    """All problems of a file that was read safely, in the order of the file within each kind of check."""
    for element in root.iter():
        yield from _element_problems(element)
        yield from _place_problems(element)
        yield from _attribute_problems(element)
    yield from extension_problems(root)
    yield from _id_problems(root)
    yield from _process_problems(root)
    yield from _handler_problems(root, handlers)
    for scope in scopes(root):
        yield from _scope_problems(scope)


def _refused(element: etree._Element, code: str, message: str, cure: str) -> Problem:
    return problem_at(element, "refused", code, message, cure)


def _unfinished(element: etree._Element, code: str, message: str, cure: str) -> Problem:
    return problem_at(element, "unfinished", code, message, cure)


# -- what an element is


def _element_problems(element: etree._Element) -> Iterator[Problem]:
    space, name = namespace(element.tag), local(element.tag)
    if space == MODEL:
        yield from _model_problems(element, name)
    elif space == WEIR:
        yield from _weir_problems(element, name)
    elif space not in DIAGRAM_NAMESPACES and (CODE_NAME.search(name) or CODE_MARK.search(element.text or "")):
        yield _refused(
            element, "code", f"The extension {name} may hold code.", "Remove it; nothing of it would run."
        )


def _model_problems(element: etree._Element, name: str) -> Iterator[Problem]:
    if name == "conditionExpression":
        yield from _condition_problems(element)
    elif name in CODE:
        if "".join(element.itertext()).strip():
            yield _refused(
                element, "code", f"It holds code ({name}).", "Remove the code; use a named handler."
            )
    elif name in DRAWN_ONLY:
        yield _unfinished(
            element,
            "not_run",
            f"A {name} is drawn but does not run here.",
            "Use a user task, a service task with a handler, or a gateway.",
        )
    elif name not in RUN and name not in INERT:
        yield _refused(element, "unknown_element", f"The element {name} is not known here.", "Remove it.")


def _place_problems(element: etree._Element) -> Iterator[Problem]:
    """A flow or node hidden inside another element would escape the checks of its process."""
    parent = element.getparent()
    if namespace(element.tag) != MODEL or local(element.tag) not in PARENTS:
        return
    if (
        parent is None
        or namespace(parent.tag) != MODEL
        or local(parent.tag) not in PARENTS[local(element.tag)]
    ):
        yield _refused(element, "misplaced", "It lies inside an element that cannot hold it.", "Move it out.")


def _condition_problems(element: etree._Element) -> Iterator[Problem]:
    try:
        expression_check(element.text or "")
    except ExpressionRefused as error:
        yield _refused(
            element, "bad_condition", str(error), "Example: amount > 100 and decision == 'approve'."
        )


def _weir_problems(element: etree._Element, name: str) -> Iterator[Problem]:
    unknown = set(map(str, element.attrib)) - WEIR_ATTRIBUTES.get(name, frozenset())
    if name not in WEIR_ATTRIBUTES or unknown or len(element):
        what = ", ".join(sorted(unknown)) or name
        yield _refused(element, "unknown_setting", f"The setting {what} is not known here.", "Remove it.")


def _attribute_problems(element: etree._Element) -> Iterator[Problem]:
    if namespace(element.tag) in DIAGRAM_NAMESPACES:
        return
    for attribute, value in element.attrib.items():
        foreign = namespace(attribute) not in ("", MODEL, WEIR)
        if (foreign and CODE_NAME.search(local(attribute))) or CODE_MARK.search(value):
            yield _refused(
                element,
                "code",
                f"The attribute {local(attribute)} may hold code.",
                "Remove it; nothing of it would run.",
            )


# -- how the file hangs together


def _id_problems(root: etree._Element) -> Iterator[Problem]:
    named = [one for one in root.iter() if namespace(one.tag) == MODEL and one.get("id") is not None]
    counts = Counter(one.get("id") for one in named)
    for element in named:
        if not ID_PATTERN.fullmatch(element.get("id")) or counts[element.get("id")] > 1:
            yield _refused(
                element, "bad_id", "Its id is malformed or not unique.", "Give it an id of its own."
            )
        if len(element.get("name", "")) > NAME_LIMIT:
            yield _refused(
                element, "long_name", f"Its name is longer than {NAME_LIMIT} characters.", "Shorten it."
            )
    for element in root.iter(*(model(name) for name in (*FLOW_NODES, "process"))):
        if element.get("id") is None:
            yield _refused(element, "no_id", "It has no id.", "Give it one.")


def _process_problems(root: etree._Element) -> Iterator[Problem]:
    mains = main_processes(root)
    for extra in mains[1:]:
        yield _refused(
            extra, "second_process", "The file holds more than one process.", "Keep one, or call it."
        )
    for end in mains[0].findall(model("endEvent")) if mains else ():
        if not outcome_read(end):
            yield _unfinished(end, "no_outcome", "It does not say how the process ends.", "Set its outcome.")
    if not mains:
        yield _refused(root, "no_process", "The file holds no process that starts.", "Draw one process.")
    known = {one.get("id"): one for one in root.iter(model("process"))}
    for call in root.iter(model("callActivity")):
        if call.get("calledElement") not in known:
            yield _unfinished(
                call, "unknown_call", "It calls a process that is not in the file.", "Add the process."
            )
    for process in known.values():
        if _is_circular(process, known):
            yield _refused(
                process, "circular_call", "The process calls itself.", "Break the circle of calls."
            )
    if sum(1 for _ in root.iter(*(model(name) for name in FLOW_NODES))) > FLOW_NODE_LIMIT:
        yield _refused(
            root, "too_many_nodes", f"More than {FLOW_NODE_LIMIT} nodes are drawn.", "Split the process."
        )


def _is_circular(process: etree._Element, known: dict[str, etree._Element]) -> bool:
    seen: set[str] = set()
    todo = called_ids(process)
    while todo:
        called = todo.pop()
        if called in known and called not in seen:
            seen.add(called)
            todo |= called_ids(known[called])
    return process.get("id") in seen


def _handler_problems(root: etree._Element, handlers: frozenset[str]) -> Iterator[Problem]:
    for task in root.iter(model("serviceTask")):
        name = handler_read(task)
        if name not in handlers:
            allowed = ", ".join(sorted(handlers)) or "none yet"
            yield _refused(
                task, "unknown_handler", f"The handler {name!r} is not registered.", f"Known: {allowed}."
            )


# -- how the nodes of one process are joined


def _scope_problems(scope: etree._Element) -> Iterator[Problem]:
    nodes = {one.get("id"): one for one in scope if _is_flow_node(one)}
    if not nodes:
        return
    flows = scope.findall(model("sequenceFlow"))
    for flow in flows:
        if flow.get("sourceRef") not in nodes or flow.get("targetRef") not in nodes:
            yield _unfinished(
                flow, "loose_flow", "The flow does not join two nodes that run.", "Connect both ends."
            )
    yield from _start_problems(scope, nodes, flows)
    for node in nodes.values():
        outgoing = [flow for flow in flows if flow.get("sourceRef") == node.get("id")]
        yield from _outgoing_problems(node, outgoing)
        yield from _node_problems(node, outgoing, nodes, flows)


def _is_flow_node(element: etree._Element) -> bool:
    return namespace(element.tag) == MODEL and local(element.tag) in FLOW_NODES


def _start_problems(
    scope: etree._Element, nodes: dict[str, etree._Element], flows: list[etree._Element]
) -> Iterator[Problem]:
    for flow in flows:
        if (target := nodes.get(flow.get("targetRef"))) is not None and target.tag == model("startEvent"):
            yield _unfinished(
                flow, "start_reentered", "The flow leads back to a start.", "Lead it to a node."
            )
    starts = [one for one in nodes.values() if one.tag == model("startEvent")]
    if len(starts) != 1 or scope.find(model("endEvent")) is None:
        yield _unfinished(
            scope, "start_end", "It needs exactly one start and at least one end.", "Draw them."
        )
        return
    reached, todo = set(), {starts[0].get("id")}
    while todo:
        reached.add(here := todo.pop())
        todo |= {flow.get("targetRef") for flow in flows if flow.get("sourceRef") == here} - reached
    for node_id, node in nodes.items():
        if node_id not in reached:
            yield _unfinished(node, "unreached", "Nothing leads to it.", "Connect or remove it.")


def _outgoing_problems(node: etree._Element, outgoing: list[etree._Element]) -> Iterator[Problem]:
    kind = local(node.tag)
    if kind == "endEvent":
        if outgoing:
            yield _unfinished(node, "end_continues", "A flow leaves an end.", "Remove the flow.")
        return
    if not outgoing:
        yield _unfinished(node, "dead_end", "Nothing follows it.", "Connect it to the next node or an end.")
    if kind in ("exclusiveGateway", "inclusiveGateway"):
        yield from _branch_problems(node, outgoing)
        return
    if len(outgoing) > 1 and kind != "parallelGateway":
        yield _unfinished(node, "many_flows", "More than one flow leaves it.", "Put a gateway behind it.")
    for flow in outgoing:
        if flow.find(model("conditionExpression")) is not None:
            yield _unfinished(
                flow, "lost_condition", "A condition counts only behind a gateway.", "Add a gateway."
            )


def _branch_problems(gateway: etree._Element, outgoing: list[etree._Element]) -> Iterator[Problem]:
    default = gateway.get("default")
    if len(outgoing) > 1 and default not in [flow.get("id") for flow in outgoing]:
        yield _unfinished(
            gateway, "no_default", "No flow is marked as default.", "Mark the one to take otherwise."
        )
    for flow in outgoing:
        has_condition = flow.find(model("conditionExpression")) is not None
        if len(outgoing) > 1 and flow.get("id") != default and not has_condition:
            yield _unfinished(flow, "no_condition", "The branch has no condition.", "Write one.")
        if flow.get("id") == default and has_condition:
            yield _unfinished(flow, "default_condition", "The default flow has a condition.", "Remove it.")


def _node_problems(
    node: etree._Element,
    outgoing: list[etree._Element],
    nodes: dict[str, etree._Element],
    flows: list[etree._Element],
) -> Iterator[Problem]:
    if node.tag == model("userTask"):
        if not extension(node, "candidate"):
            yield _unfinished(node, "no_candidates", "Nobody is asked.", "Name at least one candidate.")
        yield from _decision_problems(node, outgoing, nodes, flows)


def _decision_problems(
    task: etree._Element,
    outgoing: list[etree._Element],
    nodes: dict[str, etree._Element],
    flows: list[etree._Element],
) -> Iterator[Problem]:
    """A refusal that no branch looks at would pass as consent; such a node is unfinished."""
    try:
        node = node_read(task)
    except ValueError:
        return
    offered = set(node.decisions) - {"approve"}
    gateways = {flow.get("targetRef") for flow in outgoing}
    looked_at: set[str] = set()
    for flow in flows:
        names, texts = _condition_parts(flow)
        directly = flow.get("sourceRef") in gateways and "decision" in names
        if directly or f"decision_{node.node_id}" in names:
            looked_at |= texts
    if offered and "approve" not in looked_at and not offered <= looked_at:
        yield _unfinished(
            task,
            "decision_ignored",
            "It allows refusing or sending back, but no branch behind it looks at that.",
            "Put an exclusive gateway behind it with the condition decision == 'approve'.",
        )


def _condition_parts(flow: etree._Element) -> tuple[frozenset[str], frozenset[str]]:
    condition = flow.find(model("conditionExpression"))
    try:
        return expression_parts(condition.text or "") if condition is not None else (frozenset(), frozenset())
    except ExpressionRefused:
        return frozenset(), frozenset()
