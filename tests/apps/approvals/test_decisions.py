"""Deciding on a process: who may, what it leads to, and what is refused without a trace."""

from uuid import uuid4

import pytest

from apps.approvals.models import Decision, HumanTask, ProcessInstance
from apps.approvals.selectors import case_of, has_decisions, may_decide, process_list, task_get, task_list
from apps.approvals.services import process_withdraw, task_decide, task_urge
from apps.cases.models import Case
from apps.cases.selectors import case_inbox
from apps.catalog.errors import Undecidable
from apps.catalog.services.processes import process_template_import
from apps.identity.services.users import user_disable, user_enable
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.planes import in_tenant
from apps.notices.models import Message
from apps.orgs.selectors.roles import role_get
from apps.orgs.services.organizations import member_add, organization_create
from apps.orgs.services.posts import post_create
from apps.orgs.services.roles import role_bind
from tests.apps.approvals.running import TENANT, candidate, drawn, start
from workflows.registry import definition_get

pytestmark = pytest.mark.django_db


@pytest.fixture
def applicant(member, boss, manager):
    """Somebody whose applications both sides can decide: no other process starts."""
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


def decide(running, person, decision="approve", comment=""):
    return task_decide(actor=person.actor, task_uid=running.task.uid, decision=decision, comment=comment)


@pytest.mark.req("PLAT-APPLY-6", "PLAT-TODO-1", "PLAT-TODO-5")
def test_both_sides_approve_in_turn(inside, applicant, boss, manager):
    running = start(applicant.user.pk)
    assert [task.name_en for task in task_list(actor=boss.actor)] == ["Ask step_0"]
    assert not task_list(actor=manager.actor).exists()
    decide(running, boss, comment=" fine ")
    assert not task_list(actor=boss.actor).exists()
    assert [task.instance.title_en for task in task_list(actor=manager.actor)] == ["Environment"]
    assert [case.uid for case in case_inbox(actor=manager.actor)] == [running.task.uid]
    decide(running, manager)
    assert running.state == "approved"
    assert not HumanTask.objects.filter(state="waiting").exists()
    given = [(one.user_name, one.role, one.decision, one.comment) for one in Decision.objects.all()]
    assert given == [
        ("boss", "tenant_decision_maker", "approve", "fine"),
        ("manager", "operations_manager", "approve", ""),
    ]


@pytest.mark.req("PLAT-TODO-5")
@pytest.mark.parametrize(("decision", "state"), [("refuse", "rejected"), ("send_back", "sent_back")])
def test_refusing_and_sending_back_end_the_process(inside, applicant, boss, decision, state):
    running = start(applicant.user.pk)
    decide(running, boss, decision, "Not now")
    assert running.state == state
    assert not Case.objects.across().filter(kind="task", is_open=True).exists()


@pytest.mark.req("PLAT-TODO-5")
@pytest.mark.parametrize("comment", ["", "  \n"])
def test_a_refusal_says_why(inside, applicant, boss, comment):
    running = start(applicant.user.pk)
    with pytest.raises(InvalidInput) as refused:
        decide(running, boss, "refuse", comment)
    assert "comment" in refused.value.fields
    nothing_decided(running)


@pytest.mark.req("PLAT-TODO-2")
def test_a_decided_task_moves_to_done(inside, applicant, boss):
    running = start(applicant.user.pk)
    task = running.task
    decide(running, boss)
    assert list(task_list(actor=boss.actor, tab="done")) == [task]
    with pytest.raises(InvalidInput):
        task_list(actor=boss.actor, tab="mine")


def nothing_decided(running):
    assert running.state == "running"
    assert not Decision.objects.exists()
    assert running.task.name_en == "Ask step_0"


def test_who_is_no_candidate_is_refused(inside, applicant, manager, member, operator):
    running = start(applicant.user.pk)
    for person in (
        member("acme", "tenant_front_line"),
        member("acme", "tenant_operations_manager"),
        manager,
        operator("front_line", schema="acme"),
    ):
        with pytest.raises(Forbidden):
            decide(running, person)
    nothing_decided(running)


def test_a_decision_maker_of_another_tenant_finds_nothing(applicant, member):
    stranger = member("globex", "tenant_decision_maker")
    running = start(applicant.user.pk)
    with in_tenant("acme"):
        task = running.task
    with in_tenant("globex"):
        with pytest.raises(NotFound):
            task_decide(actor=stranger.actor, task_uid=task.uid, decision="approve")
        with pytest.raises(NotFound):
            task_get(actor=stranger.actor, uid=task.uid)
    with in_tenant("acme"):
        # Even were he let in by mistake, no role of his is bound here.
        with pytest.raises(Forbidden):
            decide(running, stranger)
        nothing_decided(running)


