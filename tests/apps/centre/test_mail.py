"""How mail goes: by the environment, else by the centre's own server, else not at all, and then it is said."""

import pytest
from aiosmtpd.controller import Controller
from django.core.mail import EmailMessage

from apps.centre.errors import MailNotSet, MailRefused
from apps.centre.mail_address import MailFolder, MailServer, mail_address
from apps.centre.models import Centre
from apps.centre.selectors import mail_way
from apps.centre.services import MailGiven, centre_mail_set, centre_mail_try
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from portal.devstack.servers.ports import any_free

pytestmark = pytest.mark.django_db
GIVEN = {"host": "mail.example.org", "sender": "weir@example.org"}


class Box:
    def __init__(self):
        self.mails = []

    async def handle_DATA(self, server, session, envelope):
        self.mails.append((envelope.mail_from, list(envelope.rcpt_tos)))
        return "250 taken"


@pytest.fixture(autouse=True)
def real_way(settings):
    """Django's tests keep mail in memory: here it goes as the portal sends it."""
    settings.EMAIL_BACKEND = "apps.centre.mail.Backend"
    settings.WEIR_EMAIL_URL = ""


@pytest.fixture
def box():
    box = Box()
    server = Controller(box, hostname="127.0.0.1", port=any_free())
    server.start()
    box.port = server.port
    yield box
    server.stop()


def put(**more):
    return centre_mail_set(actor=SYSTEM, mail=MailGiven(**GIVEN | more))


def test_an_address_says_server_protection_and_account():
    assert mail_address("smtp+tls://a%40b:p%2Fw@mail.example.org") == MailServer(
        "mail.example.org", 587, "starttls", "a@b", "p/w"
    )
    assert mail_address("smtps://h:1465") == MailServer("h", 1465, "tls")
    assert mail_address("file:///a%20b") == MailFolder("/a b")
    assert mail_address("") is None
    for wrong in ("http://h", "smtp://", "mail.example.org"):
        with pytest.raises(ValueError, match="smtp://host:25"):
            mail_address(wrong)


def test_without_a_server_nothing_is_sent_and_it_is_said():
    assert mail_way() is None
    with pytest.raises(MailNotSet, match="no mail server"):
        EmailMessage("s", "b", to=["a@example.org"]).send()
    with pytest.raises(MailRefused, match="no mail server"):
        centre_mail_try(actor=SYSTEM, to="a@example.org")


def test_the_centres_server_takes_mail_from_its_sender(box):
    put(host="127.0.0.1", port=box.port, security="none")
    centre_mail_try(actor=SYSTEM, to="a@example.org")
    EmailMessage("s", "b", from_email="own@example.org", to=["b@example.org"]).send()
    assert box.mails == [
        ("weir@example.org", ["a@example.org"]),
        ("own@example.org", ["b@example.org"]),
    ]
    centre_mail_set(actor=SYSTEM, mail=None)
    assert mail_way() is None


def test_the_environment_comes_first(settings, box):
    put(host="127.0.0.1", port=any_free(), security="none")
    settings.WEIR_EMAIL_URL = f"smtp://127.0.0.1:{box.port}"
    centre_mail_try(actor=SYSTEM, to="a@example.org")
    assert box.mails == [(settings.DEFAULT_FROM_EMAIL, ["a@example.org"])]


def test_a_server_that_is_away_is_named_by_what_it_says():
    put(host="127.0.0.1", port=any_free(), security="none")
    with pytest.raises(MailRefused, match="refused"):
        centre_mail_try(actor=SYSTEM, to="a@example.org")


def test_a_password_is_kept_sealed_and_goes_to_no_other_server():
    put(username="weir", password="geheim-9")
    kept = Centre.objects.get().mail_password_sealed
    assert kept
    assert "geheim" not in kept
    assert mail_way().password == "geheim-9"
    assert "geheim" not in repr(mail_way())
    put(username="weir", security="tls")
    assert (mail_way().password, mail_way().security) == ("geheim-9", "tls")
    for other in ({"host": "thief.example.org"}, {"username": "other"}, {"port": 2525}):
        with pytest.raises(InvalidInput) as refusal:
            put(**{"username": "weir"} | other)
        assert list(refusal.value.fields) == ["mail_password"]
    put()
    assert mail_way().password == ""


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"host": ""}, "mail_host"),
        ({"host": "smtp://mail.example.org"}, "mail_host"),
        ({"host": "two words"}, "mail_host"),
        ({"sender": ""}, "mail_sender"),
        ({"sender": "nobody"}, "mail_sender"),
        ({"port": 0}, "mail_port"),
        ({"port": 65536}, "mail_port"),
        ({"security": "rot13"}, "mail_security"),
    ],
)
def test_a_server_that_cannot_be_is_refused_by_field(wrong, field):
    with pytest.raises(InvalidInput) as refusal:
        put(**wrong)
    assert list(refusal.value.fields) == [field]
    assert mail_way() is None
