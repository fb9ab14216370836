"""A forgotten password: a link by mail that works once, an answer that tells nothing, and an end to asking."""

import re
from datetime import datetime, timedelta

import pytest
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core import mail
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from apps.audit.models import Record
from apps.identity.models import PasswordResetRequest, User
from apps.identity.services.accounts import account_disable, account_enable
from apps.identity.services.password_reset import ASKED_FROM_ONE_ADDRESS, link_of
from apps.identity.services.users import LOCK_AFTER
from apps.identity.tasks import password_resets_send
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.orgs.services.people import person_edit
from apps.tenancy.models import Tenant
from tests.conftest import PASSWORD

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-TEN-26")]
FRONT, NEW = "tenant_front_line", "a-word-of-my-own-7"
ASK = "/password/forgotten/"


@pytest.fixture(autouse=True)
def mail_server(settings):
    """The centre has one; Django's tests keep what is sent to it in memory."""
    settings.WEIR_EMAIL_URL = "smtp://mail.example.org"


@pytest.fixture
def bob(member):
    person = member("acme", FRONT, "bob")
    User.objects.filter(pk=person.user.pk).update(email="bob@example.org")
    return person


def visitor(host="acme.localhost", address="192.0.2.1"):
    client = Client(headers={"host": host}, REMOTE_ADDR=address)
    client.cookies["django_language"] = "en"
    return client


def asked(account, client=None):
    answer = (client or visitor()).post(ASK, {"account": account})
    password_resets_send()
    return answer


def links():
    """The paths of the links that were sent."""
    found = [re.search(r"http://(\S+?)(/password/reset/\S+)", message.body) for message in mail.outbox]
    return [(link[1], link[2]) for link in found]


def sign_in(password, username="bob"):
    given = {"username": username, "password": password, "tenant": "acme"}
    return (
        APIClient(headers={"host": "localhost"}).post("/api/v1/auth/login", given, format="json").status_code
    )


def test_who_forgot_the_password_chooses_a_new_one_by_mail(bob):
    page, api = bob.page(), bob.api()
    assert ASK in visitor().get("/login/").content.decode()
    assert b'data-test="reset-asked"' in asked("BOB").content
    assert [message.to for message in mail.outbox] == [["bob@example.org"]]
    [(host, path)] = links()
    assert host == "acme.localhost"
    assert sign_in(PASSWORD) == 200, "until the link is used nothing has changed"
    assert b"bob" in visitor().get(path).content
    assert visitor().post(path, {"new_password": NEW}).status_code == 302
    assert page.get("/").status_code == 302, "open sessions end"
    assert api.get("/api/v1/orders").status_code == 401, "and so do API tokens"
    assert (sign_in(PASSWORD), sign_in(NEW)) == (401, 200)
    assert visitor().get(path).status_code == 404, "the link is spent"
    names = set(Record.objects.values_list("name", flat=True))
    assert {"password_reset_ask", "password_reset_use"} <= names
    assert path.split("/")[3] not in str(list(Record.objects.values_list("detail", flat=True)))


def test_by_api_with_the_e_mail_in_place_of_the_account(bob):
    client = APIClient(headers={"host": "localhost"})
    given = {"account": "Bob@Example.org", "tenant": "acme"}
    assert client.post("/api/v1/auth/password/forgotten", given, format="json").status_code == 202
    password_resets_send()
    [(host, path)] = links()
    assert host == "acme.localhost"
    given = {"secret": path.split("/")[3], "new_password": NEW}
    codes = [
        client.post("/api/v1/auth/password/reset", given, format="json").status_code for _again in (1, 2)
    ]
    assert codes == [204, 404]
    assert sign_in(NEW) == 200


def test_the_answer_never_tells_whether_there_is_such_an_account(bob, member, operator):
    member("globex", FRONT, "gina")
    member("acme", FRONT, "mute")
    User.objects.filter(username="gina").update(email="gina@example.org")
    User.objects.filter(username="mute").update(email="")
    off = member("acme", FRONT, "off").user
    User.objects.filter(pk=off.pk).update(email="off@example.org", is_active=False)
    body = [
        re.sub(r"(value|content)=\S+", "", answer.content.decode())
        for answer in (asked(name) for name in ("bob", "nobody", "gina", "mute", "off", "x@example.org"))
    ]
    assert len(set(body)) == 1
    assert [message.to for message in mail.outbox] == [["bob@example.org"]]
    client = APIClient(headers={"host": "localhost"})
    for tenant in ("acme", "no-such"):
        given = {"account": "nobody-at-all", "tenant": tenant}
        assert client.post("/api/v1/auth/password/forgotten", given, format="json").status_code == 202


def test_an_operator_resets_his_own_on_the_providers_side(operator):
    user = operator("front_line", username="opal").user
    User.objects.filter(pk=user.pk).update(email="opal@example.org")
    asked("opal", visitor("localhost"))
    [(host, path)] = links()
    assert host == "localhost"
    assert visitor("localhost").post(path, {"new_password": NEW}).status_code == 302
    user.refresh_from_db()
    assert user.check_password(NEW)


