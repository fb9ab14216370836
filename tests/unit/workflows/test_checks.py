"""What an uploaded file may not hold, and how it is told (PLAT-CFG-16, -20, -21)."""

from __future__ import annotations

import pytest

from tests.unit.workflows.samples import (
    APPROVED,
    HEAD,
    REJECTED,
    START,
    TAIL,
    bpmn,
    document,
    flow,
    one_step,
    path,
    process,
    user_task,
)
from workflows.engine import BpmnRefused, WorkflowError, check, load


def refusal(xml: bytes) -> BpmnRefused:
    with pytest.raises(BpmnRefused) as caught:
        load(xml, key="sample")
    assert all(problem.cure for problem in caught.value.problems)
    return caught.value


def places(xml: bytes) -> set[tuple[str, str]]:
    """Code and element id of each problem."""
    return {(problem.code, problem.element_id) for problem in check(xml)}


def test_a_plain_file_has_no_problems() -> None:
    assert check(one_step()) == []
    assert (
        check(one_step(condition="amount &gt; 10 and decision == 'approve'", settings='allowRefuse="true"'))
        == []
    )


# -- code


def test_a_script_task_is_refused_with_its_name() -> None:
    script = (
        '<bpmn:scriptTask id="evil" name="Count the money" scriptFormat="python">'
        "<bpmn:script>import os; os.system('id')</bpmn:script></bpmn:scriptTask>"
    )
    refused = refusal(bpmn(START, script, APPROVED, path("begin", "evil", "approved")))
    assert ("code", "evil", "scriptTask", "Count the money") in {
        (one.code, one.element_id, one.element, one.name) for one in refused.problems
    }
    assert 'scriptTask evil "Count the money"' in str(refused)


@pytest.mark.parametrize(
    "condition",
    ["__import__('os').system('id')", "().__class__", "open('/etc/passwd')", "[x for x in y]",
     "a if b else c",
     "lambda: 1", "x := 1", "f'{amount}'", "amount[0]", "${amount}", "a ** b", "1 &lt;&lt; 9", "", " "],
)  # fmt: skip
def test_python_in_a_condition_is_refused_with_the_flow(condition: str) -> None:
    xml = one_step(condition=condition or " ")
    assert ("bad_condition", "choice_to_approved") in places(xml)
    refusal(xml)


@pytest.mark.parametrize(
    "inside",
    [
        '<bpmn:extensionElements><camunda:executionListener class="org.Evil"/></bpmn:extensionElements>',
        '<bpmn:extensionElements><camunda:taskListener event="create" expression="${evil.run()}"/>'
        "</bpmn:extensionElements>",
        "<bpmn:extensionElements><camunda:properties><camunda:property value='#{x}'/></camunda:properties>"
        "</bpmn:extensionElements>",
        "<bpmn:extensionElements><spiff:preScript xmlns:spiff='http://spiffworkflow.org/bpmn/schema/1.0/core'>x=1"
        "</spiff:preScript></bpmn:extensionElements>",
        "<bpmn:multiInstanceLoopCharacteristics><bpmn:completionCondition>done()</bpmn:completionCondition>"
        "</bpmn:multiInstanceLoopCharacteristics>",
        "<bpmn:standardLoopCharacteristics><bpmn:loopCondition>True</bpmn:loopCondition>"
        "</bpmn:standardLoopCharacteristics>",
        "<bpmn:ioSpecification><bpmn:dataInput id='i'/></bpmn:ioSpecification><bpmn:dataInputAssociation>"
        "<bpmn:transformation>evil()</bpmn:transformation></bpmn:dataInputAssociation>",
        "<bpmn:potentialOwner><bpmn:resourceAssignmentExpression><bpmn:formalExpression>evil()"
        "</bpmn:formalExpression></bpmn:resourceAssignmentExpression></bpmn:potentialOwner>",
    ],
)  # fmt: skip
@pytest.mark.req("PLAT-CFG-20")
def test_listeners_and_hidden_code_are_refused_with_the_task(inside: str) -> None:
    xml = one_step(inside=inside)
    assert ("code", "ask") in places(xml)
    refusal(xml)


def test_vendor_attributes_that_name_code_are_refused() -> None:
    xml = one_step().replace(b'name="Ask ask"', b'name="Ask ask" camunda:delegateExpression="bean"')
    assert ("code", "ask") in places(xml)
    assert ("code", "ask") in places(one_step().replace(b'name="Ask ask"', b'name="Ask ${who}"'))


def test_a_service_task_needs_a_registered_handler() -> None:
    task = '<bpmn:serviceTask id="act" name="Act" implementation="java"/>'
    xml = bpmn(START, task, APPROVED, path("begin", "act", "approved"))
    assert ("unknown_handler", "act") in places(xml)
    refusal(xml)


