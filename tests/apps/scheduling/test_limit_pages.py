"""The pages and the API of who may hold what, and when; each tried by who may and by who may not."""

import re

import pytest
from django.db import connection
from django.utils import timezone

from apps.fleet.services import groups
from apps.kernel.actor import SYSTEM
from apps.scheduling.errors import OutsideValidity
from apps.scheduling.models import Queue, ResourceTicket, SpecialSpec
from apps.scheduling.services.cycle.cluster_cache import feed_take
from apps.scheduling.services.entitlements.access_rules import (
    default_spec_set,
    validity_make,
    validity_remove,
)
from apps.scheduling.services.queues.queue_settings import queue_change
from tests.apps.scheduling.test_limits import HOUR, ask, most
from tests.apps.scheduling.test_pages import text

pytestmark = pytest.mark.django_db


def local(at):
    return timezone.localtime(at, timezone.get_default_timezone()).strftime("%Y-%m-%dT%H:%M")


@pytest.mark.req("PLAT-CLU-31", "PLAT-CLU-34", "PLAT-CLU-36", "PLAT-CLU-40", "PLAT-CLU-41")
def test_the_three_tiers_are_set_on_their_pages_and_a_users_limit_is_explained(alice, acme, operator):
    page, now = operator("cluster_administrator").page(), timezone.now()
    assert page.post("/scheduling/default-spec/", {"compute_percent": 60}).status_code == 302
    whose = f"/scheduling/default-spec/?tenant=acme&user={alice.user.username}"
    assert 'data-tier="default"' in text(page.get(whose))
    given = {
        "name": "lab",
        "compute_percent": 80,
        "from_at": local(now - HOUR),
        "until_at": local(now + HOUR),
    }
    whom = {"tenant": "acme", "users": alice.user.username}
    assert page.post("/scheduling/specials/", {**given, **whom}).status_code == 302
    row = SpecialSpec.plain.get()
    shown = text(page.get(whose))
    assert 'data-tier="special_user"' in shown
    assert "special spec of the user lab until" in shown
    view = text(page.get(f"/scheduling/specials/{row.pk}/"))
    assert 'data-test="special-view"' in view
    page.post(f"/scheduling/specials/{row.pk}/", {**given, "compute_percent": 90})
    assert most(acme, alice) == (90, "special_user")
    page.post(f"/scheduling/specials/{row.pk}/disable/")
    assert 'data-state="disabled"' in text(page.get("/scheduling/specials/"))
    assert page.post("/scheduling/specials/", {**given, **whom, "users": "nobody"}).status_code == 400
    reader = operator("executive").page()
    assert "special-save" not in text(reader.get(f"/scheduling/specials/{row.pk}/"))
    assert reader.post("/scheduling/default-spec/", {"compute_percent": 1}).status_code == 403


@pytest.mark.req("PLAT-CLU-32", "PLAT-CLU-42", "PLAT-CLU-43", "PLAT-CLU-44", "PLAT-CLU-45")
def test_a_ticket_goes_from_its_applicants_page_through_the_inbox_to_the_operator_pages(
    alice, acme, member, operator
):
    default_spec_set(actor=SYSTEM, compute_percent=30)
    page, ops, now = alice.page(), operator("cluster_administrator").page(), timezone.now()
    given = {
        "compute_percent": 90,
        "from_at": local(now - HOUR),
        "until_at": local(now + HOUR),
        "reason": "a paper",
    }
    assert "by default spec" in text(page.get("/resources/"))
    assert page.post("/resources/tickets/", given).status_code == 302
    ticket = ResourceTicket.plain.get()
    assert ticket.no in text(page.get("/resources/tickets/"))
    listed = text(ops.get("/scheduling/tickets/?state=waiting"))
    assert ticket.no in listed
    task = re.search(
        r'href="(/t/acme/tasks/[0-9a-f-]+/)"', text(ops.get(f"/scheduling/tickets/{ticket.uid}/"))
    )[1]
    assert f"/resources/tickets/{ticket.uid}/parts/" in text(ops.get(task))
    assert "a paper" in text(ops.get(f"/t/acme/resources/tickets/{ticket.uid}/parts/"))
    assert ops.post(f"{task}decide/", {"decision": "approve", "comment": "fine"}).status_code == 302
    shown = text(page.get("/resources/"))
    assert f"by resource ticket {ticket.no} until" in shown
    assert "fine" in text(ops.get(f"/scheduling/tickets/{ticket.uid}/"))
    stranger = member("globex", "tenant_front_line").page()
    colleague = member("acme", "tenant_front_line").page()
    for other in (stranger, colleague):
        assert other.get(f"/resources/tickets/{ticket.uid}/").status_code == 404
        assert other.post(f"/resources/tickets/{ticket.uid}/withdraw/").status_code == 404
    ops.post(f"/scheduling/tickets/{ticket.uid}/disable/")
    assert "by default spec" in text(page.get("/resources/"))
    ops.post(f"/scheduling/tickets/{ticket.uid}/delete/")
    assert f'data-no="{ticket.no}"' not in text(ops.get("/scheduling/tickets/"))


