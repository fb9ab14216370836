"""The doors of the portal: guesses, sessions, first passwords, addresses (S9, S11, S18, S19, S22)."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connections
from django.test import Client, override_settings
from django.utils import timezone

from apps.identity.models import ApiToken, SignIn
from apps.identity.pages.sessions import _BEGAN, _USED
from apps.identity.services.users import LOCK_AFTER, LOCK_ALL_AFTER, credentials_check, user_create
from apps.kernel.errors import InvalidInput, Throttled, Unauthenticated
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db
ADMIN = "system_administrator"
LOGIN = "/api/v1/auth/login"


def sign_in(client: Client, username: str, password: str, **more) -> int:
    given = {"username": username, "password": password}
    return client.post(LOGIN, given, "application/json", headers={"host": "localhost"}, **more).status_code


def test_wrong_guesses_lock_out_their_own_address(client, operator):
    """S9: five wrong passwords from anywhere switched an operator off for 15 minutes, as often as one liked."""
    name = operator("operations_manager").user.username
    for _ in range(LOCK_AFTER):
        assert sign_in(client, name, "wrong", REMOTE_ADDR="203.0.113.7") == 401
    assert sign_in(client, name, PASSWORD, REMOTE_ADDR="203.0.113.7") == 429
    assert sign_in(client, name, PASSWORD, REMOTE_ADDR="198.51.100.1") == 200


def test_guesses_from_many_addresses_have_a_bound_too(operator):
    """S9: the wider bound is for the account, whoever asks."""
    user = operator("operations_manager").user
    for number in range(LOCK_ALL_AFTER):
        SignIn.objects.create(
            username=user.username, user=user, address=f"203.0.113.{number}", is_accepted=False
        )
    with pytest.raises(Throttled):
        credentials_check(username=user.username, password=PASSWORD, schema="", address="198.51.100.1")


def test_guesses_at_once_are_counted_one_by_one(committed, operator):
    """S9: of 60 guesses at once 27 were checked, because each looked before any was written."""
    name = operator("operations_manager").user.username
    gate = Barrier(12)

    def guess() -> str:
        try:
            gate.wait()
            credentials_check(username=name, password="wrong", schema="", address="203.0.113.7")
        except (Throttled, Unauthenticated) as error:
            return error.code
        finally:
            connections.close_all()
        return "in"

    with ThreadPoolExecutor(12) as pool:
        codes = list(pool.map(lambda _: guess(), range(12)))
    assert codes.count("unauthenticated") == LOCK_AFTER
    assert codes.count("throttled") == 12 - LOCK_AFTER


@pytest.mark.parametrize("told", ["evil", "", "fe80::1%eth0", "10.0.0.1, evil"])
def test_an_address_that_is_none_is_no_error(client, told):
    """S11: whatever a proxy said of the caller went into the login log unread: 500."""
    assert sign_in(client, "a", "b", REMOTE_ADDR=told) == 401
    assert SignIn.objects.latest("pk").address in (None, "fe80::1")


def test_a_session_ends_when_nobody_uses_it_and_an_operators_sooner(member, operator):
    """S18: a session lived 14 days without use, an operator's too."""
    for person, idle_s, is_kept in (
        (member("acme", "tenant_front_line"), 7 * 3600, True),
        (member("acme", "tenant_front_line"), 9 * 3600, False),
        (operator("operations_manager"), 30 * 60, True),
        (operator("operations_manager"), 2 * 3600, False),
    ):
        client = Client(headers={"host": person.host})
        given = {"username": person.user.username, "password": PASSWORD}
        assert client.post("/login/", given).status_code == 302
        session = client.session
        session[_USED] = int(time.time()) - idle_s
        session.save()
        assert (client.get("/account/password/").status_code == 200) == is_kept


def test_a_page_that_refreshes_itself_keeps_no_session_alive(operator):
    """S18: a page that was left open asked every ten seconds, and its operator was signed in for a week."""
    person = operator("operations_manager")
    client = Client(headers={"host": person.host})
    client.post("/login/", {"username": person.user.username, "password": PASSWORD})
    session = client.session
    session[_USED] = began_s = int(time.time()) - 30 * 60
    session.save()
    assert client.get("/", headers={"hx-request": "true", "weir-refresh": "true"}).status_code == 200
    assert client.session[_USED] == began_s
    client.get("/", headers={"hx-request": "true"})
    assert client.session[_USED] > began_s
    session = client.session
    session[_USED] = int(time.time()) - 2 * 3600
    session.save()
    gone = client.get("/", headers={"hx-request": "true", "weir-refresh": "true"})
    assert gone["HX-Redirect"].startswith("/login/")


