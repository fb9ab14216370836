"""Progress of a business system: reported by who takes part, confirmed in the inbox, refused or withdrawn."""

import pytest

from apps.approvals.models import HumanTask
from apps.approvals.services import task_decide
from apps.identity.models import User
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.flow import MoveRefused
from apps.kernel.planes import in_tenant
from apps.notices.models import Message
from apps.orgs.models import BusinessSystem, ProgressReport
from apps.orgs.services.business_systems import (
    business_system_create,
    business_system_member_add,
    business_systems_delete,
)
from apps.orgs.services.organizations import organization_create
from apps.orgs.services.progress import progress_report, progress_withdraw

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-TEN-23", "PLAT-TODO-1")]
API, ROOT = "/api/v1/business-systems", "/organizations/business-systems/"
SAID = {"stage": "building", "done_percent": 40, "note": "Two of five parts are there."}


@pytest.fixture
def eva(member):
    return member("acme", "tenant_front_line", "eva")


@pytest.fixture
def boss(member):
    return member("acme", "tenant_decision_maker", "boss")


@pytest.fixture
def speech(eva, boss):
    with in_tenant("acme"):
        physics = organization_create(actor=SYSTEM, name="Physics")
        row = business_system_create(actor=SYSTEM, name="Speech", number="N-1", organization=physics)
        business_system_member_add(actor=SYSTEM, business_system=row, user=eva.user)
        yield row


def reported(eva, speech, **words):
    return progress_report(actor=eva.actor, business_system=speech, **SAID | words)


def decided(boss, report, decision, comment=""):
    task = HumanTask.objects.get(instance__subject_uid=report.uid)
    return task_decide(actor=boss.actor, task_uid=task.uid, decision=decision, comment=comment)


def test_a_report_is_a_task_of_who_decides_and_counts_once_confirmed(eva, boss, speech):
    report = reported(eva, speech)
    speech.refresh_from_db()
    assert (speech.stage, speech.done_percent) == ("planning", 0)
    with in_tenant("acme"):
        task = HumanTask.objects.select_related("instance").get()
    assert (task.instance.business_system_name, task.instance.applicant_id) == ("Speech", eva.user.pk)
    assert task.due_at is not None
    page = boss.page()
    assert report.no in page.get("/inbox/").content.decode()
    shown = page.get(f"/tasks/{task.uid}/").content.decode()
    assert "Two of five parts are there." in shown
    assert "Being built, 40 %" in " ".join(shown.split())
    assert page.post(f"/tasks/{task.uid}/decide/", {"decision": "approve"}).status_code == 302
    with in_tenant("acme"):
        speech.refresh_from_db()
        report.refresh_from_db()
    assert (speech.stage, speech.done_percent, report.state) == ("building", 40, "confirmed")
    assert Message.objects.filter(user=eva.user, params__no=report.no).exists()


def test_refused_it_stands_where_it_stood_and_the_reason_is_told(eva, boss, speech):
    report = reported(eva, speech)
    decided(boss, report, "refuse", "Only one of them works.")
    report.refresh_from_db()
    speech.refresh_from_db()
    assert (report.state, report.comment) == ("refused", "Only one of them works.")
    assert (speech.stage, speech.done_percent) == ("planning", 0)
    reported(eva, speech)  # and another may follow


def test_one_waits_at_a_time_and_is_withdrawn_by_who_made_it(eva, boss, speech, member):
    report = reported(eva, speech)
    with pytest.raises(Conflict, match="Speech"):
        reported(eva, speech, done_percent=50)
    with pytest.raises(NotFound):
        progress_withdraw(actor=boss.actor, uid=report.uid)
    progress_withdraw(actor=eva.actor, uid=report.uid)
    assert HumanTask.objects.get().state == "cancelled"
    with pytest.raises(MoveRefused):
        progress_withdraw(actor=eva.actor, uid=report.uid)
    again = reported(eva, speech)
    decided(boss, again, "approve")
    with pytest.raises(MoveRefused):
        progress_withdraw(actor=eva.actor, uid=again.uid)
    assert BusinessSystem.objects.get().done_percent == 40


def test_who_takes_no_part_reports_nothing_and_nothing_wrong_is_reported(eva, boss, speech, member):
    stranger = member("acme", "tenant_front_line", "fred")
    with pytest.raises(Forbidden):
        reported(stranger, speech)
    for wrong in (
        {"stage": "gone"},
        {"done_percent": 101},
        {"done_percent": -1},
        {"note": " "},
        {"note": "x" * 1001},
    ):
        with pytest.raises(InvalidInput) as refused:
            reported(eva, speech, **wrong)
        assert set(refused.value.fields) == set(wrong)
    assert not ProgressReport.objects.exists()


def test_where_nobody_can_confirm_it_nothing_is_reported(eva, boss, speech):
    User.objects.filter(pk=boss.user.pk).update(is_active=False)
    with pytest.raises(Conflict, match="Nobody can decide"):
        reported(eva, speech)
    assert not ProgressReport.objects.exists()


def test_what_was_reported_on_is_not_deleted(eva, speech):
    reported(eva, speech)
    with pytest.raises(Conflict):
        business_systems_delete(actor=SYSTEM, business_systems=[speech])


def test_by_page_and_by_api(eva, boss, speech):
    page, api = eva.page(), eva.api()
    one = f"{ROOT}{speech.uid}/"
    assert 'data-test="report-form"' in page.get(one).content.decode()
    assert page.post(f"{one}report/", {**SAID, "done_percent": 200}).status_code == 400
    assert page.post(f"{one}report/", SAID).status_code == 302
    assert "Two of five parts" in page.get(one).content.decode()
    row = api.get(f"{API}/{speech.uid}/progress").json()["results"][0]
    assert (row["state"], row["stage"], row["done_percent"]) == ("waiting", "building", 40)
    assert page.post(f"/organizations/progress/{row['uid']}/withdraw/").status_code == 302
    made = api.post(f"{API}/{speech.uid}/progress", SAID, format="json")
    assert made.status_code == 201
    assert api.post(f"{API}/{speech.uid}/progress", SAID, format="json").status_code == 409
    assert boss.api().post(f"/api/v1/progress/{made.json()['uid']}/withdraw").status_code == 404
    assert api.post(f"/api/v1/progress/{made.json()['uid']}/withdraw").json()["state"] == "withdrawn"
