"""A list of the portal: sorted, narrowed, with the columns that somebody chose, kept under a name, and as a file."""

import csv
import io
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from openpyxl import load_workbook

from apps.audit.models import Record
from apps.fleet.models import Node
from apps.identity.models import SavedView
from apps.identity.pages.lists import pages
from apps.kernel.actor import SYSTEM
from apps.telemetry.models import Alarm
from apps.telemetry.services.alarms import alarm_raise, alarm_resolve
from apps.tenancy.models import Tenant
from tests.apps.console.test_settlement_pages import text
from tests.apps.scheduling.pool import node_make

pytestmark = pytest.mark.django_db


def names(page: str) -> list[str]:
    return [part.partition('"')[0] for part in page.split('data-schema="')[1:]]


@pytest.fixture
def boss(operator):
    page = operator("system_administrator").page()
    page.cookies["django_language"] = "en"
    return page


def content(answer) -> bytes:
    assert answer.status_code == 200
    return b"".join(answer.streaming_content)


def test_a_head_that_is_pressed_sorts_and_pressed_again_turns_the_order(boss, acme, globex):
    page = text(boss.get("/tenants/"))
    assert names(page) == ["acme", "globex"]
    assert '<th aria-sort="ascending"><a id="sort-name" class="sort-link" href="?sort=-name"' in page
    page = text(boss.get("/tenants/", {"sort": "-name"}))
    assert names(page) == ["globex", "acme"]
    assert '<th aria-sort="descending"><a id="sort-name" class="sort-link" href="?sort=name"' in page
    assert 'href="?search=m&amp;sort=created"' in text(boss.get("/tenants/", {"search": "m", "page": "1"}))


@pytest.mark.parametrize(
    "wrong", ["no_such", "-", "password", "tenant__users__password", "name,code", "-" * 900]
)
def test_by_what_was_not_declared_nothing_is_sorted(boss, acme, globex, wrong):
    assert names(text(boss.get("/tenants/", {"sort": wrong}))) == ["acme", "globex"]


def test_what_is_equal_has_one_order(boss, acme, globex):
    with CaptureQueriesContext(connection) as queries:
        boss.get("/tenants/", {"sort": "state"})
    asked = [
        query["sql"] for query in queries if "tenancy_tenant" in query["sql"] and "ORDER BY" in query["sql"]
    ]
    assert any('"tenancy_tenant"."state" ASC, "tenancy_tenant"."id" ASC' in sql for sql in asked), asked


def test_columns_are_chosen_kept_and_named_by_an_address(boss, acme):
    keys = {"page": "operator:tenants", "columns": ["name", "state"], "next": "/tenants/"}
    assert boss.post("/lists/columns/", keys).headers["Location"] == "/tenants/"
    page = text(boss.get("/tenants/"))
    assert "sort-state" in page
    assert "sort-code" not in page
    # An address goes before what is kept, and the first column is always there.
    page = text(boss.get("/tenants/", {"columns": "code,no_such"}))
    assert all(f"sort-{key}" in page for key in ("name", "code"))
    assert "sort-state" not in page
    boss.post("/lists/columns/", keys | {"is_usual": "yes"})
    assert "sort-code" in text(boss.get("/tenants/"))
    assert not SavedView.objects.exists()


def test_a_view_is_kept_under_a_name_opened_renamed_and_deleted(boss, acme):
    given = {"page": "operator:tenants", "name": "  Ended ones ", "query": "state=closed&sort=-created"}
    boss.post("/lists/views/", given)
    page = text(boss.get("/tenants/"))
    assert 'href="/tenants/?state=closed&amp;sort=-created" data-test="view-open"' in page
    view = SavedView.objects.get()
    assert view.name == "Ended ones"
    boss.post("/lists/views/", given | {"query": "state=active"})
    assert SavedView.objects.get().query == "state=active", "the same name again replaces it"
    boss.post(f"/lists/views/{view.uid}/rename/", {"name": "Active"})
    assert ">Active</a>" in text(boss.get("/tenants/"))
    boss.post(f"/lists/views/{view.uid}/delete/")
    assert not SavedView.objects.exists()


