"""The first minutes of a centre: set up once, by page, API or command, by who has the token, all of it or nothing."""

import io
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from rest_framework.test import APIClient

from apps.audit.models import Record
from apps.centre.errors import AlreadySetUp
from apps.centre.models import Centre
from apps.centre.setup_token import setup_token_is, setup_token_make
from apps.console.centre.services import centre_setup
from apps.identity.models import User
from apps.kernel.actor import SYSTEM
from apps.scheduling.models import Queue
from portal.demo.seed import seed_all
from tests.apps.centre.empty import centre_empty
from tests.conftest import PASSWORD

GIVEN = {
    "name": "Lakeside Centre",
    "language": "en",
    "timezone": "Europe/Berlin",
    "display_name": "Ada First",
    "username": "ada",
    "email": "ada@example.org",
    "password": PASSWORD,
    "password_again": PASSWORD,
}
API = {key: value for key, value in GIVEN.items() if key != "password_again"}


@pytest.fixture
def token(settings, tmp_path: Path) -> str:
    settings.WEIR_SETUP_TOKEN = tmp_path / "run" / "setup.token"
    return setup_token_make()


@pytest.fixture
def empty(db, token: str) -> None:
    centre_empty()


@pytest.fixture
def page() -> Client:
    return Client(headers={"host": "localhost"})


def api() -> APIClient:
    return APIClient(headers={"host": "localhost"})


def text_of(answer, status=200) -> str:
    assert answer.status_code == status, answer.content[:500]
    return answer.content.decode()


def nobody() -> bool:
    return not User.objects.exists() and not Centre.objects.exists() and not Queue.objects.exists()


# --- before ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/login/", "/admin/", "/pool/nodes/", "/account/password/", "/none/"])
def test_every_page_of_an_empty_centre_leads_to_its_setup(empty, page, path):
    answer = page.get(path)
    assert (answer.status_code, answer["Location"]) == (302, "/setup/")


def test_the_api_of_an_empty_centre_names_the_cure(empty, page):
    for path in ("/api/v1/me", "/api/v1/tenants", "/api/v1/auth/login"):
        answer = page.post(path, {}, content_type="application/json")
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_set_up")
        assert "setup_link" in answer.json()["error"]["cure"]
    assert page.get("/healthz").status_code == 200


def test_the_token_is_for_who_can_read_the_portals_files(empty, settings):
    assert stat.S_IMODE(Path(settings.WEIR_SETUP_TOKEN).stat().st_mode) == 0o600
    assert setup_token_make() == Path(settings.WEIR_SETUP_TOKEN).read_text().strip()
    assert not setup_token_is("")
    Path(settings.WEIR_SETUP_TOKEN).write_text("")
    assert not setup_token_is("")


def test_without_the_token_there_is_no_form(empty, page, token):
    assert 'data-test="setup-command"' in text_of(page.get("/setup/"))
    for wrong, answered in (
        ("x", (403, "setup_token_unknown")),
        (token[:-1], (403, "setup_token_unknown")),
        (token + "x", (403, "setup_token_unknown")),
        ("²", (403, "setup_token_unknown")),
        ("\x7f", (400, "invalid_input")),
    ):
        found = text_of(page.get("/setup/", {"token": wrong}), 403)
        assert 'data-code="setup_token_unknown"' in found
        assert 'id="setup-form"' not in found
        text_of(page.post("/setup/", GIVEN | {"token": wrong}), 403)
        answer = api().post("/api/v1/setup", API | {"token": wrong})
        assert (answer.status_code, answer.json()["error"]["code"]) == answered
    text_of(page.post("/setup/", GIVEN), 403)
    assert nobody()


def test_the_page_speaks_both_languages_and_says_what_cannot_be_chosen(empty, page, token):
    for language, words in (("en", "Set up your computing centre"), ("zh-hans", "设置您的计算中心")):
        page.cookies["django_language"] = language
        found = text_of(page.get("/setup/", {"token": token}))
        assert words in found
        assert "<strong>CNY</strong>" in found
        assert 'name="currency"' not in found


# --- once ------------------------------------------------------------------------------------------------------


