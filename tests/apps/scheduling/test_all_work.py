"""Work on the pages of both sides: the operators' list over all tenants, and what a workload's page tells."""

import re

import pytest
from django.utils.html import escape

from apps.audit.models import Record
from apps.identity.pages.lists import pages
from apps.kernel import counting
from apps.scheduling.models import Workload
from tests.apps.scheduling.pool import node_make, submit

pytestmark = pytest.mark.django_db
LIST = "/scheduling/workloads/"


def text_of(answer):
    assert answer.status_code == 200, answer
    return answer.content.decode()


def numbers_in(text):
    return {part.split('"', 1)[0] for part in text.split('data-no="')[1:]}


@pytest.fixture
def work(acme, globex):
    node_make()
    return submit(acme), submit(globex)


def test_operators_list_the_work_of_all_tenants_and_narrow_it(work, operator):
    mine, other = work
    page = operator("cluster_administrator").page()
    assert numbers_in(text_of(page.get(LIST))) == {mine.no, other.no}
    for query, expected in (
        ({"tenant": "acme"}, {mine.no}),
        ({"search": other.no}, {other.no}),
        ({"tab": "waiting"}, {mine.no, other.no}),
        ({"tab": "running"}, set()),
        ({"kind": "session", "tenant": "acme"}, set()),
    ):
        assert numbers_in(text_of(page.get(LIST, query))) == expected, query
    assert page.get(LIST, {"tab": "nonsense"}).status_code == 400


def test_tabs_say_how_much_there_is_of_each_and_no_more_than_a_badge_can(work, operator, monkeypatch):
    def counts():
        return re.findall(r'data-test="tab-count">([^<]*)<', text_of(page.get(LIST)))

    page = operator("cluster_administrator").page()
    assert counts() == ["2", "2", "0", "0", "0"]
    Workload.objects.across().filter(pk=work[0].pk).update(state="failed")
    assert counts() == ["2", "1", "0", "1", "0"]
    monkeypatch.setattr(counting, "BADGE_MOST", 1)
    assert counts() == ["1+", "1", "0", "1", "0"]


@pytest.mark.parametrize("many", [1, 1000])
def test_words_find_the_same_where_they_find_many(many, work, operator, monkeypatch):
    """Few hits are looked for once and then known by their keys; many stay a condition."""
    monkeypatch.setattr(pages, "MANY", many)
    page = operator("cluster_administrator").page()
    mine, other = work
    both = page.get(LIST, {"search": "W-", "sort": "no"})
    assert numbers_in(text_of(both)) == {mine.no, other.no}
    one = text_of(page.get(LIST, {"search": other.no}))
    assert numbers_in(one) == {other.no}
    assert re.findall(r'data-test="tab-count">([^<]*)<', one) == ["1", "1", "0", "0", "0"]


def test_no_hits_are_told_apart_from_no_work(operator, acme):
    """D17: a filter without hits said that there is nothing."""
    page = operator("cluster_administrator").page()
    page.cookies["django_language"] = "en"
    assert "No work yet" in text_of(page.get(LIST))
    node_make()
    submit(acme)
    assert "Nothing matches" in text_of(page.get(LIST, {"search": "no such work"}))


def test_a_member_is_told_so_too(acme, member):
    page = member("acme", "tenant_front_line").page()
    page.cookies["django_language"] = "en"
    assert "No resources" in text_of(page.get("/resources/"))
    assert "Nothing matches" in text_of(page.get("/resources/", {"state": "failed"}))


def test_every_row_leads_to_a_page_that_opens_for_the_operator(work, operator):
    page = operator("cluster_administrator").page()
    listed = text_of(page.get(LIST))
    for row in work:
        url = f"/t/{row.tenant.schema_name}/resources/{row.uid}/"
        assert f'href="{url}"' in listed
        assert 'data-test="to-workloads"' in text_of(page.get(url))


def test_several_are_stopped_at_once_for_a_reason_that_is_kept(work, operator):
    person = operator("front_line")
    page, uids = person.page(), [str(row.uid) for row in work]
    assert page.post(f"{LIST}stop/", {"chosen": uids}).status_code == 400
    assert page.post(f"{LIST}stop/", {"reason": "maintenance"}).status_code == 400
    assert page.post(f"{LIST}stop/", {"chosen": ["x"], "reason": "maintenance"}).status_code == 400
    assert set(Workload.plain.values_list("state", flat=True)) == {"pending"}
    assert page.post(f"{LIST}stop/", {"chosen": uids, "reason": "maintenance"}).status_code == 302
    assert set(Workload.plain.values_list("state", flat=True)) == {"finished"}
    assert Record.objects.filter(name="workload_stop", user=person.user).count() == len(work)
    # What has ended already is no mistake of who stops it.
    assert page.post(f"{LIST}stop/", {"chosen": uids, "reason": "again"}).status_code == 302
    assert (
        operator("executive").page().post(f"{LIST}stop/", {"chosen": uids, "reason": "x"}).status_code == 403
    )


def test_all_rows_are_exported_as_they_are_narrowed(work, operator):
    mine, other = work
    page = operator("cluster_administrator").page()
    answer = page.get(LIST, {"tenant": "acme", "export": "csv"})
    text = b"".join(answer.streaming_content).decode()
    assert mine.no in text
    assert other.no not in text


def test_the_list_is_for_operators(member):
    person = member("acme", "tenant_system_administrator").page()
    assert person.get(LIST).status_code == 404
    person.defaults["HTTP_HOST"] = "localhost"
    assert person.get(LIST, headers={"host": "localhost"}).status_code in (302, 403)


def test_a_workloads_page_shows_its_command_and_variables_to_who_may_know_them(acme, member, operator):
    node_make()
    person, colleague = member("acme", "tenant_system_administrator"), member("acme", "tenant_decision_maker")
    row = submit(acme)
    work = {"argv": ["python", "train.py", "--name", "two words"], "env": {"RATE": "0.01"}}
    Workload.plain.filter(pk=row.pk).update(work=work, submitted_by=person.user)
    url = f"/resources/{row.uid}/"
    own = text_of(person.page().get(url))
    assert escape("python train.py --name 'two words'") in own
    assert "RATE=0.01" in own
    for page, path in ((colleague.page(), url), (operator("front_line").page(), f"/t/acme{url}")):
        text = text_of(page.get(path))
        assert "RATE" in text
        assert "0.01" not in text


def test_work_is_asked_for_again_as_it_was(acme, member):
    node_make()
    person = member("acme", "tenant_front_line")
    row = submit(acme)
    Workload.plain.filter(pk=row.pk).update(
        work={"argv": ["python", "again.py"], "env": {"A": "1"}}, submitted_by=person.user, run_timeout_s=90
    )
    page = person.page()
    page.cookies["django_language"] = "en"
    text = text_of(page.get("/resources/submit/", {"again": str(row.uid)}))
    assert "python again.py" in text
    assert 'data-test="again"' in text
    assert "variables" in text
    # Whole minutes, of which there are never fewer than it had.
    assert 'name="run_minutes" value="2"' in text
    assert member("globex", "tenant_front_line").page().get(
        "/resources/submit/", {"again": str(row.uid)}
    ).status_code in (403, 404)


def test_what_was_printed_is_had_as_a_file(acme, member):
    node_make()
    row = submit(acme)
    answer = member("acme", "tenant_system_administrator").page().get(f"/resources/{row.uid}/log/file/")
    assert answer["Content-Disposition"] == f'attachment; filename="{row.no}.log"'
    assert b"".join(answer.streaming_content) == b""
