"""The centre's settings afterwards: by page and API, for who may keep them; shown and followed everywhere."""

import re
from datetime import UTC, datetime

import pytest
from django.test import Client
from django.utils import timezone

from apps.centre.models import Centre
from apps.centre.selectors import mail_way
from apps.console.centre.forms import zone_choices

pytestmark = pytest.mark.django_db
GIVEN = {"name": "Lakeside", "language": "zh-hans", "timezone": "Europe/Berlin"}
MAIL = {
    "mail_host": "mail.example.org",
    "mail_port": "25",
    "mail_security": "none",
    "mail_sender": "w@example.org",
}


@pytest.fixture(autouse=True)
def no_mail_by_environment(settings):
    settings.WEIR_EMAIL_URL = ""


def text_of(answer, status=200) -> str:
    assert answer.status_code == status, answer.content[:500]
    return answer.content.decode()


def test_name_language_and_zone_are_changed_and_show_at_once(operator):
    page = operator("system_administrator").page()
    assert page.post("/centre/", GIVEN)["Location"] == "/centre/"
    found = text_of(page.get("/centre/"))
    assert found.count("Lakeside") >= 3
    assert 'value="Europe/Berlin" selected' in found
    stranger = Client(headers={"host": "localhost"})
    sign_in = text_of(stranger.get("/login/"))
    assert "Lakeside" in sign_in
    # No language is asked for: the centre's. A browser's own comes before it, a reader's choice before that.
    assert 'lang="zh-Hans"' in sign_in
    assert 'lang="en"' in text_of(stranger.get("/login/", headers={"accept-language": "de, en-GB;q=0.8"}))
    assert 'lang="zh-Hans"' in text_of(stranger.get("/login/", headers={"accept-language": "de, *;q=0.5"}))
    stranger.cookies["django_language"] = "zh-hans"
    assert 'lang="zh-Hans"' in text_of(stranger.get("/login/", headers={"accept-language": "en"}))
    admin = text_of(page.get("/admin/"))
    assert "Lakeside" in admin


def test_times_on_operators_pages_stand_in_the_centres_zone(operator):
    page = operator("system_administrator").page()
    Centre.objects.update(opened_at="2026-01-05T10:00:00Z")
    assert "2026-01-05 18:00:00" in text_of(page.get("/centre/"))
    page.post("/centre/", GIVEN)
    assert "2026-01-05 11:00:00" in text_of(page.get("/centre/"))


@pytest.mark.parametrize("wrong", [{"timezone": "Mars"}, {"language": "tlh"}, {"name": "x" * 81}])
def test_what_it_may_not_be_is_said_beside_its_field(operator, wrong):
    page = operator("system_administrator").page()
    found = text_of(page.post("/centre/", GIVEN | wrong), 400)
    assert f'data-test="error-{next(iter(wrong))}"' in found
    assert Centre.objects.get().name == ""


def test_mail_is_set_tried_and_taken_away(operator):
    page = operator("system_administrator").page()
    assert 'data-test="mail-none"' in text_of(page.get("/centre/"))
    assert page.post("/centre/mail/", MAIL).status_code == 302
    assert mail_way().host == "mail.example.org"
    found = text_of(page.get("/centre/"))
    assert 'data-test="mail-try-form"' in found
    assert 'data-test="mail-none"' not in found
    assert page.post("/centre/mail/try/", {"to": "a@example.org"}).status_code == 302
    text_of(page.post("/centre/mail/try/", {"to": "nobody"}), 400)
    assert page.post("/centre/mail/", {"mail_host": ""}).status_code == 302
    assert mail_way() is None
    assert 'data-test="error-mail_sender"' in text_of(page.post("/centre/mail/", {"mail_host": "h"}), 400)


@pytest.mark.req("PLAT-CFG-45")
def test_whether_orders_go_out_by_themselves_is_switched_both_ways(operator):
    page = operator("system_administrator").page()
    assert re.search(r'name="sends_tickets"[^>]* checked', text_of(page.get("/centre/")))
    assert page.post("/centre/tickets/", {}).status_code == 302
    assert Centre.objects.get().sends_tickets is False
    assert not re.search(r'name="sends_tickets"[^>]* checked', text_of(page.get("/centre/")))
    assert page.post("/centre/tickets/", {"sends_tickets": "on"}).status_code == 302
    assert Centre.objects.get().sends_tickets is True