def test_nobody_decides_on_his_own_application(inside, boss, manager, member):
    with pytest.raises(Undecidable, match="Nobody can decide the step Ask step_0") as refusal:
        start(boss.user.pk)
    assert "Decision maker" in refusal.value.cure
    assert not ProcessInstance.objects.exists()
    member("acme", "tenant_decision_maker")
    running = start(boss.user.pk)
    assert not task_list(actor=boss.actor).exists()
    assert not may_decide(running.task, boss.actor)
    with pytest.raises(Forbidden):
        decide(running, boss)
    nothing_decided(running)


@pytest.mark.req("PLAT-TEN-28")
def test_a_role_bound_later_counts_and_one_not_active_does_not_decide(inside, applicant, boss, member):
    running = start(applicant.user.pk)
    late = member("acme", "tenant_operations_manager")
    role_bind(actor=SYSTEM, user=late.user, role=role_get("tenant_decision_maker"))
    assert may_decide(running.task, late.actor)
    front = member("acme", "tenant_front_line")
    role_bind(actor=SYSTEM, user=front.user, role=role_get("tenant_decision_maker"))
    with pytest.raises(Forbidden):
        decide(running, front)
    decide(running, late)
    assert Decision.objects.get().role == "tenant_decision_maker"


def test_a_decision_twice_is_a_conflict(inside, applicant, boss, member):
    running = start(applicant.user.pk, drawn(TENANT))
    task = running.task
    decide(running, boss)
    for person in (boss, member("acme", "tenant_decision_maker")):
        with pytest.raises(Conflict):
            task_decide(actor=person.actor, task_uid=task.uid, decision="refuse", comment="Not now")
    assert running.state == "approved"
    assert Decision.objects.count() == 1


def test_an_unknown_task_and_an_unknown_decision(inside, applicant, boss):
    running = start(applicant.user.pk, drawn(TENANT, settings='allowRefuse="false" allowSendBack="false"'))
    with pytest.raises(NotFound):
        task_decide(actor=boss.actor, task_uid=uuid4(), decision="approve")
    for decision in ("refuse", "send_back", "maybe"):
        with pytest.raises(InvalidInput) as refused:
            decide(running, boss, decision)
        assert "decision" in refused.value.fields
    with pytest.raises(InvalidInput):
        decide(running, boss, comment="x" * 1001)
    nothing_decided(running)


@pytest.mark.req("PLAT-APPLY-14")
def test_withdrawing_before_the_first_decision(inside, applicant, boss):
    running = start(applicant.user.pk)
    task = running.task
    process_withdraw(actor=applicant.actor, subject_uid=running.subject_uid)
    assert running.state == "withdrawn"
    assert not task_list(actor=boss.actor).exists()
    with pytest.raises(Conflict, match="withdrawn"):
        task_decide(actor=boss.actor, task_uid=task.uid, decision="approve")
    assert not Decision.objects.exists()
    assert not Case.objects.across().get(uid=task.uid).is_open
    again = start(applicant.user.pk, subject_uid=running.subject_uid)
    assert again.state == "running"


@pytest.mark.req("PLAT-APPLY-15")
def test_no_withdrawal_after_the_first_decision(inside, applicant, boss):
    running = start(applicant.user.pk)
    assert not has_decisions(running.subject_uid)
    decide(running, boss)
    assert has_decisions(running.subject_uid)
    with pytest.raises(Conflict):
        process_withdraw(actor=applicant.actor, subject_uid=running.subject_uid)
    assert running.state == "running"


def test_one_process_of_a_subject_at_a_time(inside, applicant):
    running = start(applicant.user.pk)
    with pytest.raises(Conflict):
        start(applicant.user.pk, subject_uid=running.subject_uid)
    assert ProcessInstance.objects.count() == 1
    assert HumanTask.objects.count() == 1


@pytest.mark.req("PLAT-CFG-18")
def test_countersigning_waits_for_everybody(inside, applicant, boss, member):
    signers = [boss, *(member("acme", "tenant_decision_maker") for _ in range(2))]
    running = start(applicant.user.pk, drawn(TENANT, settings='rule="all_of" allowRefuse="true"'))
    for signer in signers[:2]:
        decide(running, signer)
        assert not task_list(actor=signer.actor).exists()
        assert running.state == "running"
    with pytest.raises(Conflict):
        decide(running, signers[0])
    decide(running, signers[2])
    assert running.state == "approved"