def test_the_page_makes_centre_and_first_operator_and_signs_him_in(
    empty, page, token, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        answer = page.post("/setup/", GIVEN | {"token": token})
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert answer.cookies["django_language"].value == "en"
    ada, centre = User.objects.get(), Centre.objects.get()
    assert (ada.is_operator, ada.must_change_password, ada.email) == (True, False, "ada@example.org")
    assert (centre.name, centre.timezone, centre.mail_host) == ("Lakeside Centre", "Europe/Berlin", "")
    home = text_of(page.get("/"))
    assert "Lakeside Centre" in home
    assert "<title>" in home
    assert {row.role.code for row in ada.operator_bindings.all()} == {
        "system_administrator",
        "operations_manager",
    }
    assert Queue.objects.get().is_default
    assert not setup_token_is(token)
    kept = Record.objects.get(name="centre_setup")
    assert PASSWORD not in str(kept.detail)


def test_a_second_time_is_refused_however_it_is_tried(empty, page, token, monkeypatch):
    page.post("/setup/", GIVEN | {"token": token})
    other = Client(headers={"host": "localhost"})
    assert other.get("/setup/", {"token": token})["Location"] == "/login/"
    again = GIVEN | {"username": "eve", "token": token}
    assert 'data-code="already_set_up"' in text_of(other.post("/setup/", again), 409)
    answer = api().post("/api/v1/setup", API | {"username": "eve", "token": token})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "already_set_up")
    monkeypatch.setenv("WEIR_PASSWORD", PASSWORD)
    with pytest.raises(CommandError, match="set up already"):
        call_command("setup", "eve")
    assert User.objects.get().username == "ada"


def test_of_two_at_the_same_instant_one_has_it(committed, token):
    centre_empty()
    start = Barrier(2)

    def one(username: str) -> str:
        start.wait()
        given = {key: GIVEN[key] for key in ("display_name", "password", "language", "timezone")}
        try:
            centre_setup(actor=SYSTEM, username=username, **given)
        except AlreadySetUp:
            return "refused"
        finally:
            connection.close()
        return username

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(one, ("ada", "eve")))
    (winner,) = set(found) - {"refused"}
    assert found.count("refused") == 1
    assert [user.username for user in User.objects.all()] == [winner]
    assert not setup_token_is(token)


WRONG = [
    ({"password_again": "another-horse-9"}, "password_again"),
    ({"password": "short-1", "password_again": "short-1"}, "password"),
    ({"password": "1234567890", "password_again": "1234567890"}, "password"),
    ({"password": "ada@example.org", "password_again": "ada@example.org"}, "password"),
    ({"timezone": "Mars/Olympus"}, "timezone"),
    ({"language": "tlh"}, "language"),
    ({"username": ""}, "username"),
    ({"username": "two words"}, "username"),
    ({"username": "x" * 65}, "username"),
    ({"display_name": "  "}, "display_name"),
    ({"email": "nobody"}, "email"),
    ({"name": "x" * 81}, "name"),
    ({"mail_host": "mail.example.org"}, "mail_sender"),
    ({"mail_sender": "a@example.org"}, "mail_host"),
    ({"mail_host": "http://x", "mail_sender": "a@example.org"}, "mail_host"),
    ({"mail_host": "h", "mail_sender": "a@example.org", "mail_port": "99999"}, "mail_port"),
]


@pytest.mark.parametrize(("wrong", "field"), WRONG)
def test_what_is_wrong_is_said_beside_its_field_and_nothing_is_made(empty, page, token, wrong, field):
    found = text_of(page.post("/setup/", GIVEN | {"token": token} | wrong), 400)
    assert f'data-test="error-{field}"' in found
    if "name" not in wrong:
        assert 'value="Lakeside Centre"' in found
    assert PASSWORD not in found
    assert nobody()
    assert setup_token_is(token)


def test_a_mail_server_may_come_with_it(empty, page, token):
    mail = {
        "mail_host": "mail.example.org",
        "mail_sender": "weir@example.org",
        "mail_username": "weir",
        "mail_password": "geheim-9",
    }
    assert page.post("/setup/", GIVEN | {"token": token} | mail).status_code == 302
    row = Centre.objects.get()
    assert (row.mail_host, row.mail_port, row.mail_security) == ("mail.example.org", 587, "starttls")