@pytest.mark.req("PLAT-CFG-36")
def test_whether_quotas_are_kept_is_switched_by_page_and_api(operator):
    admin = operator("system_administrator")
    page = admin.page()
    assert re.search(r'name="keeps_quotas"[^>]* checked', text_of(page.get("/centre/")))
    assert page.post("/centre/quotas/", {}).status_code == 302
    assert Centre.objects.get().keeps_quotas is False
    assert not re.search(r'name="keeps_quotas"[^>]* checked', text_of(page.get("/centre/")))
    api = admin.api()
    assert api.patch("/api/v1/centre", {"name": "Lake"}).json()["keeps_quotas"] is False
    assert api.patch("/api/v1/centre", {"keeps_quotas": True}, format="json").json()["keeps_quotas"] is True


def test_what_the_environment_says_is_not_asked_for(operator, settings):
    settings.WEIR_EMAIL_URL = "smtp://mail.example.org"
    found = text_of(operator("system_administrator").page().get("/centre/"))
    assert 'data-test="mail-fixed"' in found
    assert 'data-test="mail-form"' not in found


@pytest.mark.parametrize("role", ["operations_manager", "executive"])
def test_who_may_not_keep_it_sees_neither_page_nor_entry(operator, role):
    page = operator(role).page()
    assert page.get("/centre/").status_code == 403
    for address, given in (("", GIVEN), ("mail/", MAIL), ("tickets/", {}), ("quotas/", {})):
        assert page.post(f"/centre/{address}", given).status_code == 403
    assert 'data-test="nav-operator-centre"' not in text_of(page.get("/"))
    api = operator(role).api()
    assert api.get("/api/v1/centre").status_code == 200
    assert api.patch("/api/v1/centre", {"name": "x"}).status_code == 403
    assert api.put("/api/v1/centre/mail", {}).status_code == 403


def test_the_api_changes_what_is_named_and_hides_the_password(operator):
    api = operator("system_administrator").api()
    found = api.patch("/api/v1/centre", {"timezone": "Europe/Berlin"}).json()
    assert (found["name"], found["language"], found["timezone"]) == ("", "en", "Europe/Berlin")
    mail = {"host": "mail.example.org", "sender": "w@example.org", "username": "w", "password": "geheim-9"}
    answer = api.put("/api/v1/centre/mail", mail)
    assert answer.json()["mail"] == {
        "host": "mail.example.org",
        "port": 587,
        "security": "starttls",
        "username": "w",
        "sender": "w@example.org",
    }
    assert "geheim" not in answer.content.decode()
    assert api.post("/api/v1/centre/mail/try", {"to": "a@example.org"}).status_code == 204
    assert api.delete("/api/v1/centre/mail").status_code == 204
    assert api.get("/api/v1/centre").json()["mail"] is None
    assert (
        api.patch("/api/v1/centre", {"sends_tickets": False}, format="json").json()["sends_tickets"] is False
    )
    assert api.patch("/api/v1/centre", {"name": "Lake"}).json()["sends_tickets"] is False
    for wrong in ({"timezone": "Mars"}, {"language": "tlh"}, {"name": "x" * 81}, {"sends_tickets": "?"}):
        assert api.patch("/api/v1/centre", wrong).status_code == 400


def test_a_tenants_people_do_not_come_near(member):
    person = member("acme", "tenant_system_administrator")
    assert person.api().get("/api/v1/centre").status_code == 403
    assert person.page().get("/centre/").status_code == 404


def test_zones_say_how_far_their_clocks_are_from_utc_now(monkeypatch):
    """Summer time begins in Berlin on 2026-03-29 at 01:00 UTC."""
    for at, text in (
        (datetime(2026, 3, 29, 0, 59, tzinfo=UTC), "Europe/Berlin (UTC+01:00)"),
        (datetime(2026, 3, 29, 1, 0, tzinfo=UTC), "Europe/Berlin (UTC+02:00)"),
        (datetime(2026, 3, 29, 1, 14, tzinfo=UTC), "Europe/Berlin (UTC+02:00)"),
    ):
        monkeypatch.setattr(timezone, "now", lambda at=at: at)
        assert dict(zone_choices())["Europe/Berlin"] == text
