"""The operation log as operators read it: in words, narrowed, page by page, exported."""

import ast
import csv
import io
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone, translation

from apps.audit.models import Record
from apps.audit.text.acts import ACTS, act_text
from apps.audit.text.subjects import SUBJECTS, subject_text
from apps.kernel.actor import SYSTEM, Actor
from apps.kernel.service import Act, act_keep
from apps.tenancy.services import tenant_change

ROOT = Path(__file__).resolve().parents[3]


def _sources():
    for folder in ("apps", "portal"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text()
            if "@service" in text or "act_subject(" in text:
                yield ast.parse(text)


def _recorded(function):
    """Whether it is a service that leaves a record."""
    for mark in function.decorator_list:
        if ast.unparse(mark).startswith("service"):
            return "recorded=False" not in ast.unparse(mark)
    return False


@pytest.mark.req("PLAT-LOG-1")
def test_every_act_and_every_subject_has_words_in_both_languages():
    acts, kinds = {"act_refused"}, set()
    for tree in _sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and _recorded(node):
                acts.add(node.name)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "act_subject":
                kinds |= {node.args[0].value} if isinstance(node.args[0], ast.Constant) else set()
    assert set(ACTS) == acts
    assert kinds - set(SUBJECTS) == set()
    with translation.override("zh-hans"):
        assert [name for name in ACTS if act_text(name).isascii()] == []
        assert [kind for kind in SUBJECTS if subject_text(kind).isascii()] == []


def shown(answer):
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def acts_in(answer):
    return [part.partition('"')[0] for part in shown(answer).split('data-act="')[1:]]


@pytest.fixture
def reader(operator):
    return operator("system_administrator").page()


@pytest.mark.django_db
@pytest.mark.req("PLAT-LOG-1")
def test_an_act_is_found_by_its_words_its_person_its_tenant_and_its_subject(reader, acme):
    tenant_change(actor=SYSTEM, tenant=acme, name="Acme Works", timezone="Asia/Shanghai")
    row = Record.objects.filter(name="tenant_change").latest("pk")
    for query in (
        {"search": "Changed a tenant"}, {"search": row.actor_name}, {"search": row.subject_id},
        {"subject_kind": "tenant"}, {"from_at": (row.at - timedelta(seconds=2)).strftime("%Y-%m-%dT%H:%M:%S")},
    ):  # fmt: skip
        assert "tenant_change" in acts_in(reader.get("/operation-log/", query)), query
    assert "Changed a tenant" in shown(reader.get("/operation-log/"))
    assert acts_in(reader.get("/operation-log/", {"subject_kind": "bill"})) == []
    assert "Nothing matches" in shown(reader.get("/operation-log/", {"search": "nobody did this"}))
    reader.cookies["django_language"] = "zh-hans"
    assert "tenant_change" in acts_in(reader.get("/operation-log/", {"search": "修改租户"}))
    one = shown(reader.get(f"/operation-log/{row.uid}/"))
    assert "Acme Works" in one
    assert row.subject_id in one


@pytest.mark.django_db
def test_older_pages_follow_by_place_and_lose_none_while_others_are_added(reader):
    who = Actor(kind="system", name="many")
    for number in range(120):
        act_keep(Act("backup_make", who, subject_kind="backup", subject_id=f"b{number}"))
    seen, query = [], {"search": "many"}
    while True:
        text = shown(reader.get("/operation-log/", query))
        seen += [
            part.partition('<td class="d-none d-sm-table-cell text-break">')[2].partition("<")[0].strip()
            for part in text.split('data-act="backup_make"')[1:]
        ]
        act_keep(Act("backup_make", who, subject_kind="backup", subject_id="later"))
        if 'data-test="older"' not in text:
            break
        place = text.partition('data-test="older"')[0].rpartition("before=")[2].partition('"')[0]
        query = {
            "search": "many",
            "before": place.replace("%3A", ":").replace("%2B", "+").replace("%2C", ","),
        }
    assert seen == [f"b{number}" for number in reversed(range(120))]
    for wrong in ("x", "2026-01-01,1", ",", "2026-01-01T00:00:00+00:00," + "9" * 30, "\x00,1"):
        assert reader.get("/operation-log/", {"before": wrong}).status_code in (200, 400)


@pytest.mark.django_db
def test_what_is_exported_is_what_is_shown(reader, acme):
    before = timezone.now()
    tenant_change(actor=SYSTEM, tenant=acme, name="Acme Works", timezone="Asia/Shanghai")
    answer = reader.get("/operation-log/", {"search": "Changed a tenant", "export": "csv"})
    lines = list(csv.DictReader(io.StringIO(b"".join(answer).decode("utf-8-sig"))))
    found = [line for line in lines if line["Time"] >= timezone.localtime(before).isoformat(sep=" ")[:19]]
    assert [(line["Act"], line["Subject"]) for line in found] == [("Changed a tenant", "tenant")]


@pytest.mark.django_db
def test_it_is_for_who_may_see_it(operator, member):
    assert operator("front_line").page().get("/operation-log/").status_code == 403
    assert member("acme", "tenant_system_administrator").page().get("/operation-log/").status_code == 404
