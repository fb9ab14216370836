"""Invitations by mail, over a real mail server: the link is in the mail alone, and what was lost is tried again."""

import logging
import re
from email import message_from_bytes, policy
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from aiosmtpd.controller import Controller
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from apps.audit.models import Record
from apps.centre.mail_address import MAIL_TRIES_MAX
from apps.identity.models import Membership, User
from apps.identity.services.tokens import digest_of
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_public, in_tenant
from apps.orgs import tasks
from apps.orgs.models import Invitation, InvitationMail
from apps.orgs.services.invitation_mails import invitation_mail_claim, invitation_mail_settle
from apps.orgs.tasks import invitation_mails_send, invitation_mails_sweep
from apps.tenancy.models import Tenant
from portal.devstack.servers.ports import any_free
from tests.conftest import PASSWORD

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-TEN-24")]
ADMIN, FRONT = "tenant_system_administrator", "tenant_front_line"
GIVEN = {"display_name": "Eve", "email": "eve@example.org", "roles": [FRONT], "by_mail": True}


class Box:
    """A mail server's handler that keeps what it takes; while `refuses` is set it quotes the mail and takes nothing."""

    def __init__(self):
        self.mails, self.refuses = [], False

    async def handle_DATA(self, server, session, envelope):
        mail = message_from_bytes(envelope.content, policy=policy.default)
        if self.refuses:
            return f"554 I do not like {secret_of(mail)}"
        self.mails.append(mail)
        return "250 taken"


@pytest.fixture
def box(settings):
    """A real mail server, and the portal's mail going there."""
    box = Box()
    server = Controller(box, hostname="127.0.0.1", port=any_free())
    server.start()
    settings.EMAIL_BACKEND = "apps.centre.mail.Backend"
    settings.WEIR_EMAIL_URL = f"smtp://127.0.0.1:{server.port}"
    yield box
    server.stop()


@pytest.fixture(autouse=True)
def enqueued(monkeypatch):
    """The messages to workers: each tenant's task, by its schema alone."""
    sent = []
    task = SimpleNamespace(delay=lambda *given: sent.append(given))
    monkeypatch.setattr(tasks, "invitation_mails_send", task)
    return sent


@pytest.fixture
def admin(member):
    person = member("acme", ADMIN, "ada")
    User.objects.filter(pk=person.user.pk).update(display_name="Ada Admin")
    return person


def body_of(mail):
    return mail.get_content()


def secret_of(mail):
    return re.search(r"http://acme\.localhost/join/(\S+)/", body_of(mail))[1]


def invite(client, **more):
    answer = client.post("/api/v1/invitations", GIVEN | more, format="json")
    assert answer.status_code == 201, answer.content
    return answer.json()


def work(schema="acme"):
    with in_public():
        invitation_mails_send(schema)


def due():
    """As if the time of the next try had come."""
    with in_tenant("acme"):
        InvitationMail.objects.update(next_try_at=timezone.now())


def listed(client):
    [row] = client.get("/api/v1/invitations").json()["results"]
    return row


def accept(secret, username="eve"):
    given = {"tenant": "acme", "secret": secret, "username": username, "password": PASSWORD}
    given["display_name"] = "Eve"
    answer = APIClient(headers={"host": "localhost"}).post("/api/v1/invitations/accept", given, format="json")
    return answer.status_code


