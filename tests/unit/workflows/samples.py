"""Small BPMN files for the tests, built from the part that a test is about."""

from __future__ import annotations

from itertools import pairwise

HEAD = (
    '<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" '
    'xmlns:weir="http://weir/schema/bpmn/1" xmlns:camunda="http://camunda.org/schema/1.0/bpmn" '
    'id="definitions" targetNamespace="http://weir/tests">'
)
TAIL = "</bpmn:definitions>"
START = '<bpmn:startEvent id="begin"/>'
APPROVED = (
    '<bpmn:endEvent id="approved"><bpmn:extensionElements><weir:end outcome="approved"/>'
    "</bpmn:extensionElements></bpmn:endEvent>"
)
REJECTED = APPROVED.replace("approved", "rejected")
ROLE = '<weir:candidate kind="role" value="tenant_decision_maker" side="tenant"/>'


def user_task(node_id: str, settings: str = "", candidates: str = ROLE, inside: str = "") -> str:
    return (
        f'<bpmn:userTask id="{node_id}" name="Ask {node_id}"><bpmn:extensionElements><weir:node {settings}/>'
        f"{candidates}</bpmn:extensionElements>{inside}</bpmn:userTask>"
    )


def flow(source: str, target: str, condition: str = "", flow_id: str = "") -> str:
    inside = f"<bpmn:conditionExpression>{condition}</bpmn:conditionExpression>" if condition else ""
    flow_id = flow_id or f"{source}_to_{target}"
    ends = f'sourceRef="{source}" targetRef="{target}"'
    return f'<bpmn:sequenceFlow id="{flow_id}" {ends}>{inside}</bpmn:sequenceFlow>'


def path(*node_ids: str) -> str:
    return "".join(flow(here, there) for here, there in pairwise(node_ids))


def process(*parts: str, process_id: str = "sample") -> str:
    return f'<bpmn:process id="{process_id}" name="Sample">{"".join(parts)}</bpmn:process>'


def bpmn(*parts: str) -> bytes:
    """A file with one process of these parts."""
    return document(process(*parts))


def document(*elements: str) -> bytes:
    return (HEAD + "".join(elements) + TAIL).encode()


def one_step(inside: str = "", condition: str = "", settings: str = "", candidates: str = ROLE) -> bytes:
    """begin, ask, then approved; with a condition: over a gateway whose default is rejected."""
    ask = user_task("ask", settings, candidates, inside)
    if not condition:
        return bpmn(START, ask, APPROVED, path("begin", "ask", "approved"))
    gateway = '<bpmn:exclusiveGateway id="choice" name="Which way?" default="otherwise"/>'
    branches = flow("choice", "approved", condition) + flow("choice", "rejected", flow_id="otherwise")
    return bpmn(START, ask, gateway, APPROVED, REJECTED, path("begin", "ask", "choice"), branches)