def test_a_session_ends_after_a_week_of_use(member):
    """S18: one that is used every hour ends as well."""
    person = member("acme", "tenant_front_line")
    client = Client(headers={"host": person.host})
    client.post("/login/", {"username": person.user.username, "password": PASSWORD})
    session = client.session
    session[_BEGAN] -= 8 * 86400
    session.save()
    assert client.get("/account/password/").status_code == 302


def test_a_key_made_with_a_key_does_not_outlive_it(member):
    """S18: a sign-in token of one day made one of a year."""
    person = member("acme", "tenant_front_line")
    api = person.api()
    soon = timezone.now() + timedelta(days=1)
    ApiToken.objects.filter(user=person.user).update(expires_at=soon)
    assert api.post("/api/v1/tokens", {"name": "long", "days": 366}).status_code == 201
    assert ApiToken.objects.get(name="long").expires_at == soon


def test_a_password_like_the_account_is_refused(operator):
    """S19: `alicealice1` was taken for alice."""
    admin = operator(ADMIN).actor
    with pytest.raises(InvalidInput, match="too weak"):
        user_create(
            actor=admin,
            username="alice9",
            display_name="Alice",
            password="alice9alice9",
        )


def test_the_present_password_cannot_be_guessed_without_end(member):
    """S19: 25 of 25 guesses on the page for changing it were checked."""
    page = member("acme", "tenant_front_line").page()
    given = {"old_password": "wrong", "new_password": "another-horse-7"}
    codes = [page.post("/account/password/", given).status_code for _ in range(LOCK_AFTER + 2)]
    assert codes == [400] * LOCK_AFTER + [429] * 2


def test_a_first_password_is_changed_before_anything_else(operator):
    """S19: the password that an administrator chose stayed for ever."""
    admin = operator(ADMIN)
    user = user_create(
        actor=admin.actor, username="newcomer", display_name="N", password=PASSWORD, is_operator=True
    )
    page = Client(headers={"host": "localhost"})
    assert sign_in(page, "newcomer", PASSWORD) == 403
    page.post("/login/", {"username": "newcomer", "password": PASSWORD})
    assert page.get("/messages/").headers["Location"] == "/account/password/"
    assert page.get("/api/v1/auth/me").json()["error"]["code"] == "first_password"
    assert b"first-password" in page.get("/account/password/").content
    given = {"old_password": PASSWORD, "new_password": "another-horse-7"}
    assert page.post("/account/password/", given).status_code == 302
    user.refresh_from_db()
    assert not user.must_change_password
    assert page.get("/messages/").status_code == 200


def test_the_sign_in_page_answers_head(client):
    """S22: monitors that ask HEAD got 405."""
    assert client.head("/login/", headers={"host": "localhost"}).status_code == 200


@override_settings(DEBUG=False)
@pytest.mark.parametrize(
    ("host", "path"), [("nobody.localhost", "/"), ("localhost", "/x%00"), ("acme.localhost", "/admin/")]
)
def test_refusals_carry_what_a_browser_is_told_to_beware_of(client, host, path):
    """S15: a refusal before any page had no Content-Security-Policy, X-Frame-Options or nosniff."""
    answer = client.get(path, headers={"host": host})
    assert answer.status_code >= 302
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]


def test_the_admin_has_a_policy_and_no_page_may_connect_elsewhere(operator):
    """S21: nothing bounded scripts under /admin/, and any page might open sockets to anywhere."""
    page = operator(ADMIN).page()
    policies = [
        page.get(path).headers["Content-Security-Policy"] for path in ("/admin/", "/account/password/")
    ]
    for policy in policies:
        assert "connect-src 'self';" in policy + ";"
        assert "ws:" not in policy
        assert "frame-ancestors 'none'" in policy
        assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]
        assert "unsafe-eval" not in policy
