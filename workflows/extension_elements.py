"""Reads our extension elements: the candidates and switches of approval nodes, handlers and outcomes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

from workflows.types import Candidate, Node, Outcome, Problem
from workflows.xml_reader import model, problem_at, weir

CANDIDATE_KINDS = ("role", "user", "post", "organization", "initiator_role")
SIDES = ("tenant", "operator")
RULES = ("one_of", "all_of")
OUTCOMES = ("approved", "rejected", "sent_back")
SWITCHES = ("true", "false")
VALUE_PATTERN = re.compile(r"[\w.:@\-]{1,100}")
TIME_LIMIT_MAX_S = 366 * 86400
CANDIDATE_LIMIT = 20


def extension(element: etree._Element, name: str) -> list[etree._Element]:
    """The element's own extension elements of that name."""
    return list(element.findall(f"{model('extensionElements')}/{weir(name)}"))


def _attribute(element: etree._Element, extension_name: str, attribute: str, default: str) -> str:
    found = extension(element, extension_name)
    return found[0].get(attribute, default) if found else default


def name_of(element: etree._Element) -> str:
    """The element's name on one line, or its id."""
    return " ".join((element.get("name") or "").split()) or element.get("id") or ""


def name_zh_of(element: etree._Element, extension_name: str) -> str:
    """The element's Chinese name; its only name where none is given."""
    return _attribute(element, extension_name, "nameZh", "") or name_of(element)


def node_read(task: etree._Element) -> Node:
    """The approval node of a checked user task."""
    limit = _attribute(task, "node", "timeLimitS", "")
    return Node(
        node_id=task.get("id"),
        name=name_of(task),
        name_zh=name_zh_of(task, "node"),
        candidates=tuple(
            Candidate(one.get("kind"), one.get("value"), one.get("side"))
            for one in extension(task, "candidate")
        ),
        rule="all_of" if _attribute(task, "node", "rule", "one_of") == "all_of" else "one_of",
        allow_refuse=_attribute(task, "node", "allowRefuse", "false") == "true",
        allow_send_back=_attribute(task, "node", "allowSendBack", "false") == "true",
        time_limit_s=int(limit) if limit else None,
        mail_approver=_attribute(task, "node", "mailApprover", "false") == "true",
    )


def handler_read(task: etree._Element) -> str:
    """The handler's name of a service task; empty where none is set."""
    return _attribute(task, "handler", "name", "")


def outcome_read(end: etree._Element) -> Outcome:
    """How the process ends at this end event; empty where it is not said."""
    value = _attribute(end, "end", "outcome", "")
    for outcome in OUTCOMES:
        if value == outcome:
            return outcome  # type: ignore[return-value]
    return ""


def extension_problems(root: etree._Element) -> Iterator[Problem]:
    """Settings of ours whose values are outside their lists or ranges."""
    for setting in root.iter(weir("node")):
        yield from _choice_problems(setting, {"rule": RULES, **dict.fromkeys(_NODE_SWITCHES, SWITCHES)}, ())
        yield from _time_limit_problems(setting)
    for candidate in root.iter(weir("candidate")):
        yield from _choice_problems(candidate, {"kind": CANDIDATE_KINDS, "side": SIDES}, ("kind", "side"))
        if not VALUE_PATTERN.fullmatch(candidate.get("value", "")):
            yield _setting_problem(
                candidate, "value", "a codename or id of 1 to 100 letters, digits, . : @ _ -"
            )
    for end in root.iter(weir("end")):
        yield from _choice_problems(end, {"outcome": OUTCOMES}, ("outcome",))
    for task in root.iter(model("userTask")):
        if len(extension(task, "candidate")) > CANDIDATE_LIMIT or len(extension(task, "node")) > 1:
            yield _setting_problem(task, "node", f"one node setting and at most {CANDIDATE_LIMIT} candidates")


_NODE_SWITCHES = ("allowRefuse", "allowSendBack", "mailApprover")


def _choice_problems(
    setting: etree._Element, choices: dict[str, tuple[str, ...]], required: tuple[str, ...]
) -> Iterator[Problem]:
    for attribute, allowed in choices.items():
        value = setting.get(attribute)
        if (value is None and attribute in required) or (value is not None and value not in allowed):
            yield _setting_problem(setting, attribute, "one of " + ", ".join(allowed))


def _time_limit_problems(setting: etree._Element) -> Iterator[Problem]:
    limit = setting.get("timeLimitS")
    if limit is not None and not (re.fullmatch(r"[0-9]{1,9}", limit) and 1 <= int(limit) <= TIME_LIMIT_MAX_S):
        yield _setting_problem(setting, "timeLimitS", f"whole seconds from 1 to {TIME_LIMIT_MAX_S}")


def _setting_problem(element: etree._Element, attribute: str, wanted: str) -> Problem:
    given = element.get(attribute, "")[:80]
    return problem_at(
        element,
        "refused",
        "bad_setting",
        f"The setting {attribute} has the value {given!r}.",
        f"Give {wanted}.",
    )
