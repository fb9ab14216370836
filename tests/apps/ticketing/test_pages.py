"""The pages and the API of tickets: categories and working hours by the operators, a ticket from its form to its
rating by both sides; and who may not."""

from datetime import date

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from apps.kernel.planes import in_tenant
from apps.ticketing.models import SpecialDay, TicketCategory, WorkingHours
from apps.tickets.models import Ticket, TicketFile

pytestmark = pytest.mark.django_db
FIELD = {
    "label_zh": "紧急", "label_en": "Urgent", "kind": "choice", "choices": "yes\nno", "opening": "read_write",
    "handling": "read_only", "is_required": "on",
}  # fmt: skip


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
def chief(operator):
    return operator("operations_manager")


@pytest.fixture
def worker(operator):
    return operator("front_line", username="worker")


@pytest.fixture
def ann(member):
    return member("acme", "tenant_front_line", "ann")


def text_of(answer, status=200):
    assert answer.status_code == status, answer.content.decode()[:800]
    return answer.content.decode()


@pytest.fixture
def category(chief, worker):
    """Made on the pages, step by step."""
    page, top = chief.page(), TicketCategory.objects.get(builtin="om")
    given = {
        "name_zh": "维修",
        "name_en": "Repair",
        "answer_hours": "0.5",
        "solve_hours": "8",
        "is_enabled": "on",
    }
    assert page.post(f"/ticket-categories/{top.uid}/new/", given).status_code == 302
    row = TicketCategory.objects.get(name_en="Repair")
    path = f"/ticket-categories/{row.uid}/"
    assert page.post(f"{path}fields/", FIELD).status_code == 302
    assert page.post(f"{path}rules/", {"when": "", "receiver": "operator:role:front_line"}).status_code == 302
    when = {"when": "urgent=yes", "receiver": "operator:user:worker"}
    assert page.post(f"{path}rules/", when).status_code == 302
    row.refresh_from_db()
    return row


@pytest.mark.req("PLAT-CFG-25", "PLAT-CFG-26", "PLAT-CFG-29")
def test_a_category_is_made_with_its_form_and_rules(category, chief):
    assert (category.answer_minutes, category.solve_minutes) == (30, 480)
    page, path = chief.page(), f"/ticket-categories/{category.uid}/"
    shown = text_of(page.get(path))
    for said in ("Urgent: yes", "Front-line staff", "worker", "Read only", "Repair"):
        assert said in shown
    assert "Front-line staff" in text_of(page.get("/ticket-categories/"))
    # A field is changed under its name; a rule that goes by it keeps it from being removed.
    assert page.post(f"{path}fields/", FIELD | {"name": "urgent", "label_en": "Pressing"}).status_code == 302
    assert page.post(f"{path}fields/remove/", {"name": "urgent"}).status_code == 400
    assert page.post(f"{path}fields/", {**FIELD, "choices": ""}).status_code == 400
    assert page.post(f"{path}rules/", {"receiver": "operator:role:executive"}).status_code == 400
    assert page.post(f"{path}rules/", {"receiver": "tenant:post:"}).status_code == 400
    rule = category.rules.get(field="urgent")
    assert page.post(f"/ticket-rules/{rule.uid}/delete/").status_code == 302
    assert page.post(f"{path}fields/remove/", {"name": "urgent"}).status_code == 302
    assert page.post(f"{path}delete/").status_code == 302
    assert not TicketCategory.objects.filter(pk=category.pk).exists()