@pytest.mark.req("PLAT-CFG-18")
def test_countersigning_does_not_wait_for_who_may_not_decide(inside, applicant, boss, member):
    member("acme", "tenant_front_line")
    both = TENANT + candidate("tenant_front_line")
    running = start(applicant.user.pk, drawn(both, settings='rule="all_of" allowRefuse="true"'))
    decide(running, boss)
    assert running.state == "approved"


@pytest.mark.req("PLAT-CFG-18")
def test_one_refusal_ends_a_countersigning(inside, applicant, member):
    signers = [member("acme", "tenant_decision_maker") for _ in range(3)]
    running = start(applicant.user.pk, drawn(TENANT, settings='rule="all_of" allowRefuse="true"'))
    decide(running, signers[0])
    decide(running, signers[1], "refuse", "Not now")
    assert running.state == "rejected"


def test_candidates_by_name_post_organization_and_initiators_role(inside, applicant, boss, member):
    institute = organization_create(actor=SYSTEM, name="Institute")
    lab = organization_create(actor=SYSTEM, name="Lab", parent=institute)
    member_add(actor=SYSTEM, user=applicant.user, organization=lab)
    head, other = member("acme", "tenant_decision_maker"), member("acme", "tenant_decision_maker", "other")
    member_add(
        actor=SYSTEM, user=head.user, organization=institute, post=post_create(actor=SYSTEM, name="Head")
    )
    expected = {
        candidate("other", "user"): [other],
        candidate("Head", "post"): [head],
        candidate("Institute", "organization"): [head],
        candidate("tenant_decision_maker", "initiator_role"): [head],
    }
    for drawn_candidate, people in expected.items():
        running = start(applicant.user.pk, drawn(drawn_candidate))
        assert running.task.user_ids == [one.user.pk for one in people], drawn_candidate
        with pytest.raises(Forbidden):
            decide(running, boss)
        decide(running, people[0])
        assert running.state == "approved"


def test_a_step_that_nobody_can_decide_is_refused(inside, applicant, boss):
    for later in ((), (TENANT,)):
        with pytest.raises(Undecidable, match="Nobody"):
            start(applicant.user.pk, drawn(*later, candidate("nobody.here", "user")))
    assert not ProcessInstance.objects.exists()


def test_a_role_that_may_not_decide_is_nobody(inside, applicant, operator):
    operator("front_line")
    for role in (candidate("tenant_front_line"), candidate("front_line", side="operator")):
        with pytest.raises(Undecidable, match="Ask step_0") as refusal:
            start(applicant.user.pk, drawn(role))
        assert "Front-line staff" in refusal.value.cure
    start(applicant.user.pk, drawn(candidate("tenant_front_line") + TENANT))


def test_a_step_that_lost_its_people_refuses_the_decision_before_it(inside, applicant, boss, manager):
    running = start(applicant.user.pk)
    user_disable(actor=SYSTEM, user=manager.user)
    with pytest.raises(Undecidable, match="Ask step_1") as refusal:
        decide(running, boss)
    assert "the computing centre" in refusal.value.cure
    nothing_decided(running)
    user_enable(actor=SYSTEM, user=manager.user)
    decide(running, boss)
    assert running.task.name_en == "Ask step_1"


@pytest.mark.req("PLAT-CFG-19")
def test_a_step_that_this_application_does_not_pass_needs_nobody(inside, applicant):
    key = "application-approval-large"
    large = process_template_import(
        actor=SYSTEM, key=key, xml=definition_get("application_approval_large").xml
    )
    with pytest.raises(Undecidable, match="Tenant operations managers decide"):
        start(applicant.user.pk, large.xml.encode(), data={"amount": 20000})
    assert start(applicant.user.pk, large.xml.encode(), data={"amount": 5}).state == "running"


def test_a_step_that_only_the_applicant_could_decide_is_refused(inside, applicant, member):
    office = organization_create(actor=SYSTEM, name="Office")
    member_add(actor=SYSTEM, user=applicant.user, organization=office)
    with pytest.raises(Undecidable, match="Nobody"):
        start(applicant.user.pk, drawn(candidate("Office", "organization")))
    left, there = (member("acme", "tenant_decision_maker", name) for name in ("left", "there"))
    for one in (left, there):
        member_add(actor=SYSTEM, user=one.user, organization=office)
    user_disable(actor=SYSTEM, user=left.user)
    running = start(applicant.user.pk, drawn(candidate("Office", "organization")))
    assert running.task.user_ids == [there.user.pk]


