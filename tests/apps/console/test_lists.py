"""A list of the portal: sorted, narrowed, with the columns that somebody chose, kept under a name, and as a file."""

import csv
import io

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from openpyxl import load_workbook

from apps.identity.models import SavedView
from apps.tenancy.models import Tenant
from tests.apps.console.test_settlement_pages import text

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
    assert rows[0] == ["Name", "Code", "Address", "Time zone", "Created at", "State"]
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