@pytest.mark.req("PLAT-AICFG-28", "PLAT-AICFG-32", "PLAT-AICFG-33")
def test_a_validity_rule_is_modified_on_its_page_and_over_the_api(alice, acme, operator):
    who = operator("cluster_administrator")
    page, api = who.page(), who.api()
    day = {"weekday": (timezone.localtime().weekday() + 3) % 7, "from_minute": 0, "to_minute": 1440}
    body = {"name": "day", "users": [alice.user.username], "periods": [{"purpose": "training", **day}]}
    made = api.post("/api/v1/validity-rules", body, format="json")
    assert made.status_code == 201, made.content
    with pytest.raises(OutsideValidity):
        ask(alice, acme)
    path = f"/scheduling/validity/{made.json()['id']}/"
    assert "00:00-24:00" in text(page.get(path))
    changed = page.post(
        path, {"name": "day", "users": alice.user.username, "inference": "Mon-Sun 00:00-24:00"}
    )
    assert changed.status_code == 302
    assert ask(alice, acme)
    found = api.get(f"/api/v1/validity-rules/{made.json()['id']}").json()
    assert {each["purpose"] for each in found["periods"]} == {"inference"}
    again = api.put(f"/api/v1/validity-rules/{found['id']}", {**body, "name": "night"}, format="json")
    assert (again.status_code, again.json()["name"]) == (200, "night")
    removed = api.post(
        "/api/v1/validity-rules/remove", {"ids": [found["id"], found["id"] + 1]}, format="json"
    )
    assert removed.json() == {"count": 1}
    assert api.delete(f"/api/v1/validity-rules/{found['id']}").status_code == 404


@pytest.mark.req("PLAT-AICFG-32")
def test_a_changed_window_reaches_work_that_waits(alice, acme):
    row = ask(alice, acme)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM scheduling_change")
    day = (timezone.localtime().weekday() + 3) % 7
    rule = validity_make(actor=SYSTEM, name="d", users=[alice.user], periods={"training": [(day, 0, 1440)]})
    assert row.pk in feed_take()["work"]
    validity_remove(actor=SYSTEM, pks=[rule.pk])
    assert row.pk in feed_take()["work"]


@pytest.mark.req("PLAT-CLU-31", "PLAT-CLU-36", "PLAT-CLU-38", "PLAT-CLU-39")
def test_default_and_special_specs_over_the_api(alice, acme, operator):
    api, now = operator("cluster_administrator").api(), timezone.now()
    assert api.put("/api/v1/default-spec", {"instances": 3}, format="json").json()["instances"] == 3
    span = {"from_at": (now - HOUR).isoformat(), "until_at": (now + HOUR).isoformat()}
    body = {"name": "x", "tenant": "acme", "users": [alice.user.username], "instances": 5, **span}
    made = api.post("/api/v1/special-specs", body, format="json").json()[0]
    assert (made["user"], made["phase"], made["is_enabled"]) == (alice.user.username, "now", True)
    path = f"/api/v1/special-specs/{made['id']}"
    assert api.put(path, {"name": "y", "instances": 6, **span}, format="json").json()["instances"] == 6
    mine = alice.api().get("/api/v1/limits").json()
    assert [(each["item"], each["most"], each["tier"]) for each in mine] == [
        ("instances", 6, "special_user"), ("compute_percent", None, None), ("memory_mib", None, None),
    ]  # fmt: skip
    assert api.post(f"{path}/disable").json()["is_enabled"] is False
    told = api.get(f"/api/v1/user-limits/acme/{alice.user.username}").json()[0]
    assert (told["most"], told["tier"], told["source"]) == (3, "default", "default spec")
    assert api.post(f"{path}/enable").json()["is_enabled"] is True
    assert api.delete(path).status_code == 204
    assert alice.api().get("/api/v1/special-specs").status_code == 403