def test_the_link_is_in_the_mail_alone_and_lets_its_reader_in(
    admin, box, enqueued, django_capture_on_commit_callbacks, caplog
):
    caplog.set_level(logging.DEBUG)
    client = admin.api()
    with django_capture_on_commit_callbacks(execute=True):
        made = invite(client)
    assert (made["secret"], made["mail"], made["mailed_at"]) == ("", "waiting", None)
    assert enqueued == [("acme",)]
    work()
    [mail] = box.mails
    assert mail["To"] == "eve@example.org"
    assert mail["Subject"].endswith("you are invited to Acme Research")
    with in_tenant("acme"):
        row = Invitation.objects.get()
        kept = str(list(Invitation.objects.values())) + str(list(InvitationMail.objects.values()))
    text = body_of(mail)
    assert "Eve," in text
    assert "Ada Admin invites you" in text
    assert "the compute portal of Acme Research: http://acme.localhost/" in text
    zone = ZoneInfo(Tenant.objects.get(schema_name="acme").timezone)
    assert row.expires_at.astimezone(zone).strftime("%Y-%m-%d %H:%M") in text
    secret = secret_of(mail)
    assert row.digest == digest_of(secret)
    # What the test's own mail server logs is the mail itself.
    logged = str([record.getMessage() for record in caplog.records if record.name != "mail.log"])
    told = kept + logged + str(list(Record.objects.values())) + str(listed(client))
    assert secret not in told
    row = listed(client)
    assert row["mail"] == "sent"
    assert row["mailed_at"]
    work()
    assert len(box.mails) == 1, "it is sent once"
    assert accept(secret) == 201
    assert Membership.objects.filter(user__username="eve", is_active=True).exists()
    assert accept(secret, "mallory") == 404


def test_it_is_written_in_the_language_in_which_the_inviter_reads_the_portal(admin, box):
    page = admin.page()
    page.cookies["django_language"] = "zh-hans"
    given = {"how": "invite", "display_name": "Eve", "email": "eve@example.org", "days": "3", "by_mail": "on"}
    answer = page.post("/people/new/", given)
    assert (answer.status_code, answer["Location"]) == (302, "/people/")
    assert "邮件待发送" in page.get("/people/").content.decode()
    work()
    [mail] = box.mails
    assert "Ada Admin 邀请您加入" in body_of(mail)
    assert "邮件已于" in page.get("/people/").content.decode()
    assert Client(headers={"host": "acme.localhost"}).get(f"/join/{secret_of(mail)}/").status_code == 200


def test_a_refused_mail_is_tried_with_another_secret_and_given_up_in_the_end(admin, box, caplog):
    client, page = admin.api(), admin.page()
    page.cookies["django_language"] = "en"
    invite(client)
    box.refuses, digests = True, set()
    for turn in range(MAIL_TRIES_MAX):
        assert listed(client)["mail"] == "waiting"
        due()
        work()
        with in_tenant("acme"):
            row = InvitationMail.objects.select_related("invitation").get()
        digests.add(row.invitation.digest)
        assert row.tries == turn + 1
    assert len(digests) == MAIL_TRIES_MAX
    assert "I do not like …" in caplog.text
    assert "weirinv_" not in caplog.text, "what the server quotes of the link is left out"
    assert listed(client)["mail"] == "failed"
    text = page.get("/people/").content.decode()
    assert "Mail could not be sent" in text
    box.refuses = False
    due()
    work()
    assert box.mails == [], "it is given up"
    # An administrator has it sent again.
    send = re.search(r'action="(/people/invitations/[0-9a-f-]+/send/)"', text)[1]
    assert page.post(send).status_code == 302
    work()
    first = secret_of(box.mails[0])
    assert "Mail sent at" in page.get("/people/").content.decode()
    assert page.post(send).status_code == 302
    assert page.post(send).status_code == 409, "one waits already"
    work()
    assert accept(first) == 404, "a new link ends the one before"
    assert accept(secret_of(box.mails[1])) == 201


def test_who_died_over_the_last_try_leaves_no_mail_that_waits_for_ever(admin, box):
    client = admin.api()
    invite(client)
    with in_tenant("acme"):
        InvitationMail.objects.update(tries=MAIL_TRIES_MAX - 1)
        assert invitation_mail_claim(actor=SYSTEM) is not None
        assert invitation_mail_claim(actor=SYSTEM) is None, "it is kept from others"
    assert listed(client)["mail"] == "waiting"
    due()
    assert listed(client)["mail"] == "failed"


