"""Reads an uploaded file into a harmless XML tree: no DTD, no entities, no network, bounded size."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

from workflows.types import BpmnRefused, Problem, ProblemKind

MODEL = "http://www.omg.org/spec/BPMN/20100524/MODEL"
DIAGRAM_NAMESPACES = frozenset(
    {
        "http://www.omg.org/spec/BPMN/20100524/DI",
        "http://www.omg.org/spec/DD/20100524/DC",
        "http://www.omg.org/spec/DD/20100524/DI",
    }
)
WEIR = "http://weir/schema/bpmn/1"
FILE_LIMIT_KIB = 256
ELEMENT_LIMIT = 5000
KEY_PATTERN = re.compile(r"[a-z][a-z0-9_]{0,63}")
ID_PATTERN = re.compile(r"[A-Za-z_][\w.\-]{0,127}")


def source_read(xml: bytes) -> etree._Element:
    """The root element, or BpmnRefused when the file is too large, not XML, or declares a DTD."""
    if len(xml) > FILE_LIMIT_KIB * 1024:
        raise _refused(
            "file_too_large", f"The file has {len(xml)} bytes.", f"At most {FILE_LIMIT_KIB} KiB are read."
        )
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(xml, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise _refused(
            "not_xml", f"The file is not well-formed XML ({error}).", "Export it again as BPMN."
        ) from error
    _frame_check(root)
    return root


def _frame_check(root: etree._Element) -> None:
    info = root.getroottree().docinfo
    if info.doctype or info.internalDTD is not None:
        raise _refused(
            "doctype", "The file declares a document type or entities.", "Remove the DOCTYPE part."
        )
    if root.tag != model("definitions"):
        raise _refused(
            "not_bpmn", "The file is not BPMN 2.0.", "Export it as BPMN 2.0 (definitions element)."
        )
    if sum(1 for _ in root.iter()) > ELEMENT_LIMIT:
        raise _refused("too_many", f"The file has more than {ELEMENT_LIMIT} elements.", "Split the process.")


def _refused(code: str, message: str, cure: str) -> BpmnRefused:
    return BpmnRefused((Problem("refused", code, "", "", "", message, cure),))


def model(name: str) -> str:
    """The full tag of a BPMN element."""
    return f"{{{MODEL}}}{name}"


def weir(name: str) -> str:
    """The full tag of one of our extension elements."""
    return f"{{{WEIR}}}{name}"


def local(tag: str) -> str:
    """A tag or attribute name without its namespace."""
    return str(etree.QName(tag).localname)


def namespace(tag: str) -> str:
    """The namespace of a tag or attribute name; empty where it has none."""
    return str(etree.QName(tag).namespace or "")


def owner(element: etree._Element) -> etree._Element:
    """The nearest BPMN element with an id around or at `element`: what a person can find on the canvas."""
    for candidate in (element, *element.iterancestors()):
        if namespace(candidate.tag) == MODEL and candidate.get("id") and not _is_expression(candidate):
            return candidate
    return element


def _is_expression(element: etree._Element) -> bool:
    return local(element.tag).lower().endswith("expression")


def problem_at(element: etree._Element, kind: ProblemKind, code: str, message: str, cure: str) -> Problem:
    """A Problem that names the element a person can find."""
    place = owner(element)
    name = " ".join((place.get("name") or "").split())
    return Problem(kind, code, place.get("id") or "", local(place.tag), name, message, cure)


def scopes(root: etree._Element) -> Iterator[etree._Element]:
    """Every process and embedded subprocess: the elements that hold flow nodes."""
    yield from root.iter(model("process"), model("subProcess"))


def called_ids(process: etree._Element) -> set[str]:
    """The ids of the processes that `process` calls."""
    return {call.get("calledElement") or "" for call in process.iter(model("callActivity"))}


def main_processes(root: etree._Element) -> list[etree._Element]:
    """The processes with a start that no other process calls; a file that can run has exactly one."""
    processes = root.findall(model("process"))
    called = set().union(*(called_ids(process) for process in processes)) if processes else set()
    return [one for one in processes if one.get("id") not in called and len(one)]