def test_working_hours_and_special_days(chief):
    page = chief.page()
    assert "Nothing is set" in text_of(page.get("/working-hours/"))
    week = {"opens_0_0": "09:00", "closes_0_0": "12:00", "opens_0_1": "13:30", "closes_0_1": "17:30"}
    assert page.post("/working-hours/", week).status_code == 302
    assert WorkingHours.objects.count() == 2
    assert 'value="13:30"' in text_of(page.get("/working-hours/"))
    for wrong in (
        {"opens_0_0": "9"},
        {"opens_0_0": "12:00", "closes_0_0": "09:00"},
        week | {"opens_0_1": "11:00"},
    ):
        assert page.post("/working-hours/", wrong).status_code == 400
    days = {"first": "2026-10-01", "last": "2026-10-07", "name": "国庆节"}
    assert page.post("/working-hours/days/", days).status_code == 302
    assert (
        page.post(
            "/working-hours/days/", {"first": "2026-10-10", "name": "Instead", "weekday": "0"}
        ).status_code
        == 302
    )
    assert dict(SpecialDay.objects.values_list("day", "weekday"))[date(2026, 10, 10)] == 0
    assert "working as on Monday" in text_of(page.get("/working-hours/"))
    assert page.post("/working-hours/days/", days | {"last": "2027-10-07"}).status_code == 400
    assert page.post("/working-hours/days/remove/", {"day": "2026-10-01"}).status_code == 302
    assert page.post("/working-hours/days/remove/", {"day": "2026-10-01"}).status_code == 404
    assert page.post("/working-hours/days/remove/", {"day": "x"}).status_code == 404
    api = chief.api()
    found = api.get("/api/v1/working-hours").json()
    assert (len(found["hours"]), len(found["special_days"])) == (2, 7)
    assert api.put("/api/v1/working-hours", {"hours": []}, format="json").json()["hours"] == []
    assert api.delete("/api/v1/special-days/2026-10-02").status_code == 204
    assert api.delete("/api/v1/special-days/none").status_code == 404


@pytest.mark.req("PLAT-CFG-27", "PLAT-TODO-9", "PLAT-TODO-10", "PLAT-TODO-13")
def test_a_ticket_on_the_pages_of_both_sides(category, ann, worker, chief):
    page, inside = ann.page(), worker.page()
    assert 'data-test="new-ticket"' in text_of(page.get("/tickets/"))
    assert "Repair" in text_of(page.get("/tickets/new/"))
    form = text_of(page.get(f"/tickets/new/{category.uid}/"))
    assert 'data-test="data-urgent"' in form
    given = {"title": "Fan <b>", "text": "loud\nvery", "data_urgent": "no"}
    page_html = SimpleUploadedFile("x.html", b"<script>alert(1)</script>")
    assert page.post(f"/tickets/new/{category.uid}/", {**given, "files": page_html}).status_code == 400
    file = SimpleUploadedFile("fan.txt", b"<script>alert(1)</script>")
    sent = page.post(f"/tickets/new/{category.uid}/", {**given, "files": file})
    address = sent["Location"]
    shown = text_of(page.get(address))
    assert "Fan &lt;b&gt;" in shown
    assert "<b>" not in shown
    assert "first answer due" in shown.lower()
    for act in ("claim", "finish", "ask", "hand-over"):
        assert f'data-test="{act}"' not in shown
    with in_tenant("acme"):
        ticket, kept = Ticket.objects.get(), TicketFile.objects.get()
    # What is attached is sent as text, in a sandbox.
    answer = page.get(f"/tickets/files/{kept.uid}/?view=1")
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Content-Security-Policy"].startswith("sandbox")
    assert answer["X-Content-Type-Options"] == "nosniff"
    under = f"/t/acme{address}"
    assert ticket.no in text_of(inside.get("/tickets/?tab=todo"))
    assert ticket.no in text_of(
        inside.get(f"/tickets/?tab=all&category={category.path}&tenant=acme&no={ticket.no}")
    )
    for query in ("tab=done", "category=system", "tenant=globex", "state=done", "no=none"):
        assert ticket.no not in text_of(inside.get(f"/tickets/?{query}")), query
    assert inside.post(f"{under}claim/").status_code == 302
    assert 'data-test="finish"' in text_of(inside.get(under))
    assert inside.post(f"{under}ask/", {"text": "which?"}).status_code == 302
    assert 'data-test="reply"' in text_of(page.get(address))
    assert page.post(f"{address}reply/", {"text": "that", "data_urgent": "yes"}).status_code == 302
    assert inside.post(f"{under}comment/", {"text": "coming"}).status_code == 302
    assert inside.post(f"{under}finish/", {"text": ""}).status_code == 400
    assert inside.post(f"{under}finish/", {"text": "new fan"}).status_code == 302
    assert page.post(f"{address}rate/", {"rating": "9"}).status_code == 400
    assert page.post(f"{address}rate/", {"rating": "4", "text": "fine"}).status_code == 302
    assert page.post(f"{address}rate/", {"rating": "1"}).status_code == 409
    assert page.post(f"{address}close/").status_code == 302
    shown = text_of(inside.get(under))
    assert "4 / 5" in shown
    assert 'data-test="comment"' not in shown
    # An operator opens one in the tenant too.
    opened = inside.post(f"/t/acme/tickets/new/{category.uid}/", {"title": "By phone", "data_urgent": "no"})
    assert opened["Location"].startswith("/t/acme/tickets/")
    assert "By phone" in text_of(inside.get("/tickets/?tab=submitted"))


