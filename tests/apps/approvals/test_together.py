"""Several applications decided with one press: each by itself, and what could not be decided is told."""

from uuid import uuid4

import pytest

from apps.approvals.models import Decision
from apps.approvals.services import TOGETHER_MOST, task_decide, tasks_decide, tasks_decide_across
from apps.kernel.errors import Forbidden, InvalidInput
from apps.kernel.planes import in_tenant
from tests.apps.approvals.running import OPERATOR, TENANT, drawn, start

pytestmark = pytest.mark.django_db


@pytest.fixture
def people(member, operator):
    return {
        "ann": member("acme", "tenant_front_line", "ann"),
        "boss": member("acme", "tenant_decision_maker", "boss"),
        "manager": operator("operations_manager", username="manager"),
    }


def begun(people, count, *candidates):
    with in_tenant("acme"):
        xml = drawn(*candidates)
        return [
            start(people["ann"].user.pk, xml, subject_no=f"F20260101-000{place}")
            for place in range(1, count + 1)
        ]


def texts(answer):
    return " ".join(answer.content.decode().split())


@pytest.mark.req("PLAT-TODO-5")
def test_each_is_decided_by_itself_and_what_was_not_is_named(acme, people):
    first, second, third = begun(people, 3, TENANT)
    with in_tenant("acme"):
        task_decide(actor=people["boss"].actor, task_uid=second.task.uid, decision="approve")
        gone = Decision.objects.get().task.uid
        uids = [first.task.uid, gone, third.task.uid, uuid4()]
        told = tasks_decide(
            actor=people["boss"].actor, task_uids=uids, decision="approve", comment="all fine"
        )
        assert [(one.no, one.problem is None) for one in told] == [
            ("F20260101-0001", True), ("F20260101-0002", False), ("F20260101-0003", True), ("–", False),
        ]  # fmt: skip
        assert [one.state for one in (first, second, third)] == ["approved"] * 3
        assert (
            list(Decision.objects.exclude(task__uid=gone).values_list("comment", flat=True))
            == ["all fine"] * 2
        )


@pytest.mark.req("PLAT-TODO-5")
def test_a_refusal_needs_a_reason_and_too_many_are_refused_before_any_is_decided(acme, people):
    (one,) = begun(people, 1, TENANT)
    actor = people["boss"].actor
    with in_tenant("acme"):
        with pytest.raises(InvalidInput, match="reason"):
            tasks_decide(actor=actor, task_uids=[one.task.uid], decision="refuse", comment="  ")
        for uids in ([], [uuid4() for _number in range(TOGETHER_MOST + 1)]):
            with pytest.raises(InvalidInput, match="Choose 1 to"):
                tasks_decide(actor=actor, task_uids=uids, decision="approve")
        assert not Decision.objects.exists()
        (told,) = tasks_decide(actor=people["ann"].actor, task_uids=[one.task.uid], decision="approve")
        assert isinstance(told.problem, Forbidden)
        assert one.state == "running"


@pytest.mark.req("PLAT-TODO-5", "PLAT-OPS-17")
def test_an_operator_decides_those_of_several_tenants(acme, globex, people, member):
    (here,) = begun(people, 1, OPERATOR)
    gina = member("globex", "tenant_front_line", "gina")
    with in_tenant("globex"):
        there = start(gina.user.pk, drawn(OPERATOR), schema="globex", subject_no="F20260101-0001")
    uids = []
    for schema, running in (("acme", here), ("globex", there)):
        with in_tenant(schema):
            uids.append(running.task.uid)
    told = tasks_decide_across(
        actor=people["manager"].actor, task_uids=[*uids, uuid4()], decision="refuse", comment="No room"
    )
    assert [(one.no, one.problem is None) for one in told] == [
        (f"F20260101-0001 ({acme.name})", True),
        (f"F20260101-0001 ({globex.name})", True),
        ("–", False),
    ]
    for schema, running in (("acme", here), ("globex", there)):
        with in_tenant(schema):
            assert running.state == "rejected"


# --- the pages -------------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-TODO-1", "PLAT-TODO-5")
def test_the_tenants_inbox_decides_what_is_ticked_and_says_so(acme, people):
    first, second = begun(people, 2, TENANT)
    page = people["boss"].page()
    with in_tenant("acme"):
        uids = [first.task.uid, second.task.uid]
    shown = texts(page.get("/inbox/"))
    assert all(f'value="{uid}"' in shown for uid in uids)
    refused = page.post("/inbox/decide/", {"chosen": uids, "decision": "refuse"})
    assert refused.status_code == 400
    told = texts(
        page.post("/inbox/decide/", {"chosen": uids, "decision": "refuse", "comment": "No"}, follow=True)
    )
    assert "Refused: F20260101-0001, F20260101-0002" in told
    assert "alert-info" in told
    assert "alert-success" not in told
    again = texts(page.post("/inbox/decide/", {"chosen": uids, "decision": "approve"}, follow=True))
    assert again.count("Not decided: F20260101-000") == 2
    assert page.post("/inbox/decide/", {"chosen": "x", "decision": "approve"}).status_code == 400


@pytest.mark.req("PLAT-TODO-5", "PLAT-SEC-4")
def test_who_may_not_decide_is_refused_and_another_tenants_tasks_are_not_there(acme, globex, people, member):
    (one,) = begun(people, 1, TENANT)
    with in_tenant("acme"):
        uid = one.task.uid
    given = {"chosen": uid, "decision": "approve"}
    assert people["ann"].page().post("/inbox/decide/", given).status_code == 403
    stranger = member("globex", "tenant_decision_maker", "stranger").page()
    assert "Not decided: –" in texts(stranger.post("/inbox/decide/", given, follow=True))
    with in_tenant("acme"):
        assert one.state == "running"


@pytest.mark.req("PLAT-TODO-1", "PLAT-TODO-5")
def test_the_operators_inbox_narrows_shows_amounts_and_decides(acme, people, operator):
    (one,) = begun(people, 1, OPERATOR)
    page = people["manager"].page()
    with in_tenant("acme"):
        uid = one.task.uid
    assert "F20260101-0001" in texts(page.get("/inbox/", {"search": "F20260101", "tenant": "acme"}))
    for narrow in ({"search": "nobody"}, {"tenant": "globex"}):
        assert "Nothing matches" in texts(page.get("/inbox/", narrow))
    told = texts(page.post("/inbox/decide/", {"chosen": uid, "decision": "approve"}, follow=True))
    assert f"Approved: F20260101-0001 ({acme.name})" in told
    assert "alert-success" in told
    watcher = operator("front_line").page()
    assert watcher.post("/inbox/decide/", {"chosen": uid, "decision": "approve"}).status_code == 403
