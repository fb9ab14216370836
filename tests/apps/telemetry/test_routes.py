"""Alarms are told: in-site to who holds a role, by e-mail over a real mail server; each once, each kept on record."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from email import message_from_bytes
from email.header import decode_header, make_header

import pytest
from aiosmtpd.controller import Controller
from django.db import connection
from django.utils import timezone, translation

from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Forbidden, InvalidInput, NotFound
from apps.notices.models import Message
from apps.telemetry.models import AlarmDelivery, AlarmRoute
from apps.telemetry.selectors import delivery_list, route_list
from apps.telemetry.services.alarms import alarm_raise, alarm_resolve
from apps.telemetry.services.deliveries import TRIES_MAX
from apps.telemetry.services.routes import route_edit, route_make, route_remove
from apps.telemetry.tasks import deliveries_send
from portal.devstack.servers.ports import any_free

pytestmark = pytest.mark.req("POOL-12.19")


class Box:
    """A mail server's handler that keeps what it takes; while `refuses` is set it takes nothing."""

    def __init__(self):
        self.mails, self.refuses = [], ""

    async def handle_DATA(self, server, session, envelope):
        if self.refuses:
            return self.refuses
        self.mails.append((list(envelope.rcpt_tos), message_from_bytes(envelope.content)))
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


def fire(key="node-lost:1", level="critical", name="n1"):
    return alarm_raise(
        actor=SYSTEM,
        key=key,
        level=level,
        msgid="Node %(name)s is lost.",
        params={"name": name},
        subject_kind="node",
        subject_id="1",
    )


def route(channel="email", **more):
    more.setdefault("addresses" if channel == "email" else "roles", ["ops@example.org"])
    return route_make(actor=SYSTEM, channel=channel, **more)


def due():
    """As if the time of the next try had come."""
    AlarmDelivery.objects.update(next_try_at=timezone.now() - timedelta(seconds=1))


def test_an_alarm_is_mailed_once_to_all_addresses_in_both_languages(db, box):
    route(addresses=["a@example.org", "b@example.org"], severities=["critical"])
    alarm = fire()
    fire()
    fire("other:1", level="minor")
    assert deliveries_send() == 1
    assert deliveries_send() == 0
    ((receivers, mail),) = box.mails
    assert sorted(receivers) == ["a@example.org", "b@example.org"]
    assert str(make_header(decode_header(mail["Subject"]))).startswith("[Weir] ")
    text = mail.get_payload(decode=True).decode()
    assert text.count("Node n1 is lost.") == 2
    assert "Critical" in text
    assert str(alarm.uid) in text
    (row,) = delivery_list(alarm=alarm.uid)
    assert (row.state, row.error, row.tries) == ("sent", "", 1)
    assert row.sent_at is not None


def test_a_mail_server_that_refuses_is_tried_again_and_its_word_is_kept(db, box):
    route()
    alarm = fire()
    box.refuses = "451 4.7.1 greylisted, try again later"
    deliveries_send()
    row = delivery_list(alarm=alarm.uid).get()
    assert (row.state, row.tries) == ("pending", 1)
    assert "greylisted" in row.error
    assert row.next_try_at > timezone.now()
    assert deliveries_send() == 0, "not before its time"
    box.refuses = ""
    due()
    assert deliveries_send() == 1
    row.refresh_from_db()
    assert (row.state, row.error, row.tries, len(box.mails)) == ("sent", "", 2, 1)


def test_a_mail_server_that_is_away_is_given_up_after_the_last_try(db, settings):
    settings.EMAIL_BACKEND = "apps.centre.mail.Backend"
    settings.WEIR_EMAIL_URL = f"smtp://127.0.0.1:{any_free()}"
    route()
    alarm = fire()
    for _try in range(TRIES_MAX + 2):
        due()
        deliveries_send()
    row = delivery_list(alarm=alarm.uid).get()
    assert (row.state, row.tries) == ("failed", TRIES_MAX)
    assert "refused" in row.error.lower()


def test_what_a_name_holds_cannot_add_a_header(db, box):
    route()
    fire(name="n1\r\nBcc: thief@example.org")
    assert deliveries_send() == 1
    ((receivers, mail),) = box.mails
    assert receivers == ["ops@example.org"]
    assert mail["Bcc"] is None


def test_an_in_site_message_reaches_who_holds_the_role_and_nobody_else(db, operator):
    admin, other = operator("cluster_administrator"), operator("executive")
    route("in_site", roles=["cluster_administrator"])
    alarm = fire()
    deliveries_send()
    due()
    deliveries_send()
    (message,) = Message.objects.filter(user=admin.user)
    assert (message.title, message.link) == ("Node n1 is lost.", f"/alarms/{alarm.uid}/")
    assert not Message.objects.filter(user=other.user).exists()
    assert delivery_list().get().state == "sent"


def test_a_role_that_nobody_holds_is_told_as_an_error(db):
    route("in_site", roles=["cluster_administrator"])
    fire()
    deliveries_send()
    row = delivery_list().get()
    assert row.state == "pending"
    assert row.error


def test_a_route_that_is_off_or_removed_tells_nobody(db, box):
    off, gone = route(is_enabled=False), route(addresses=["x@example.org"])
    fire("a:1")
    route_remove(actor=SYSTEM, route_uid=gone.uid)
    fire("b:1")
    assert deliveries_send() == 0
    assert box.mails == []
    assert delivery_list().get().state == "failed", (
        "what was pending when the route went is not sent any more"
    )
    assert list(route_list()) == [off]
    with pytest.raises(NotFound):
        route_edit(actor=SYSTEM, route_uid=gone.uid, changes={"is_enabled": True})