def test_by_the_api(category, ann, worker, chief):
    api, work = ann.api(), worker.api()
    work.credentials(**work._credentials, HTTP_WEIR_TENANT="acme")
    body = {"category": str(category.uid), "title": "Fan", "data": {"urgent": "yes"}}
    key = {"HTTP_IDEMPOTENCY_KEY": "k1"}
    made = api.post("/api/v1/tickets", body, format="json", **key)
    assert made.status_code == 201, made.content
    again = api.post("/api/v1/tickets", body, format="json", **key)
    assert again.json()["uid"] == made.json()["uid"]
    path = f"/api/v1/tickets/{made.json()['uid']}"
    assert made.json()["receiver"] == "worker"
    assert made.json()["form"] == [
        {"name": "urgent", "label": "Urgent", "value": "yes", "is_writable": False}
    ]
    assert work.post(f"{path}/execute", {"text": "x"}).status_code == 409
    assert work.post(f"{path}/send").status_code == 409
    assert work.post(f"{path}/claim").json()["state"] == "delivering"
    assert work.get(f"{path}/colleagues").json() == [
        {"uid": str(chief.user.uid), "name": chief.user.display_name}
    ]
    handed = work.post(f"{path}/hand-over", {"user": str(chief.user.uid)})
    assert handed.json()["assignee"] == chief.user.display_name
    assert work.post(f"{path}/finish", {"text": "done"}, format="json").status_code == 403
    rows = worker.api().get("/api/v1/cases", {"kind": "ticket", "category": "om"}).json()["results"]
    assert [row["uid"] for row in rows] == [made.json()["uid"]]
    kinds = chief.api()
    shown = kinds.get("/api/v1/ticket-categories").json()
    assert {row["builtin"] for row in shown} == {"service", "system", "om", None}
    parent = next(row["uid"] for row in shown if row["builtin"] == "om")
    new = kinds.post(
        "/api/v1/ticket-categories",
        {"parent": parent, "name_zh": "咨询", "name_en": "Advice", "form": [{"label_en": "About"}]},
        format="json",
    )
    assert new.status_code == 201, new.content
    assert new.json()["form"][0]["name"] == "about"
    own = f"/api/v1/ticket-categories/{new.json()['uid']}"
    assert kinds.patch(own, {"form": [], "solve_minutes": 5}, format="json").json()["form"] == []
    rule = kinds.post(f"{own}/rules", {"kind": "role", "receiver": "front_line"})
    assert rule.json()["receiver_name"] == "Front-line staff"
    assert kinds.delete(f"/api/v1/ticket-rules/{rule.json()['uid']}").status_code == 204
    assert kinds.delete(own).status_code == 204


@pytest.mark.parametrize("role", ["executive", "front_line", "cluster_administrator"])
def test_only_who_keeps_categories_comes_to_them(operator, role):
    top = TicketCategory.objects.get(builtin="om")
    person = operator(role)
    page, api = person.page(), person.api()
    for path in ("/ticket-categories/", f"/ticket-categories/{top.uid}/", "/working-hours/"):
        assert page.get(path).status_code == 403
        assert page.post(path, {}).status_code == 403
    assert 'data-test="nav-ticketing-categories"' not in text_of(page.get("/"))
    assert api.get("/api/v1/ticket-categories").status_code == 403
    assert api.put("/api/v1/working-hours", {"hours": []}, format="json").status_code == 403


def test_another_tenants_people_and_lower_roles_find_nothing(category, ann, member, operator):
    sent = (
        ann.api()
        .post(
            "/api/v1/tickets",
            {"category": str(category.uid), "title": "t", "data": {"urgent": "no"}},
            format="json",
        )
        .json()["uid"]
    )
    file = (
        ann.api()
        .post(
            f"/api/v1/tickets/{sent}/files", {"file": SimpleUploadedFile("a.txt", b"a")}, format="multipart"
        )
        .json()["uid"]
    )
    stranger = member("globex", "tenant_front_line")
    for person in (stranger, member("acme", "tenant_front_line")):
        page = person.page()
        for path in (f"/tickets/{sent}/", f"/tickets/files/{file}/"):
            assert page.get(path).status_code == 404
        for act in ("comment", "close", "reply", "rate", "files"):
            assert page.post(f"/tickets/{sent}/{act}/", {"text": "x", "rating": "1"}).status_code in (
                400,
                404,
            )
        assert person.api().get(f"/api/v1/ticket-files/{file}").status_code == 404
    looker = operator("executive").page()
    assert looker.post(f"/t/acme/tickets/{sent}/claim/").status_code == 403
    assert looker.post(f"/t/acme/tickets/new/{category.uid}/", {"title": "x"}).status_code == 403


