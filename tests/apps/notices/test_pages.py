from zoneinfo import ZoneInfo

import pytest
from django.utils.translation import gettext_noop

from apps.kernel.actor import SYSTEM
from apps.notices.models import Message
from apps.notices.services import notice_send
from apps.tenancy.models import Tenant

pytestmark = pytest.mark.django_db
APPROVED = gettext_noop("Your application %(no)s is approved.")
HTMX = {"HX-Request": "true"}


@pytest.fixture
def ann(member):
    return member("acme", "tenant_front_line")


@pytest.fixture
def message(ann, acme):
    [row] = notice_send(
        actor=SYSTEM, user_ids=[ann.user.pk], msgid=APPROVED, params={"no": "F7"}, link="/forms/", tenant=acme
    )
    return row


@pytest.mark.req("PLAT-TODO-16")
def test_opening_a_message_reads_it_and_leads_on(ann, message):
    answer = ann.page().post(f"/messages/{message.uid}/open/")
    assert (answer.status_code, answer["Location"]) == (302, "/forms/")
    message.refresh_from_db()
    assert message.is_read


@pytest.mark.req("PLAT-TODO-17")
def test_the_bell_counts_what_is_unread(ann, message):
    page = ann.page()
    assert 'data-count="1"' in page.get("/messages/bell/").content.decode()
    page.post("/messages/read-all/")
    assert 'data-count="0"' in page.get("/messages/bell/").content.decode()


@pytest.mark.req("PLAT-TODO-17", "PLAT-TODO-18")
def test_the_list_filters_and_deletes_what_is_chosen(ann, message):
    page = ann.page()
    assert "F7" in page.get("/messages/?search=F7&is_read=no", headers=HTMX).content.decode()
    assert "F7" not in page.get("/messages/?is_read=yes", headers=HTMX).content.decode()
    assert page.post("/messages/delete/", {"chosen": [str(message.uid)]}).status_code == 302
    assert not Message.objects.filter(pk=message.pk).exists()


def test_times_are_shown_in_the_tenants_zone(ann, message, acme):
    for name in ("Asia/Shanghai", "America/New_York"):
        Tenant.objects.filter(pk=acme.pk).update(timezone=name)
        shown = message.created_at.astimezone(ZoneInfo(name)).strftime("%Y-%m-%d %H:%M:%S")
        assert shown in ann.page().get("/messages/").content.decode()


def test_nothing_chosen_is_refused_in_place(ann):
    answer = ann.page().post("/messages/delete/", headers=HTMX)
    assert (answer.status_code, answer["HX-Retarget"]) == (400, "#problems")


@pytest.mark.req("PLAT-TEN-2")
def test_anothers_message_is_not_there(member, message):
    page = member("globex", "tenant_front_line").page()
    assert page.post(f"/messages/{message.uid}/open/").status_code == 404
    message.refresh_from_db()
    assert not message.is_read


def test_the_api_says_the_same(ann, message, member):
    api = ann.api()
    [row] = api.get("/api/v1/messages?is_read=false").json()["results"]
    assert (row["uid"], row["link"]) == (str(message.uid), "/forms/")
    assert api.post(f"/api/v1/messages/{message.uid}/read").json()["read_at"]
    assert api.post("/api/v1/messages/read-all").json() == {"count": 0}
    stranger = member("globex", "tenant_front_line").api()
    assert stranger.post(f"/api/v1/messages/{message.uid}/read").status_code == 404
    assert api.delete(f"/api/v1/messages/{message.uid}").status_code == 204