def test_harmless_foreign_extensions_are_kept_as_documentation() -> None:
    inside = (
        "<bpmn:extensionElements><x:graphStyle xmlns:x='http://www.w4.eu/spec'><x:basic/>"
        "</x:graphStyle></bpmn:extensionElements><bpmn:documentation>import os</bpmn:documentation>"
    )
    note = '<bpmn:textAnnotation id="note"><bpmn:text>free text</bpmn:text></bpmn:textAnnotation>'
    xml = bpmn(START, user_task("ask", inside=inside), note, APPROVED, path("begin", "ask", "approved"))
    assert check(xml) == []


# -- XML


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE d SYSTEM "http://127.0.0.1:1/evil.dtd">',
        "<!DOCTYPE d [" + '<!ENTITY l0 "lol">'
        + "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10)) + "]>",
        '<!DOCTYPE d [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]>',
        "<!DOCTYPE definitions>",
    ],
    ids=["external-entity", "external-dtd", "billion-laughs", "parameter-entity", "empty"],
)  # fmt: skip
def test_document_types_and_entities_are_refused(doctype: str) -> None:
    name = "&l9;" if "l9" in doctype else "x"
    body = process(START, user_task("ask"), APPROVED, path("begin", "ask", "approved")).replace(
        "Sample", name
    )
    refused = refusal((doctype + HEAD + body + TAIL).encode())
    assert refused.problems[0].code in ("doctype", "not_xml")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_document_type_in_another_encoding_is_refused(encoding: str) -> None:
    text = '<!DOCTYPE d [<!ENTITY x "y">]>' + one_step().decode()
    assert refusal(text.encode(encoding)).problems[0].code in ("doctype", "not_xml")


@pytest.mark.parametrize(
    ("xml", "code"),
    [
        (b"", "not_xml"),
        (b"\x00\xff", "not_xml"),
        (b"<a>", "not_xml"),
        (b"<a/>", "not_bpmn"),
        (b"<definitions/>", "not_bpmn"),
        (b"<a>" + b" " * 256 * 1024 + b"</a>", "file_too_large"),
        (b"<a>" * 3000 + b"</a>" * 3000, "not_xml"),
        (document("<bpmn:message/>" * 5001), "too_many"),
    ],
)
def test_what_is_not_bpmn_is_refused(xml: bytes, code: str) -> None:
    assert [problem.code for problem in refusal(xml).problems] == [code]


# -- structure


def test_unknown_elements_and_imports_are_refused() -> None:
    assert ("unknown_element", "sample") in places(bpmn("<bpmn:teleport/>"))
    imported = document('<bpmn:import importType="x" location="http://x/" namespace="x"/>', process(START))
    assert "unknown_element" in {code for code, _ in places(imported)}


def test_a_second_process_is_refused_unless_called() -> None:
    inner = process(
        '<bpmn:startEvent id="in"/><bpmn:endEvent id="out"/>' + path("in", "out"), process_id="other"
    )
    outer = process(START, user_task("ask"), APPROVED, path("begin", "ask", "approved"))
    call = '<bpmn:callActivity id="call" calledElement="other"/>'
    calling = process(START, call, APPROVED, path("begin", "call", "approved"))
    assert places(document(outer, inner)) == {("second_process", "other")}
    assert check(document(calling, inner)) == []
    circle = process('<bpmn:startEvent id="in"/>' + call.replace('"call"', '"again"'), process_id="other")
    assert ("circular_call", "other") in places(document(calling, circle))


def test_ids_are_unique_and_well_formed() -> None:
    assert ("bad_id", "ask") in places(bpmn(START, user_task("ask"), user_task("ask"), APPROVED))
    assert ("bad_id", "a'b") in places(bpmn(START, user_task("a'b"), APPROVED))
    assert "no_id" in {code for code, _ in places(bpmn("<bpmn:startEvent/>"))}


@pytest.mark.parametrize(
    ("settings", "candidates"),
    [
        ('rule="most"', ""),
        ('allowRefuse="yes"', ""),
        ('timeLimitS="0"', ""),
        ('timeLimitS="P2D"', ""),
        ('timeLimitS="９"', ""),
        ("", '<weir:candidate kind="god" value="x" side="tenant"/>'),
        ("", '<weir:candidate kind="role" value="" side="tenant"/>'),
        ("", '<weir:candidate kind="role" value="a b" side="tenant"/>'),
        ("", '<weir:candidate kind="role" value="x"/>'),
    ],
)
@pytest.mark.req("PLAT-CFG-17", "PLAT-CFG-19")
def test_settings_outside_their_lists_are_refused(settings: str, candidates: str) -> None:
    xml = one_step(settings=settings, candidates=candidates)
    assert ("bad_setting", "ask") in places(xml)
    refusal(xml)