def test_nobody_changes_anothers_view(boss, operator, acme):
    boss.post("/lists/views/", {"page": "operator:tenants", "name": "Mine", "query": ""})
    view = SavedView.objects.get()
    other = operator("executive", username="other").page()
    assert "Mine" not in text(other.get("/tenants/"))
    assert other.post(f"/lists/views/{view.uid}/rename/", {"name": "Yours"}).status_code == 404
    assert other.post(f"/lists/views/{view.uid}/delete/").status_code == 404
    # Who changes nothing else keeps views of his own.
    assert (
        other.post("/lists/views/", {"page": "operator:tenants", "name": "Mine", "query": ""}).status_code
        == 302
    )


def test_what_the_page_fetches_by_itself_is_the_list_as_it_stands_in_the_window(boss, acme, globex):
    told = {
        "HX-Request": "true",
        "HX-Current-URL": "http://localhost/tenants/?sort=-name&columns=name,state&search=",
        "Weir-Refresh": "true",
    }
    page = text(boss.get("/tenants/", {"search": ""}, headers=told))
    assert names(page) == ["globex", "acme"]
    assert "sort-code" not in page
    # A person who presses something asks for what he presses, and another page's address says nothing here.
    assert names(text(boss.get("/tenants/", headers=told | {"Weir-Refresh": ""})))
    told["HX-Current-URL"] = "http://localhost/bills/?sort=-name"
    assert names(text(boss.get("/tenants/", headers=told))) == ["acme", "globex"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"name": "   "}, "name"),
        ({"name": "x" * 61}, "at most 60"),
        ({"name": "a\x07b"}, "Name"),
        ({"query": "x" * 2001}, "2000"),
    ],
)
def test_a_view_with_a_bad_name_is_refused_and_nothing_is_kept(boss, given, told):
    answer = boss.post("/lists/views/", {"page": "operator:tenants", "name": "Fine", "query": ""} | given)
    assert answer.status_code == 400
    assert told in answer.content.decode()
    assert not SavedView.objects.exists()


def test_a_second_view_of_the_same_name_and_one_too_many_are_refused(boss):
    for number in range(30):
        boss.post("/lists/views/", {"page": "operator:tenants", "name": f"View {number}", "query": ""})
    answer = boss.post("/lists/views/", {"page": "operator:tenants", "name": "One more", "query": ""})
    assert (answer.status_code, SavedView.objects.count()) == (409, 30)
    view = SavedView.objects.get(name="View 1")
    answer = boss.post(f"/lists/views/{view.uid}/rename/", {"name": "View 2"})
    assert answer.status_code == 409
    assert "View 2" in answer.content.decode()


def test_all_rows_are_exported_as_they_are_narrowed_and_sorted(boss, acme, globex):
    Tenant.objects.filter(pk=acme.pk).update(name="=cmd|' /C calc'!A0")
    whole = content(boss.get("/tenants/", {"export": "csv", "sort": "-code"})).decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(whole)))
    named = ["Name", "Code", "People", "Running work", "Cost this month (CNY)", "Balance (CNY)"]
    assert rows[0] == [*named, "Address", "Time zone", "Created at", "State"]
    assert [row[1] for row in rows[1:]] == ["globex", "acme"]
    assert rows[2][0] == "'=cmd|' /C calc'!A0", "no spreadsheet runs it"
    answer = boss.get("/tenants/", {"export": "xlsx", "search": "glob", "columns": "name,state"})
    assert 'filename="weir-tenants-' in answer["Content-Disposition"]
    sheet = load_workbook(io.BytesIO(content(answer))).active
    assert list(sheet.iter_rows(values_only=True)) == [("Name", "State"), (globex.name, "Active")]
    boss.cookies["django_language"] = "zh-hans"
    assert "名称" in content(boss.get("/tenants/", {"export": "csv"})).decode("utf-8-sig").splitlines()[0]


