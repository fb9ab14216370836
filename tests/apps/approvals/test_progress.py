"""How far a process is, as people are shown it: what came of each step, who decides the next, and its drawing."""

import json
from uuid import uuid4

import pytest
from django.utils import translation

from apps.approvals.progress import runs_of, template_drawing, template_steps
from apps.approvals.services import process_withdraw, task_decide
from apps.catalog.services.processes import process_template_import
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from tests.apps.approvals.running import OPERATOR, TENANT, candidate, drawn, start
from workflows.registry import definition_get, definition_list

pytestmark = pytest.mark.django_db


@pytest.fixture
def applicant(member, boss, manager):
    return member("acme", "tenant_front_line", "ann")


@pytest.fixture
def boss(member):
    return member("acme", "tenant_decision_maker", "boss")


@pytest.fixture
def manager(operator):
    return operator("operations_manager", schema="acme", username="manager")


@pytest.fixture
def inside(acme):
    with in_tenant("acme"):
        yield


def run_of(running):
    (run,) = runs_of(running.subject_uid)
    return run


def states(run):
    return [str(step.state) for step in run.steps]


def decide(running, person, decision="approve", comment=""):
    task_decide(actor=person.actor, task_uid=running.task.uid, decision=decision, comment=comment)


@pytest.mark.req("PLAT-APPLY-19", "PLAT-TODO-4")
def test_the_present_step_and_those_to_come_say_who_decides(inside, applicant, boss, manager):
    running = start(applicant.user.pk)
    first, second = run_of(running).steps
    assert (first.state, second.state) == ("waiting", "coming")
    assert [(one.title, one.people, one.is_centre) for one in first.deciders] == [
        ("Decision maker", ("boss",), False)
    ]
    # Of the centre's people the role is told and no name.
    assert [(one.title, one.people, one.is_centre) for one in second.deciders] == [
        ("Operations manager", (), True)
    ]
    decide(running, boss, comment="fine")
    first, second = run_of(running).steps
    assert [(one.user_name, one.comment) for one in first.given] == [("boss", "fine")]
    assert (first.state, second.state) == ("approved", "waiting")
    assert second.since is not None
    decide(running, manager)
    assert states(run_of(running)) == ["approved", "approved"]


@pytest.mark.req("PLAT-APPLY-19")
@pytest.mark.parametrize(("decision", "shown"), [("refuse", "refused"), ("send_back", "sent_back")])
def test_a_step_that_was_not_approved_is_never_shown_as_done(inside, applicant, boss, decision, shown):
    running = start(applicant.user.pk)
    decide(running, boss, decision, "Not now")
    run = run_of(running)
    assert states(run) == [shown]
    assert not run.is_running


@pytest.mark.req("PLAT-APPLY-14")
def test_nothing_is_to_come_of_what_was_withdrawn(inside, applicant, boss):
    running = start(applicant.user.pk)
    process_withdraw(actor=applicant.actor, subject_uid=running.subject_uid)
    assert states(run_of(running)) == ["cancelled"]


def test_of_many_who_may_decide_some_are_named(inside, applicant, member):
    for number in range(7):
        member("acme", "tenant_decision_maker", f"boss{number}")
    (step, _later) = run_of(start(applicant.user.pk)).steps
    (decider,) = step.deciders
    assert (len(decider.people), decider.more) == (5, 3)


def test_a_step_for_everybody_and_one_for_people_by_name_say_so(inside, applicant, boss):
    running = start(applicant.user.pk, drawn(candidate("boss", kind="user"), settings='rule="all_of"'))
    (step,) = run_of(running).steps
    assert step.needs_all
    assert [(one.title, one.people) for one in step.deciders] == [("", ("boss",))]


# --- the drawing -----------------------------------------------------------------------------------------------


def shipped(applicant, key="application_approval", **changes):
    template_xml = definition_get(key).xml
    return start(applicant.user.pk, template_xml, **changes)


@pytest.mark.req("PLAT-APPLY-19", "PLAT-CFG-16")
def test_the_drawing_lights_the_present_step_and_carries_nothing_that_runs(inside, applicant, boss, manager):
    running = shipped(applicant)
    drawing = run_of(running).drawing
    assert drawing.marks == {"tenant_decision": "waiting", "operations_decision": "coming"}
    told = json.loads(drawing.option)
    assert told["marks"] == drawing.marks
    assert "BPMNShape" in told["xml"]
    for hidden in ("conditionExpression", "candidate", "documentation", "extensionElements"):
        assert hidden not in told["xml"]
    decide(running, boss)
    decide(running, manager, "refuse", "Too dear")
    marks = run_of(running).drawing.marks
    assert marks == {"tenant_decision": "approved", "operations_decision": "refused", "rejected": "rejected"}


def test_a_file_that_does_not_say_where_its_parts_are_has_steps_and_no_picture(
    inside, applicant, boss, manager
):
    run = run_of(start(applicant.user.pk, drawn(TENANT, OPERATOR)))
    assert run.drawing is None
    assert len(run.steps) == 2


@pytest.mark.req("PLAT-GEN-7")
def test_each_name_of_the_shipped_drawings_is_said_in_chinese(acme):
    for definition in definition_list():
        template = process_template_import(actor=SYSTEM, key=definition.key, xml=definition.xml)
        with translation.override("zh-hans"):
            drawing = template_drawing(template)
        names = [part.split('"')[0] for part in drawing.xml.split(' name="')[1:]]
        assert names
        english = [name for name in names if name.isascii() and name != definition.name]
        assert not english, (definition.key, english)


@pytest.mark.req("PLAT-CFG-17")
def test_the_steps_of_a_process_say_whom_they_ask_and_for_how_long(acme):
    definition = definition_get("application_approval")
    template = process_template_import(actor=SYSTEM, key="whole", xml=definition.xml)
    steps = template_steps(template)
    assert [step.name for step in steps] == ["Tenant decision maker decides", "Operations manager decides"]
    assert [step.limit for step in steps] == ["2 d", "2 d"]
    assert [one.title for step in steps for one in step.deciders] == ["Decision maker", "Operations manager"]


@pytest.mark.req("PLAT-CFG-21")
def test_the_page_of_a_process_has_its_drawing_and_gives_its_file(acme, operator, member):
    definition = definition_get("termination_approval")
    template = process_template_import(actor=SYSTEM, key="ending", xml=definition.xml)
    page, path = operator("operations_manager").page(), f"/catalogue/processes/versions/{template.uid}/"
    shown = page.get(path).content.decode()
    assert 'data-test="drawing"' in shown
    assert "Decision maker" in shown
    file = page.get(f"{path}file/")
    assert file.content == definition.xml
    assert f"ending-{template.version[:12]}.bpmn" in file["Content-Disposition"]
    assert member("acme", "tenant_front_line").page().get(path).status_code in (403, 404)
    assert page.get(f"/catalogue/processes/versions/{uuid4()}/").status_code == 404