@pytest.mark.req("PLAT-CFG-25", "PLAT-CFG-26")
def test_steps_are_set_on_the_page_and_a_ticket_walks_through_them(category, ann, worker, chief):
    page, path = chief.page(), f"/ticket-categories/{category.uid}/"
    assert page.post(f"{path}steps/", {"name_zh": "检查", "name_en": "Check"}).status_code == 302
    assert page.post(f"{path}steps/", {"name_zh": "修复", "name_en": "Mend"}).status_code == 302
    check, mend = (step["key"] for step in TicketCategory.objects.get(pk=category.pk).steps)
    rule = {"step": mend, "when": "", "receiver": "operator:role:operations_manager"}
    assert page.post(f"{path}rules/", rule).status_code == 302
    field = {
        "label_zh": "原因",
        "label_en": "Cause",
        "kind": "text",
        "opening": "hidden",
        "handling": "hidden",
    }
    assert page.post(f"{path}fields/", {**field, f"at_{mend}": "read_write"}).status_code == 302
    shown = text_of(page.get(path))
    assert "1. Check" in shown
    assert "2. Mend" in shown
    assert "otherwise at 1 step" in " ".join(shown.split())
    assert "At the step “Mend”" in shown
    ann.page().post(f"/tickets/new/{category.uid}/", {"title": "Fan", "data_urgent": "no"})
    with in_tenant("acme"):
        ticket = f"/t/acme/tickets/{Ticket.objects.get().uid}/"
    for person, word in ((worker.page(), "Done: on to Mend"), (chief.page(), "Back to Check")):
        assert person.post(f"{ticket}claim/").status_code == 302
        assert word in text_of(person.get(ticket))
        assert person.post(f"{ticket}finish/", {"text": "done"}).status_code == 302
    with in_tenant("acme"):
        assert Ticket.objects.get().state == "done"
    for act, key in (("earlier", mend), ("remove", check), ("remove", mend)):
        assert page.post(f"{path}steps/{act}/", {"key": key}).status_code == 302
    kept = TicketCategory.objects.get(pk=category.pk)
    assert kept.steps == []
    assert [(rule.step, rule.receiver) for rule in kept.rules.all()] == [("", "operations_manager")]


@pytest.mark.req("PLAT-CFG-25")
def test_steps_by_the_api(category, ann, worker, chief):
    api, own = chief.api(), f"/api/v1/ticket-categories/{category.uid}"
    steps = [{"name_en": "Check"}, {"name_zh": "修复", "name_en": "Mend"}]
    made = api.patch(own, {"steps": steps}, format="json").json()["steps"]
    assert [(step["name_zh"], step["name_en"]) for step in made] == [("Check", "Check"), ("修复", "Mend")]
    rule = {"kind": "role", "receiver": "operations_manager", "step": made[1]["key"]}
    assert api.post(f"{own}/rules", rule).json()["step"] == made[1]["key"]
    assert api.post(f"{own}/rules", {**rule, "step": "nobody"}).status_code == 400
    body = {"category": str(category.uid), "title": "Fan", "data": {"urgent": "no"}}
    ticket = ann.api().post("/api/v1/tickets", body, format="json").json()
    assert [(step["name"], step["is_present"]) for step in ticket["steps"]] == [
        ("Check", True),
        ("Mend", False),
    ]
    path = f"/api/v1/tickets/{ticket['uid']}"
    for person in (worker, chief):
        work = person.api()
        work.credentials(**work._credentials, HTTP_WEIR_TENANT="acme")
        assert work.post(f"{path}/claim").status_code == 200
        if person is chief:
            assert (
                work.post(f"{path}/step-back", {"text": "which?"}, format="json").json()["state"] == "waiting"
            )
        else:
            assert work.post(f"{path}/finish", {"text": "on"}, format="json").json()["state"] == "waiting"
    assert ann.api().post(f"{path}/step-back", {"text": "x"}, format="json").status_code == 409