# --- by API and command ----------------------------------------------------------------------------------------


def test_the_api_sets_it_up_and_lets_the_operator_in(empty, token):
    mail = {"host": "mail.example.org", "sender": "weir@example.org"}
    answer = api().post("/api/v1/setup", API | {"token": token, "mail": mail})
    assert (answer.status_code, answer.json()) == (201, {"username": "ada", "name": "Lakeside Centre"})
    given = {"username": "ada", "password": PASSWORD}
    signed_in = api().post("/api/v1/auth/login", given)
    assert signed_in.status_code == 200
    client = api()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {signed_in.json()['token']}")
    found = client.get("/api/v1/centre").json()
    assert (found["name"], found["currency"], found["mail"]["host"]) == (
        "Lakeside Centre",
        "CNY",
        "mail.example.org",
    )


@pytest.mark.parametrize(
    "wrong", [{"password": "short-1"}, {"timezone": "Mars"}, {"language": "tlh"}, {"mail": {}}]
)
def test_the_api_refuses_what_the_page_refuses(empty, token, wrong):
    answer = api().post("/api/v1/setup", API | {"token": token} | wrong)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_input")
    assert nobody()


def test_the_command_does_the_same_without_a_page(
    empty, token, monkeypatch, django_capture_on_commit_callbacks
):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))
    said = io.StringIO()
    with django_capture_on_commit_callbacks(execute=True):
        call_command("setup", "ada", "--centre", "Lakeside", "--timezone", "Europe/Berlin", stdout=said)
    assert said.getvalue() == "Lakeside is set up. ada signs in at http://localhost:8000/\n"
    assert User.objects.get().check_password(PASSWORD)
    assert not setup_token_is(token)


@pytest.mark.parametrize(
    ("password", "arguments", "words"),
    [
        ("", (), "weak"),
        ("12345", (), "weak"),
        (PASSWORD, ("--timezone", "Mars"), "Mars is not a time zone"),
        (PASSWORD, ("--mail-host", "mail.example.org"), "mail_sender"),
    ],
)
def test_the_command_refuses_on_one_line_and_makes_nothing(empty, monkeypatch, password, arguments, words):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{password}\n"))
    with pytest.raises(CommandError, match=words) as refusal:
        call_command("setup", "ada", *arguments)
    assert "\n" not in str(refusal.value)
    assert nobody()


def test_the_link_is_told_while_there_is_something_to_set_up(empty, token):
    said = io.StringIO()
    call_command("setup_link", stdout=said)
    assert f"http://localhost:8000/setup/?token={token}\n" in said.getvalue()
    centre_setup(
        actor=SYSTEM, username="ada", display_name="Ada", password=PASSWORD, language="en", timezone="UTC"
    )
    said = io.StringIO()
    call_command("setup_link", stdout=said)
    assert "token" not in said.getvalue()


def test_one_more_operator_needs_a_centre_that_is_set_up(empty, monkeypatch):
    monkeypatch.setenv("WEIR_PASSWORD", PASSWORD)
    with pytest.raises(CommandError, match=r"`manage\.py setup`"):
        call_command("operator_add", "eve")
    assert nobody()


def test_the_demo_comes_by_the_same_door_and_stays_out_of_a_centre_of_its_own(empty, settings):
    seed_all(PASSWORD)
    assert Record.objects.filter(name="centre_setup").count() == 1
    admin = User.objects.get(username="admin")
    assert [row.role.code for row in admin.operator_bindings.all()] == [
        "system_administrator",
        "cluster_administrator",
    ]
    seed_all(PASSWORD)
    assert Record.objects.filter(name="centre_setup").count() == 1


def test_the_demo_is_not_poured_into_somebodys_centre(db, tmp_path, monkeypatch):
    monkeypatch.setattr("portal.management.commands.seed._password_file", lambda: tmp_path / "demo.password")
    with pytest.raises(CommandError, match="make serve"):
        call_command("seed")
    assert not User.objects.exists()
