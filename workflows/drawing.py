"""The picture of a process: its file without what runs, its names in the reader's words."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy

from lxml import etree

from workflows.types import Definition
from workflows.vocabulary import FLOW_NODES
from workflows.xml_reader import local, main_processes, model, namespace, source_read

_DI = "http://www.omg.org/spec/BPMN/20100524/DI"
_BOUNDS = "{http://www.omg.org/spec/DD/20100524/DC}Bounds"
_WAYPOINT = "{http://www.omg.org/spec/DD/20100524/DI}waypoint"
_DRAWN_WORDS = ("extensionElements", "documentation", "conditionExpression")


def named_parts(definition: Definition) -> dict[str, str]:
    """What the drawing calls its nodes and flows, by their ids; those without a name are left out."""
    process = main_processes(source_read(definition.xml))[0]
    return {
        one.get("id") or "": one.get("name") or ""
        for one in process.iter(*map(model, (*FLOW_NODES, "sequenceFlow")))
        if one.get("name")
    }


def picture_of(definition: Definition, names: Mapping[str, str]) -> str | None:
    """The drawing as BPMN text for a viewer, each part in `names` (by its id) called so; None for a file that does not
    say where each of its nodes and flows is drawn, which no viewer could show whole."""
    root = deepcopy(source_read(definition.xml))
    if not _is_drawn(root):
        return None
    for element in list(root.iter(*map(model, _DRAWN_WORDS))):
        parent = element.getparent()
        if parent is not None:
            parent.remove(element)
    for element in root.iter():
        if (name := names.get(element.get("id", ""))) is not None:
            element.set("name", name)
    etree.cleanup_namespaces(root)
    return str(etree.tostring(root, encoding="unicode"))


def _is_drawn(root: etree._Element) -> bool:
    placed = {
        one.get("bpmnElement") for one in root.iter(f"{{{_DI}}}BPMNShape") if one.find(_BOUNDS) is not None
    }
    joined = {
        one.get("bpmnElement") for one in root.iter(f"{{{_DI}}}BPMNEdge") if len(one.findall(_WAYPOINT)) > 1
    }
    parts = list(main_processes(root)[0])
    nodes = {one.get("id") for one in parts if namespace(one.tag) and local(one.tag) in FLOW_NODES}
    flows = {one.get("id") for one in parts if one.tag == model("sequenceFlow")}
    return nodes <= placed and flows <= joined