@pytest.mark.req("PLAT-CLU-32", "PLAT-CLU-42")
def test_tickets_over_the_api_are_ones_own(alice, acme, member, operator):
    api, now = alice.api(), timezone.now()
    ops = operator("cluster_administrator").api()
    body = {"reason": "r", "instances": 9, "from_at": now.isoformat(), "until_at": (now + HOUR).isoformat()}
    made = api.post("/api/v1/resource-tickets", body, format="json")
    assert made.status_code == 201, made.content
    path = f"/api/v1/resource-tickets/{made.json()['uid']}"
    assert api.get(path).json()["state"] == "waiting"
    for other in (member("acme", "tenant_front_line"), member("globex", "tenant_front_line")):
        assert other.api().get(path).status_code == 404
        assert other.api().post(f"{path}/withdraw").status_code == 404
        assert other.api().get("/api/v1/resource-tickets").json()["results"] == []
    assert [each["no"] for each in ops.get("/api/v1/resource-tickets").json()["results"]] == [
        made.json()["no"]
    ]
    for act in ("disable", "enable", "delete"):
        assert ops.post(f"{path}/{act}").status_code == 409
        assert api.post(f"{path}/{act}").status_code == 403
    assert api.post(f"{path}/withdraw").json()["state"] == "withdrawn"
    wrong = api.post("/api/v1/resource-tickets", {**body, "instances": None}, format="json")
    assert wrong.status_code == 400


@pytest.mark.req("PLAT-AICFG-23")
def test_the_default_row_is_the_sum_of_the_groups_queues(alice, acme, operator):
    for code, devices in (("labs", ["n1-d0", "n1-d1"]), ("shop", ["n1-d2"])):
        groups.group_make(actor=SYSTEM, code=code, name_en=code, name_zh=code)
        groups.group_devices_set(actor=SYSTEM, code=code, devices=devices)
    queue_change(actor=SYSTEM, queue=Queue.objects.get(code="labs"), changes={"max_compute_percent": 150})
    who = operator("cluster_administrator")
    total, *rows = who.api().get("/api/v1/group-queues").json()
    assert [(each["code"], each["devices"], each["most_percent"]) for each in rows] == [
        ("labs", 2, 150), ("shop", 1, 100),
    ]  # fmt: skip
    assert total["code"] == "default"
    for name in (
        "devices",
        "room_percent",
        "room_mib",
        "most_percent",
        "most_mib",
        "compute_percent",
        "waiting",
    ):
        assert total[name] == sum(each[name] for each in rows), name
    shown = text(who.page().get("/scheduling/groups/"))
    assert shown.count('data-test="group-row"') == 3
    # Its code is that of the queue of work without a group: what people read tells the two apart.
    assert "All groups together" in shown


@pytest.mark.req("PLAT-TEN-2")
def test_a_tenant_is_told_of_no_queue_of_a_group_that_is_not_its_own(alice, acme, globex, member):
    groups.group_make(actor=SYSTEM, code="labs", name_en="Labs", name_zh="Labs")
    groups.group_grant(actor=SYSTEM, code="labs", tenant=acme)
    gina = member("globex", "tenant_front_line")
    for path in ("/resources/", "/resources/submit/"):
        assert "labs" in text(alice.page().get(path)), path
        assert "labs" not in text(gina.page().get(path)), path