def test_a_form_of_file_that_there_is_not_is_the_page(boss):
    assert text(boss.get("/tenants/", {"export": "exe"})).startswith("<!doctype html>")


def test_what_a_filter_leaves_empty_is_told_apart_from_what_is_not_there_yet(boss, acme):
    page = text(boss.get("/tenants/", {"search": "nobody", "sort": "-name"}))
    assert 'data-test="no-match"' in page
    assert 'href="/tenants/?sort=-name" data-test="clear-filters"' in page


def test_several_alarms_are_acknowledged_at_once_and_what_is_refused_is_told_with_its_reason(boss, operator):
    for key in ("a", "b", "c"):
        alarm_raise(actor=SYSTEM, key=key, level="minor", source="rules", msgid="Hot")
    rows = list(Alarm.objects.order_by("key"))
    alarm_resolve(actor=SYSTEM, key="c")
    page = text(boss.get("/alarms/"))
    assert page.count('data-test="choose"') == 2
    assert 'data-test="act-acknowledge"' in page
    chosen = {"chosen": [str(row.uid) for row in rows], "next": "/alarms/?sort=level"}
    answer = boss.post("/alarms/acknowledge/", chosen, follow=True)
    assert answer.redirect_chain == [("/alarms/?sort=level", 302)]
    shown = text(answer)
    assert "Done for 2 rows." in shown
    assert "1 row refused it:" in shown
    assert [row.state for row in Alarm.objects.order_by("key")] == [
        "acknowledged",
        "acknowledged",
        "resolved",
    ]
    assert Record.objects.filter(name="alarm_acknowledge").count() == 2, "an act of each row"
    reader = operator("executive", username="reader").page()
    assert 'data-test="choose"' not in text(reader.get("/alarms/"))
    assert reader.post("/alarms/acknowledge/", chosen).status_code == 403


@pytest.mark.parametrize("given", [{}, {"chosen": "x"}, {"chosen": ""}, {"chosen": "A" * 5000}])
def test_nothing_that_can_be_chosen_is_refused(boss, given):
    assert boss.post("/alarms/acknowledge/", given).status_code == 400


def test_what_is_not_there_cannot_be_acted_on(boss):
    assert boss.post("/alarms/acknowledge/", {"chosen": str(uuid4())}).status_code == 404


def test_nodes_are_a_table_too_and_several_are_drained_at_once(boss, acme):
    node_make()
    Node.objects.update(uid=str(uuid4()))
    page = text(boss.get("/pool/nodes/", {"layout": "table"}))
    node = Node.objects.get()
    assert f'data-test="node-row" data-name="{node.name}"' in page
    assert "Nothing matches" in text(boss.get("/pool/nodes/", {"layout": "table", "search": "zz"}))
    boss.post("/pool/nodes/drain/", {"chosen": node.uid})
    node.refresh_from_db()
    assert node.is_drained
    boss.post("/pool/nodes/undrain/", {"chosen": node.uid})
    node.refresh_from_db()
    assert not node.is_drained


def test_a_page_far_behind_the_count_is_reached_and_one_that_is_none_is_the_nearest(
    monkeypatch, boss, acme, globex
):
    assert names(text(boss.get("/tenants/", {"page": "99"}))) == ["acme", "globex"]
    for wrong in ("0", "-1", "x", "9" * 30, "1.5"):
        assert names(text(boss.get("/tenants/", {"page": wrong}))) == ["acme", "globex"]
    monkeypatch.setattr(pages, "COUNTED_MOST", 1)
    page = text(boss.get("/tenants/"))
    assert "more than 1 rows" in page
    assert 'data-test="no-match"' not in text(boss.get("/tenants/", {"page": "7"}))