def test_many_senders_send_one_mail(committed, box):
    route()
    fire()

    def go(_):
        try:
            return deliveries_send()
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(go, range(12))) == 1
    assert len(box.mails) == 1


def over():
    alarm_resolve(actor=SYSTEM, key="node-lost:1")


def body(mail):
    return mail.get_payload(decode=True).decode()


def test_an_alarm_that_ended_before_anybody_was_told_is_told_once_with_its_end(db, box):
    route()
    fire()
    over()
    assert deliveries_send() == 1
    ((_receivers, mail),) = box.mails
    assert "Over since: " in body(mail)
    assert delivery_list().count() == 1


def test_who_was_mailed_an_alarm_is_mailed_its_end_once_in_both_languages(db, box):
    route()
    route(addresses=["late@example.org"], is_enabled=False)
    alarm = fire()
    assert deliveries_send() == 1
    over()
    over()
    assert deliveries_send() == 1
    assert deliveries_send() == 0
    first, last = (mail for _receivers, mail in box.mails)
    assert "Over since" not in body(first)
    assert "It is over: Node n1 is lost." in body(last)
    assert body(last).count("Node n1 is lost.") == 2
    assert first["References"] == last["References"]
    assert first["Message-ID"] != last["Message-ID"]
    assert [(row.is_over, row.state) for row in delivery_list(alarm=alarm.uid)] == [
        (True, "sent"),
        (False, "sent"),
    ]
    fire()
    assert deliveries_send() == 1, "it comes back: another alarm, told anew"


def test_the_end_of_an_alarm_is_an_in_site_message_in_the_readers_language(db, operator):
    admin = operator("cluster_administrator")
    route("in_site", roles=["cluster_administrator"])
    alarm = fire()
    deliveries_send()
    over()
    deliveries_send()
    last, first = Message.objects.filter(user=admin.user).order_by("-pk")
    with translation.override("en"):
        assert (first.title, last.title) == ("Node n1 is lost.", "It is over: Node n1 is lost.")
    assert last.link == f"/alarms/{alarm.uid}/"
    assert last.params == {"alarm": {"msgid": "Node %(name)s is lost.", "params": {"name": "n1"}}}


def test_that_it_is_over_waits_for_the_alarm_and_is_not_told_without_it(db, box):
    route()
    alarm = fire()
    box.refuses = "451 4.7.1 greylisted, try again later"
    deliveries_send()
    over()
    assert deliveries_send() == 0, "the first message is to be tried again first"
    for _try in range(TRIES_MAX):
        due()
        deliveries_send()
    rows = {row.is_over: row for row in delivery_list(alarm=alarm.uid)}
    assert (rows[False].state, rows[True].state, rows[True].tries) == ("failed", "failed", 0)
    assert rows[True].error
    assert box.mails == []


def test_a_route_switched_off_meanwhile_tells_no_end(db, box):
    row = route()
    fire()
    deliveries_send()
    route_edit(actor=SYSTEM, route_uid=row.uid, changes={"is_enabled": False})
    over()
    assert (deliveries_send(), len(box.mails)) == (0, 1)


def test_bad_routes_are_refused_and_change_nothing(db, operator):
    for wrong in (
        {"channel": "pigeon"},
        {"channel": "email", "addresses": []},
        {"channel": "email", "addresses": ["nobody"]},
        {"channel": "email", "addresses": [f"a{n}@example.org" for n in range(51)]},
        {"channel": "in_site", "roles": []},
        {"channel": "in_site", "roles": ["emperor"]},
        {"channel": "email", "addresses": ["a@example.org"], "severities": ["loud"]},
    ):
        with pytest.raises(InvalidInput):
            route_make(actor=SYSTEM, **wrong)
    assert not AlarmRoute.objects.exists()
    row = route()
    for changes in ({"channel": "in_site"}, {"addresses": []}, {"severities": ["loud"]}):
        with pytest.raises(InvalidInput):
            route_edit(actor=SYSTEM, route_uid=row.uid, changes=changes)
    with pytest.raises(Forbidden):
        route_edit(actor=operator("executive").actor, route_uid=row.uid, changes={})
    row.refresh_from_db()
    assert row.addresses == ["ops@example.org"]


def test_the_api_makes_edits_and_removes_routes_and_shows_deliveries(db, operator, box):
    admin = operator("system_administrator").api()
    body = {"channel": "email", "addresses": ["a@example.org"], "severities": ["critical"], "name": "night"}
    answer = admin.post("/api/v1/alarm-routes", body)
    assert answer.status_code == 201, answer.content
    uid = answer.json()["uid"]
    answer = admin.patch(f"/api/v1/alarm-routes/{uid}", {"severities": []})
    assert (answer.status_code, answer.json()["severities"]) == (200, [])
    alarm = fire(level="minor")
    deliveries_send()
    (row,) = admin.get("/api/v1/alarm-deliveries", {"alarm": str(alarm.uid)}).json()["results"]
    assert (row["state"], row["route"], row["channel"], row["addresses"]) == (
        "sent", uid, "email", ["a@example.org"],
    )  # fmt: skip
    assert admin.get(f"/api/v1/alarms/{alarm.uid}").json()["deliveries"][0]["uid"] == row["uid"]
    assert admin.get("/api/v1/alarm-deliveries", {"state": "failed"}).json()["results"] == []
    assert admin.get("/api/v1/alarm-deliveries", {"alarm": "x"}).status_code == 400
    assert operator("executive").api().delete(f"/api/v1/alarm-routes/{uid}").status_code == 403
    assert admin.delete(f"/api/v1/alarm-routes/{uid}").status_code == 204
    assert admin.get("/api/v1/alarm-routes").json()["results"] == []
    assert admin.post("/api/v1/alarm-routes", body | {"addresses": ["x"]}).status_code == 400