def test_a_condition_that_cannot_be_computed_changes_nothing(inside, applicant, boss):
    xml = drawn(TENANT, settings="").replace(b'decision == "approve"', b"amount &gt; 5")
    with pytest.raises(Conflict, match="The process cannot go on"):
        start(applicant.user.pk, xml)
    assert not ProcessInstance.objects.exists()


# --- the inbox, messages, urging -------------------------------------------------------------------------------


@pytest.mark.req("PLAT-TODO-6", "PLAT-TODO-7")
def test_the_inbox_narrows(inside, applicant, boss, member):
    member("acme", "tenant_decision_maker")
    first = start(applicant.user.pk, subject_no="F20260101-0042").instance
    start(boss.user.pk)
    start(applicant.user.pk)
    for filters in ({"search": "0042"},):
        assert [task.instance for task in task_list(actor=boss.actor, **filters)] == [first]
    assert task_list(actor=boss.actor, search="ANN").count() == 2
    assert task_list(actor=boss.actor, state="running").count() == 2
    assert task_list(actor=boss.actor, state="approved").count() == 0
    assert task_list(actor=boss.actor, template="samp").count() == 2
    assert task_list(actor=boss.actor, template="other").count() == 0


def test_who_is_asked_gets_a_message_with_his_own_address(inside, applicant, boss, manager):
    running = start(applicant.user.pk)
    message = Message.objects.get()
    assert (message.user, message.link) == (boss.user, f"/tasks/{running.task.uid}/")
    assert message.params == {"applicant": "ann", "no": "F20260101-0001"}
    decide(running, boss)
    message = Message.objects.get(user=manager.user)
    assert message.link == f"/t/acme/tasks/{running.task.uid}/"


@pytest.mark.req("PLAT-TODO-3")
def test_urging_shows_under_urged_and_sends_a_message(inside, applicant, boss, member):
    running = start(applicant.user.pk)
    assert not task_list(actor=boss.actor, tab="urged").exists()
    with pytest.raises(NotFound):
        task_urge(actor=member("acme", "tenant_front_line").actor, task_uid=running.task.uid)
    task_urge(actor=applicant.actor, task_uid=running.task.uid)
    assert list(task_list(actor=boss.actor, tab="urged")) == [running.task]
    assert Message.objects.filter(user=boss.user).count() == 2
    with pytest.raises(Conflict):
        task_urge(actor=applicant.actor, task_uid=running.task.uid)
    assert Message.objects.filter(user=boss.user).count() == 2


def test_a_decided_task_is_not_urged(inside, applicant, boss):
    running = start(applicant.user.pk)
    task = running.task
    decide(running, boss)
    with pytest.raises(Conflict):
        task_urge(actor=applicant.actor, task_uid=task.uid)


def test_who_may_open_a_task(inside, applicant, boss, member, operator):
    running = start(applicant.user.pk)
    for person in (applicant, boss, operator("executive", schema="acme")):
        assert task_get(actor=person.actor, uid=running.task.uid) == running.task
    with pytest.raises(NotFound):
        task_get(actor=member("acme", "tenant_front_line").actor, uid=running.task.uid)


@pytest.mark.req("PLAT-APPLY-19")
def test_the_time_line_has_who_when_and_what(inside, applicant, boss):
    running = start(applicant.user.pk)
    decide(running, boss, "send_back", "more detail")
    again = start(applicant.user.pk, subject_uid=running.subject_uid)
    runs = process_list(running.subject_uid)
    assert [run.state for run in runs] == ["running", "sent_back"]
    given = runs[1].tasks.all()[0].given.all()[0]
    assert (given.user_name, given.decision, given.comment) == ("boss", "send_back", "more detail")
    assert given.at is not None
    assert runs[0] == again.instance


def test_each_case_is_as_its_task(inside, applicant, boss):
    running = start(applicant.user.pk)
    decide(running, boss)
    for task in HumanTask.objects.all():
        case, data = Case.objects.across().get(uid=task.uid), case_of(task)
        kept = {
            name: getattr(case, name) for name in ("state", "is_open", "no", "title_en", "side", "due_at")
        }
        assert kept == {name: getattr(data, name) for name in kept}
        assert (tuple(case.roles), tuple(case.worked_by_ids)) == (data.roles, data.worked_by_ids)


def test_starting_again_uses_the_version_it_was_started_with(inside, applicant, boss, manager):
    running = start(applicant.user.pk)
    start(applicant.user.pk, drawn(TENANT))
    decide(running, boss)
    assert running.state == "running"
    decide(running, manager)
    assert running.state == "approved"
