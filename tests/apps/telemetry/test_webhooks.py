"""Alarms are told to a server that is there: in each form, signed, once, and never to the portal's own machine."""

import base64
import hashlib
import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone

from apps.audit.models import Record
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from apps.telemetry.errors import TestRefused
from apps.telemetry.models import AlarmDelivery, AlarmRoute
from apps.telemetry.selectors import delivery_list
from apps.telemetry.services import webhooks
from apps.telemetry.services.alarms import alarm_raise, alarm_resolve
from apps.telemetry.services.deliveries import TRIES_MAX
from apps.telemetry.services.routes import route_edit, route_make, route_try
from apps.telemetry.tasks import deliveries_send

pytestmark = pytest.mark.req("POOL-12.19")


class Ear:
    """An HTTP server that keeps what is posted, and answers what a test says."""

    def __init__(self):
        self.heard, self.status, self.answer, self.location = [], 200, b"", ""
        self.drips = False
        ear = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                ear.heard.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                self.send_response(ear.status)
                if ear.location:
                    self.send_header("Location", ear.location)
                self.end_headers()
                self.wfile.write(ear.answer)
                for _turn in range(40 if ear.drips else 0):
                    time.sleep(0.05)
                    self.wfile.write(b".")

            def log_message(self, *_words):
                """Nothing on the terminal."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/robot?key=k-1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def ear(settings):
    settings.WEIR_WEBHOOK_LOCAL_ADDRESSES = True
    ear = Ear()
    yield ear
    ear.server.shutdown()


def fire(key="node-lost:1"):
    return alarm_raise(
        actor=SYSTEM,
        key=key,
        level="critical",
        msgid="Node %(name)s is lost.",
        params={"name": "n1"},
        subject_kind="node",
        subject_id="1",
    )


def route(ear, kind="standard", secret="s3cret", **more):
    made = {"channel": "webhook", "hook_kind": kind, "hook_url": ear.url, "hook_secret": secret}
    return route_make(actor=SYSTEM, **(made | more))


def signed(key, text):
    return base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()


def test_an_alarm_and_its_end_are_posted_once_each_and_signed(db, ear):
    row = route(ear)
    alarm = fire()
    assert deliveries_send() == 1
    assert deliveries_send() == 0
    alarm_resolve(actor=SYSTEM, key="node-lost:1")
    deliveries_send()
    (path, headers, body), (_path, _headers, end) = ear.heard
    assert path == "/robot?key=k-1"
    said = json.loads(body)
    assert (said["type"], said["data"]["alarm"]) == ("alarm.fired", str(alarm.uid))
    assert said["data"]["titles"]["en"] == "Critical: Node n1 is lost."
    assert "n1" in said["data"]["titles"]["zh-hans"]
    id_, at = headers["webhook-id"], headers["webhook-timestamp"]
    assert abs(int(at) - time.time()) < 60
    assert headers["webhook-signature"] == "v1," + signed(b"s3cret", f"{id_}.{at}.".encode() + body)
    assert json.loads(end)["type"] == "alarm.over"
    assert {one.state for one in delivery_list(alarm=alarm.uid)} == {"sent"}
    assert row.hook_host == urlsplit(ear.url).netloc


@pytest.mark.parametrize("kind", ["slack", "wecom", "dingtalk", "feishu"])
def test_a_chats_robot_is_told_in_its_own_form(db, ear, kind):
    ear.answer = b"ok" if kind == "slack" else b'{"code": 0}' if kind == "feishu" else b'{"errcode": 0}'
    route(ear, kind)
    alarm = fire()
    deliveries_send()
    ((path, _headers, body),) = ear.heard
    said, asked = json.loads(body), parse_qs(urlsplit(path).query)
    text = {
        "slack": lambda: said["text"],
        "wecom": lambda: said["text"]["content"],
        "dingtalk": lambda: said["text"]["content"],
        "feishu": lambda: said["content"]["text"],
    }[kind]()
    assert text.count("n1") >= 2, "in both languages"
    assert asked["key"] == ["k-1"]
    if kind == "dingtalk":
        at = asked["timestamp"][0]
        assert asked["sign"] == [signed(b"s3cret", f"{at}\ns3cret".encode())]
    if kind == "feishu":
        assert said["sign"] == signed(f"{said['timestamp']}\ns3cret".encode(), b"")
    assert delivery_list(alarm=alarm.uid).get().state == "sent"


def test_a_robot_that_answers_200_and_takes_nothing_is_tried_again(db, ear):
    ear.answer = b'{"errcode": 310000, "errmsg": "sign not match"}'
    route(ear, "dingtalk")
    alarm = fire()
    deliveries_send()
    row = delivery_list(alarm=alarm.uid).get()
    assert (row.state, row.error) == ("pending", "310000: sign not match")
    ear.answer = b'{"errcode": 0}'
    AlarmDelivery.objects.update(next_try_at=timezone.now())
    deliveries_send()
    assert delivery_list(alarm=alarm.uid).get().state == "sent"


@pytest.mark.parametrize(
    "answer",
    [b'{"errcode": 1, "errmsg": "a\\u0000b\\ud800"}', b"\x00\xff", b'{"errcode": "\\u0000"}'],
    ids=["words", "no JSON", "code"],
)
def test_whatever_a_robot_answers_is_kept_and_its_tries_end(db, ear, answer):
    ear.answer = answer
    route(ear, "wecom")
    alarm = fire()
    for _try in range(TRIES_MAX + 1):
        AlarmDelivery.objects.update(next_try_at=timezone.now())
        deliveries_send()
    row = delivery_list(alarm=alarm.uid).get()
    assert (row.state, row.tries, len(ear.heard)) == ("failed", TRIES_MAX, TRIES_MAX)
    assert row.error


def test_an_answer_without_an_end_is_given_up(db, ear, monkeypatch):
    monkeypatch.setattr(webhooks, "_ANSWER_S", 0.3)
    ear.drips = True
    row = route(ear)
    with pytest.raises(TestRefused, match="did not end its answer"):
        route_try(actor=SYSTEM, route_uid=row.uid)


def test_a_key_of_the_specification_signs_as_its_libraries_do(db, ear, monkeypatch):
    """The example of the Standard Webhooks specification and its libraries."""
    signature = webhooks._signed(
        webhooks._standard_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
        b'msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}',
    )
    assert signature == "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize(("status", "said"), [(500, "HTTP 500 no"), (302, "HTTP 302"), (410, "HTTP 410 no")])
def test_what_is_no_success_is_kept_as_the_reason_and_no_redirect_is_followed(db, ear, status, said):
    ear.status, ear.answer, ear.location = status, b"no", ear.url if status == 302 else ""
    route(ear)
    alarm = fire()
    deliveries_send()
    row = delivery_list(alarm=alarm.uid).get()
    assert (row.state, len(ear.heard)) == ("pending", 1)
    assert row.error.startswith(said)


def test_a_test_says_what_the_server_says(db, ear):
    row = route(ear)
    route_try(actor=SYSTEM, route_uid=row.uid)
    assert json.loads(ear.heard[0][2])["type"] == "test"
    ear.status, ear.answer = 403, b"unknown robot"
    with pytest.raises(TestRefused, match="HTTP 403 unknown robot"):
        route_try(actor=SYSTEM, route_uid=row.uid)
    ear.server.shutdown()
    ear.server.server_close()
    with pytest.raises(TestRefused, match="refused"):
        route_try(actor=SYSTEM, route_uid=row.uid)


@pytest.mark.parametrize(
    "url",
    [
        "", "robot", "ftp://chat.example/robot", "https://", "https://me:pw@chat.example/robot", "http://[::1/robot",
        "http://127.0.0.1/robot", f"https://{'a' * 300}.example/",
        "http://169.254.169.254/latest", "http://[::ffff:127.0.0.1]/", "https://chat.example:x/",
    ],
)  # fmt: skip
def test_an_address_that_is_none_or_the_portals_own_is_refused_and_nothing_is_made(db, url):
    with pytest.raises(InvalidInput) as caught:
        route_make(actor=SYSTEM, channel="webhook", hook_kind="standard", hook_url=url)
    assert "hook_url" in caught.value.fields
    assert not AlarmRoute.objects.exists()


def test_a_name_that_leads_to_the_portals_machine_is_not_called(db, ear, settings):
    row = route(ear, hook_url=ear.url.replace("127.0.0.1", "localhost"))
    settings.WEIR_WEBHOOK_LOCAL_ADDRESSES = False
    with pytest.raises(TestRefused, match="localhost leads to the portal's own machine"):
        route_try(actor=SYSTEM, route_uid=row.uid)
    assert ear.heard == []


def test_a_kind_goes_with_a_webhook_and_with_nothing_else(db, ear):
    for wrong in (
        {"channel": "webhook", "hook_kind": ""},
        {"channel": "email", "addresses": ["a@example.org"]},
    ):
        with pytest.raises(InvalidInput) as caught:
            route_make(actor=SYSTEM, **({"hook_kind": "slack", "hook_url": ear.url} | wrong))
        assert "hook_kind" in caught.value.fields
    mail = route_make(actor=SYSTEM, channel="email", addresses=["a@example.org"])
    with pytest.raises(InvalidInput):
        route_edit(actor=SYSTEM, route_uid=mail.uid, changes={"hook_url": ear.url})


def test_address_and_secret_are_sealed_and_in_no_record_and_no_log(db, ear, caplog):
    row = route(ear)
    route_edit(actor=SYSTEM, route_uid=row.uid, changes={"hook_secret": "0ther"})
    row.refresh_from_db()
    assert "k-1" not in row.hook_sealed
    for record in Record.objects.all():
        kept = str({name: value for name, value in vars(record).items() if not name.startswith("_")})
        for secret in ("k-1", "s3cret", "0ther"):
            assert secret not in kept
    route_try(actor=SYSTEM, route_uid=row.uid)
    assert "k-1" not in caplog.text
    _path, headers, body = ear.heard[0]
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    assert headers["webhook-signature"] == "v1," + signed(b"0ther", text)