def test_unknown_settings_are_refused() -> None:
    assert ("unknown_setting", "ask") in places(one_step(settings='script="x"'))
    assert ("unknown_setting", "ask") in places(one_step(candidates='<weir:listener event="create"/>'))


@pytest.mark.parametrize("switch", ['allowRefuse="true"', 'allowSendBack="true"'])
@pytest.mark.req("PLAT-CFG-17")
def test_a_refusal_that_no_branch_reads_cannot_pass_as_consent(switch: str) -> None:
    other = "send_back" if "Refuse" in switch else "refuse"
    assert ("decision_ignored", "ask") in places(one_step(settings=switch))
    assert ("decision_ignored", "ask") in places(one_step(condition="amount &gt; 1", settings=switch))
    assert ("decision_ignored", "ask") in places(
        one_step(condition=f"decision == '{other}'", settings=switch)
    )
    assert check(one_step(condition="decision == 'approve'", settings=switch)) == []


def test_drawings_that_are_not_finished_say_where() -> None:
    gateway = '<bpmn:exclusiveGateway id="choice"/>'
    branches = flow("choice", "approved", "amount &gt; 1") + flow("choice", "rejected")
    assert places(bpmn(START, gateway, APPROVED, REJECTED, path("begin", "choice"), branches)) == {
        ("no_default", "choice"),
        ("no_condition", "choice_to_rejected"),
    }
    assert places(bpmn(START, user_task("ask"), APPROVED, path("begin", "approved"))) == {
        ("unreached", "ask"),
        ("dead_end", "ask"),
    }
    assert places(bpmn(START, '<bpmn:endEvent id="end"/>', path("begin", "end"))) == {("no_outcome", "end")}
    assert ("start_end", "sample") in places(bpmn(START, user_task("ask"), path("begin", "ask")))
    assert ("loose_flow", "begin_to_ghost") in places(bpmn(START, APPROVED, flow("begin", "ghost")))
    assert ("many_flows", "begin") in places(
        bpmn(START, user_task("ask"), APPROVED, path("begin", "ask", "approved"), flow("begin", "approved"))
    )
    timer = '<bpmn:startEvent id="begin"><bpmn:timerEventDefinition/></bpmn:startEvent>'
    assert places(bpmn(timer, APPROVED, path("begin", "approved"))) == {("not_run", "begin")}


def test_nodes_and_flows_hidden_inside_others_are_refused() -> None:
    hidden = flow("ask", "approved", flow_id="hidden")
    assert ("misplaced", "hidden") in places(one_step(inside=hidden))
    inside_extension = f"<bpmn:extensionElements>{hidden}</bpmn:extensionElements>"
    assert ("misplaced", "hidden") in places(one_step(inside=inside_extension))
    assert ("misplaced", "zz") in places(one_step(inside='<bpmn:userTask id="zz"/>'))
    assert ("misplaced", "inner") in places(bpmn(process(START, process_id="inner")))


def test_flows_into_a_start_or_out_of_an_end_are_told() -> None:
    nodes = (START, user_task("ask"), APPROVED, path("begin", "ask", "approved"))
    assert places(bpmn(*nodes, flow("approved", "ask"))) == {("end_continues", "approved")}
    gateway = '<bpmn:exclusiveGateway id="choice" default="back"/>'
    back = flow("choice", "begin", flow_id="back") + flow("choice", "approved", "decision == 'approve'")
    xml = bpmn(START, user_task("ask"), gateway, APPROVED, path("begin", "ask", "choice"), back)
    assert places(xml) == {("start_reentered", "back")}


def test_many_nodes_are_refused_and_the_longest_allowed_chain_runs() -> None:
    chain = [f"n{number}" for number in range(148)]
    parts = [user_task(node_id) for node_id in chain]
    assert check(bpmn(START, *parts, APPROVED, path("begin", *chain, "approved"))) == []
    longer = [*chain, "n148"]
    xml = bpmn(START, *parts, user_task("n148"), APPROVED, path("begin", *longer, "approved"))
    assert "too_many_nodes" in {code for code, _ in places(xml)}


@pytest.mark.parametrize("key", ["", "Upper", "../x", "1x", "x" * 65])
def test_a_malformed_key_is_refused(key: str) -> None:
    with pytest.raises(WorkflowError, match="malformed"):
        load(one_step(), key=key)