@pytest.mark.req("PLAT-CFG-40")
def test_asking_has_an_end_for_one_account_and_for_one_address(bob):
    codes = [asked("bob", visitor(address=f"192.0.2.{turn}")).status_code for turn in range(LOCK_AFTER + 2)]
    assert codes == [200] * LOCK_AFTER + [429] * 2
    assert len(mail.outbox) == LOCK_AFTER
    others = [asked(f"nobody{turn}").status_code for turn in range(ASKED_FROM_ONE_ADDRESS)]
    assert set(others[:-1]) == {200}
    assert others[-1] == 429, "an account that does not exist is counted as any other"
    PasswordResetRequest.objects.update(at=timezone.now() - timedelta(minutes=16))
    assert asked("bob").status_code == 200


def test_a_centre_without_mail_says_so_and_whom_to_ask(bob, settings):
    settings.WEIR_EMAIL_URL = ""
    text = visitor().get(ASK).content.decode()
    assert "sends no mail" in text
    assert "Ask your administrator" in text
    assert 'data-test="account"' not in text
    refused = visitor().post(ASK, {"account": "bob"})
    assert refused.status_code == 409
    assert not PasswordResetRequest.objects.exists()
    client = APIClient(headers={"host": "localhost"})
    answer = client.post("/api/v1/auth/password/forgotten", {"account": "bob"}, format="json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "mail_missing")


@pytest.mark.parametrize("what", ["time", "password", "mail", "disabled", "sign-in"])
def test_a_link_ends(bob, admin_of_acme, monkeypatch, what):
    secret = link_of(User.objects.get(pk=bob.user.pk)).secret
    path = f"/password/reset/{secret}/"
    assert visitor().get(path).status_code == 200
    acme = Tenant.objects.get(schema_name="acme")
    if what == "time":
        late = datetime.now() + timedelta(hours=25)  # noqa: DTZ005, as Django counts
        monkeypatch.setattr(PasswordResetTokenGenerator, "_now", lambda _self: late)
    elif what == "password":
        page = bob.page()
        given = {"old_password": PASSWORD, "new_password": NEW}
        assert page.post("/account/password/", given).status_code == 302
    elif what == "mail":
        with in_tenant("acme"):
            person_edit(actor=SYSTEM, user=bob.user, display_name="Bob", email="bob@other.example")
    elif what == "disabled":
        account_disable(tenant=acme, user=bob.user)
        account_enable(tenant=acme, user=bob.user)
    else:
        assert visitor().post("/login/", {"username": "bob", "password": PASSWORD}).status_code == 302
    assert visitor().get(path).status_code == 404
    assert visitor().post(path, {"new_password": "words-of-another"}).status_code == 404


@pytest.fixture
def admin_of_acme(member):
    return member("acme", "tenant_system_administrator", "ada")


@pytest.mark.parametrize("secret", ["x", "x.y", "0" * 32 + ".abc-def", "0" * 32, "." * 8])
def test_a_made_up_link_opens_nothing(secret, bob):
    assert visitor().get(f"/password/reset/{secret}/").status_code == 404
    secret = link_of(User.objects.get(pk=bob.user.pk)).secret
    other = secret[:-1] + ("1" if secret.endswith("0") else "0")
    assert visitor().get(f"/password/reset/{other}/").status_code == 404


def test_a_mail_that_is_refused_is_sent_later_and_given_up_in_the_end(bob, monkeypatch):
    def refuse(_self):
        raise ConnectionRefusedError("no mail server there")

    with monkeypatch.context() as patch:
        patch.setattr("django.core.mail.EmailMessage.send", refuse)
        asked("bob")
        row = PasswordResetRequest.objects.get()
        assert (row.tries, row.handled_at) == (1, None)
    password_resets_send()
    assert mail.outbox == [], "the next try comes later"
    PasswordResetRequest.objects.update(next_try_at=timezone.now())
    password_resets_send()
    assert len(mail.outbox) == 1
    with monkeypatch.context() as patch:
        patch.setattr("django.core.mail.EmailMessage.send", refuse)
        asked("bob")
        for _again in range(5):
            PasswordResetRequest.objects.update(next_try_at=timezone.now())
            password_resets_send()
    assert not PasswordResetRequest.objects.filter(handled_at=None).exists()
    PasswordResetRequest.objects.update(at=timezone.now() - timedelta(days=2))
    password_resets_send()
    assert not PasswordResetRequest.objects.exists(), "old requests are forgotten"


def test_a_forged_port_goes_into_no_link(bob):
    visitor("acme.localhost:6666").post(ASK, {"account": "bob"})
    password_resets_send()
    assert links()[0][0] == "acme.localhost"