def test_a_try_whose_link_was_replaced_says_nothing(admin, box):
    client = admin.api()
    invite(client)
    with in_tenant("acme"):
        late = invitation_mail_claim(actor=SYSTEM)
    assert late.secret not in repr(late)
    due()
    with in_tenant("acme"):
        assert invitation_mail_claim(actor=SYSTEM) is not None
        invitation_mail_settle(actor=SYSTEM, one=late)
    assert listed(client)["mail"] == "waiting"


@pytest.mark.parametrize("end", ["withdrawn", "late"])
def test_an_invitation_that_ended_is_not_mailed(admin, box, end):
    client = admin.api()
    uid = invite(client)["uid"]
    if end == "withdrawn":
        assert client.post(f"/api/v1/invitations/{uid}/withdraw").status_code == 204
    else:
        with in_tenant("acme"):
            Invitation.objects.update(expires_at=timezone.now())
    work()
    assert box.mails == []
    refused = client.post(f"/api/v1/invitations/{uid}/send").status_code
    assert refused == (404 if end == "withdrawn" else 409)


def test_the_sweep_goes_over_the_active_tenants_that_have_mails(admin, box, enqueued):
    invite(admin.api())
    invitation_mails_sweep()
    assert enqueued == [("acme",)], "globex has none"
    work()
    invitation_mails_sweep()
    assert len(enqueued) == 1
    invite(admin.api())
    Tenant.objects.filter(schema_name="acme").update(state="suspended")
    invitation_mails_sweep()
    assert len(enqueued) == 1


def test_it_needs_an_address_and_a_centre_that_sends_mail(admin, box, settings):
    client, page = admin.api(), admin.page()
    page.cookies["django_language"] = "en"
    answer = client.post("/api/v1/invitations", GIVEN | {"email": ""}, format="json")
    assert answer.status_code == 400
    assert "email" in answer.json()["error"]["fields"]
    link = invite(client, by_mail=False)
    assert (link["mail"], link["secret"][:8]) == ("", "weirinv_")
    settings.WEIR_EMAIL_URL = ""
    for path, given in (("invitations", GIVEN), (f"invitations/{link['uid']}/send", {})):
        refused = client.post(f"/api/v1/{path}", given, format="json")
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "mail_missing")
        assert "hand it over" in refused.json()["error"]["cure"]
    assert "sends no mail" in page.get("/people/new/").content.decode()
    assert 'data-test="invitation-send"' not in page.get("/people/").content.decode()
    with in_tenant("acme"):
        assert Invitation.objects.count() == 1


def test_a_link_that_was_shown_can_be_mailed_instead(admin, box):
    client = admin.api()
    shown = invite(client, by_mail=False)
    answer = client.post(f"/api/v1/invitations/{shown['uid']}/send")
    assert (answer.status_code, answer.json()["mail"]) == (202, "waiting")
    work()
    assert accept(shown["secret"]) == 404
    assert accept(secret_of(box.mails[0])) == 201


def test_the_people_of_a_file_are_invited_by_mail(admin, box):
    page = admin.page()
    page.cookies["django_language"] = "en"
    head = "Login account,Name,E-mail,Organization,Roles\n"
    table = f"{head},Eve,eve@example.org,,\n,Finn,finn@example.org,,\n"
    file = SimpleUploadedFile("people.csv", table.encode(), "text/csv")
    text = page.post("/people/import/", {"file": file, "days": "3", "by_mail": "on"}).content.decode()
    given = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', text))
    assert given["by_mail"] == "on"
    with in_tenant("acme"):
        assert not Invitation.objects.exists(), "the preview invites nobody"
    text = page.post("/people/import/", given).content.decode()
    assert 'data-test="import-mailed"' in text
    assert "/join/" not in text
    work()
    assert {mail["To"] for mail in box.mails} == {"eve@example.org", "finn@example.org"}
    assert len({secret_of(mail) for mail in box.mails}) == 2
