"""Attacks by what is sent: random bodies and queries, script in every text, forged tickets, lying nodes."""

import csv
import io
import json
import re
import time
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from django.core import signing
from django.db import transaction
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from apps.billing.models import UsageRecord
from apps.fleet.models import Slice
from apps.identity.models import User
from apps.kernel.actor import SYSTEM
from apps.notices.consumers import LiveConsumer
from apps.notices.push import TOPICS_MAX_AGE_S, topics_sign
from apps.scheduling.services.workloads.submission.order_work import workload_submit
from apps.scheduling.types import Amounts, OrderedWork
from apps.tenancy.models import Tenant
from node_agent.protocol.messages import LogChunk, UsageReport
from tests.contracts.test_bad_input import line, message, refused, said
from tests.contracts.test_isolation import ONE_UID
from tests.contracts.test_routes import routes
from tests.examples import examples
from tests.factories.node import SpokenNode
from tests.factories.world import good, rows, tick

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("world")]

API = "/api/v1"
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"

# --- random input ----------------------------------------------------------------------------------------------

ROUTES = [
    (path, pattern.callback.view_class)
    for path, pattern in routes("portal.urls_api")
    if path.startswith("api/v1/")
]
PAGES = [
    path
    for path, _pattern in routes("portal.urls_tenant")
    if not path.startswith(("api/", "i18n/", "logout"))
]
OPERATOR_PAGES = [
    path
    for path, _pattern in routes("portal.urls_provider")
    if not path.startswith(("api/", "i18n/", "logout", "^"))
]
WIRE = ("/openapi/", "/scheduler/")
NAMES = """
    lines commodity amounts count duration_s business_system remark data coupon cart reason decision comment until
    amount reference username password tenant days name note ttl_s parent organization number description schema
    timezone instances compute_percent effective_from component tiers mode unit key file duration duration_unit uid
    line_0_commodity line_0_count amount_compute_share line_0_amount_cpu act role next coupon_uid
""".split()  # noqa: SIM905
QUERY = """
    search state tab category cursor page_size page offset limit dimension since until organization business_system
    kind tenant assignee is_open no node level claimable supplier is_read from_at until_at schema subject_kind
    applicant template view month days
""".split()  # noqa: SIM905
TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["", "0", "-1", "1e400", "NaN", "9" * 4400, "x" * 3000, "true", "2026-01-01", "0001-01-01T00:00:00+14:00",
         "9999-12-31T23:59:59-14:00", "%", "'", "\\", "\x00", "\ud800", "../..", EVIL, str(UUID(int=0)), "acme"]
    ),
)  # fmt: skip
SCALARS = st.one_of(
    TEXTS,
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([2**31, 2**63, -(2**63), 10**40, 1e308, -0.0]),
    st.floats(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | TEXTS, inner, max_size=4)
    ),
    max_leaves=8,
)
BODIES = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=7)
QUERIES = st.dictionaries(st.sampled_from(QUERY), TEXTS, max_size=3)
FAST = settings(
    max_examples=examples(140), deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


def address(world, data, path):
    own = sorted(world.uids["acme"].values())
    return "/" + ONE_UID.sub(lambda _found: data.draw(st.sampled_from([*own, str(uuid4())])), path)


def sound(answer):
    """No failure of the server, and every refusal of the API in the one shape, or in that of the network's standard."""
    assert answer.status_code < 500, answer.content[:500]
    if answer.status_code >= 400 and answer["Content-Type"].startswith("application/json"):
        if answer.wsgi_request.path.startswith(WIRE):
            told = answer.json()
            assert told.keys() == {"status", "code", "errorMsg", "data"}
            assert told["status"] == answer.status_code
            assert told["code"] not in ("", "OK")
            assert told["errorMsg"]
        else:
            refused(answer, answer.status_code)


def safely(text):
    """What an HTTP client can send at all."""
    return text.encode("utf-8", "replace").decode()


@pytest.mark.req("PLAT-TEN-2")
def test_no_body_and_no_query_breaks_the_api(world):
    clients = {name: world.api(name) for name in ("alice", "olga", "sam", "ops", "admin")}

    @FAST
    @seed(2026)
    @given(data=st.data())
    def attack(data):
        path, view = data.draw(st.sampled_from(ROUTES))
        client = clients[data.draw(st.sampled_from(sorted(clients)))]
        method = data.draw(
            st.sampled_from([m for m in ("get", "post", "put", "patch", "delete") if hasattr(view, m)])
        )
        url = address(world, data, path)
        with transaction.atomic():
            if method == "get":
                query = {name: safely(text) for name, text in data.draw(QUERIES).items()}
                answer = client.get(url, query)
            else:
                body = json.dumps(data.draw(BODIES | VALUES))
                answer = getattr(client, method)(url, body, content_type="application/json")
            transaction.set_rollback(True)
        sound(answer)
        assert answer.status_code < 400 or answer["Content-Type"] == "application/json", url

    attack()


@pytest.mark.req("PLAT-TEN-2")
def test_no_form_and_no_query_breaks_a_page(world):
    tenant = {name: world.page(name) for name in ("alice", "olga", "sam")}
    operators = {name: world.page(name) for name in ("ops", "admin")}

    @FAST
    @seed(2026)
    @given(data=st.data())
    def attack(data):
        is_operator = data.draw(st.booleans())
        people, paths = (operators, OPERATOR_PAGES) if is_operator else (tenant, PAGES)
        client = people[data.draw(st.sampled_from(sorted(people)))]
        path = data.draw(st.sampled_from(paths))
        if re.search(r"<path:|\(\?P", path):
            return
        url = address(world, data, path)
        with transaction.atomic():
            if data.draw(st.booleans()):
                answer = client.get(url, {name: safely(text) for name, text in data.draw(QUERIES).items()})
            else:
                body = {
                    name: safely(text)
                    for name, text in data.draw(st.dictionaries(st.sampled_from(NAMES), TEXTS)).items()
                }
                answer = client.post(url, body)
            transaction.set_rollback(True)
        sound(answer)

    attack()


@pytest.mark.req("PLAT-OPS-22")
def test_no_message_of_an_agent_breaks_the_server(world):
    fields = sorted({*message(world), "slices", "usage", "logs", "x"})

    @FAST
    @seed(2026)
    @given(wrong=st.dictionaries(st.sampled_from(fields), VALUES, min_size=1, max_size=3))
    def attack(wrong):
        with transaction.atomic():
            answer = said(world, json.dumps(message(world, **wrong)))
            transaction.set_rollback(True)
        sound(answer)

    attack()


# --- script in texts -------------------------------------------------------------------------------------------


# Which identifiers a page is opened with, by the first part of its address.
SHOWN = {
    "forms": "evil_form waiting_form", "orders": "order", "tasks": "evil_task", "resources": "resource",
    "billing": "bill", "tickets": "ticket", "commodities": "commodity", "organizations": "organization evil_system",
    "messages": "message",
}  # fmt: skip


def walked(client, world, paths):
    for path in paths:
        kinds = SHOWN.get(path.split("/")[0], "").split() if ONE_UID.search(path) else ["order"]
        for kind in kinds if len(ONE_UID.findall(path)) < 2 else ():
            answer = client.get("/" + ONE_UID.sub(world.uids["acme"][kind], path))
            if answer.status_code == 200 and answer["Content-Type"].startswith("text/html"):
                yield path, b"".join(answer).decode()


@pytest.mark.req("PLAT-APPLY-4")
def test_what_people_and_nodes_write_is_shown_never_run(world):
    sam, alice = world.api("sam"), world.api("alice")
    root = world.uids["acme"]["organization"]
    organization = good(
        sam.post(f"{API}/organizations", {"name": EVIL[:100], "parent": root, "description": EVIL})
    )
    system = {"name": EVIL[:100], "number": "<b>1</b>", "organization": organization["uid"]}
    system = good(sam.post(f"{API}/business-systems", system))
    assert (
        sam.post(f"{API}/business-systems/{system['uid']}/members", {"username": "alice"}).status_code == 204
    )
    User.objects.filter(username="alice").update(display_name=EVIL[:60])
    body = {"lines": [line(world)], "duration_s": 3600, "remark": EVIL, "business_system": system["uid"]}
    form = good(alice.post(f"{API}/application-forms", body))
    good(alice.post(f"{API}/application-forms/{form['uid']}/submit"))
    task = next(one for one in rows(world.api("dan").get(f"{API}/tasks")) if one["no"] == form["no"])
    row = Slice.objects.across().get(workload_uid=world.uids["acme"]["resource"])
    world.node.sync(logs=[LogChunk(slice_uid=str(row.uid), offset=row.log_next, text=EVIL)])
    good(alice.post(f"{API}/orders/{world.uids['acme']['order']}/terminate", {"reason": EVIL}))
    world.uids["acme"] |= {"evil_form": form["uid"], "evil_task": task["uid"], "evil_system": system["uid"]}
    try:
        seen = 0
        for name in ("alice", "dan", "sam", "ops"):
            for path, page in walked(world.page(name), world, OPERATOR_PAGES if name == "ops" else PAGES):
                assert "<script>alert(1)" not in page, (name, path)
                assert "<img src=x" not in page, (name, path)
                assert "<b>1</b>" not in page, (name, path)
                seen += "alert(1)" in page
        assert seen > 8
    finally:
        for kind in ("evil_form", "evil_task", "evil_system"):
            del world.uids["acme"][kind]


@pytest.mark.req("PLAT-OPS-19")
def test_an_export_holds_no_formula(world):
    User.objects.filter(username="alice").update(display_name="=HYPERLINK(1)")
    sam, alice, root = world.api("sam"), world.api("alice"), world.uids["acme"]["organization"]
    for mark in "=+-@":
        system = {"name": f"{mark}cmd|' /C calc'!A0", "number": f"N{ord(mark)}", "organization": root}
        system = good(sam.post(f"{API}/business-systems", system))
        sam.post(f"{API}/business-systems/{system['uid']}/members", {"username": "alice"})
        body = {"lines": [line(world)], "duration_s": 3600, "business_system": system["uid"]}
        form = good(alice.post(f"{API}/application-forms", body))
        good(alice.post(f"{API}/application-forms/{form['uid']}/submit"))
        good(alice.post(f"{API}/application-forms/{form['uid']}/withdraw"))
    text = (
        b"".join(world.page("ops").get("/cases/", {"kind": "form", "export": "csv"}))
        .decode()
        .lstrip("\ufeff")
    )
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    assert sum("cmd|" in cell for cell in cells) >= 4
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t"))]


# --- sockets ---------------------------------------------------------------------------------------------------


def connects(client, tickets):
    async def attempt():
        cookie = f"sessionid={client.session.session_key}".encode()
        scope = {
            "type": "websocket",
            "path": "/ws/live",
            "query_string": b"",
            "headers": [(b"cookie", cookie)],
        }
        socket = ApplicationCommunicator(LiveConsumer.as_asgi(), scope)
        await socket.send_input({"type": "websocket.connect"})
        assert (await socket.receive_output(timeout=60))["type"] == "websocket.accept"
        await socket.send_input({"type": "websocket.receive", "text": json.dumps({"topics": tickets})})
        answer = await socket.receive_output(timeout=60)
        await socket.send_input({"type": "websocket.disconnect", "code": 1000})
        return answer["type"] == "websocket.send"

    return async_to_sync(attempt)()


@pytest.mark.req("PLAT-TEN-2")
def test_a_socket_tells_only_for_a_ticket_that_was_signed_and_is_fresh(world, monkeypatch):
    # Between messages a server drops old connections; the test's transaction is on this one.
    monkeypatch.setattr("channels.db.close_old_connections", lambda: None)
    alice, client = User.objects.get(username="alice").pk, world.page("alice")
    good_ticket = topics_sign(["order.1"], alice, since_s=time.time())
    signed = {"topics": ["order.1"], "user": alice, "tenant": ""}
    assert connects(client, good_ticket)
    forged = [
        "", "x", "order.1", good_ticket[:-1], good_ticket + "x", good_ticket.upper(), f"{good_ticket} x",
        signing.dumps(signed, salt="other"),
        signing.dumps(signed, key="guessed" * 8, salt="weir.live"),
        topics_sign([], alice, since_s=time.time()),
        topics_sign([f"order.{number}" for number in range(65)], alice, since_s=time.time()), "x" * 20_000,
        topics_sign(["order.1"], alice + 1, since_s=time.time()),
    ]  # fmt: skip
    assert not [ticket for ticket in forged if connects(client, ticket)]
    late = signing.time.time() + TOPICS_MAX_AGE_S + 1
    monkeypatch.setattr(signing.time, "time", lambda: late)
    assert not connects(client, good_ticket)


# --- lying nodes -----------------------------------------------------------------------------------------------


def running(world):
    """A slice of acme that has run for ten seconds and goes on; its row."""
    tenant = Tenant.objects.get(schema_name="acme")
    work = workload_submit(
        actor=SYSTEM, tenant=tenant, order_uid=uuid4(), order_no=f"O-{uuid4()}"[:30], name_en="w", name_zh="w",
        ordered=OrderedWork(Amounts(1, 5, 16), {"argv": ["true"], "env": {}}),
    )  # fmt: skip
    tick(world)
    return Slice.objects.across().select_related("device").get(workload_uid=work.uid)


def interval(row, start, seconds, **more):
    fields = {
        "slice_uid": str(row.uid), "seq": row.usage_seq + 1, "start_at": start,
        "end_at": start + timedelta(seconds=seconds),
        "compute_percent": row.compute_percent, "memory_mib": row.memory_mib, "cpu_seconds": 1.0, "memory_peak_mib": 1,
    }  # fmt: skip
    return UsageReport(**(fields | more))


@pytest.mark.req("PLAT-OPS-38")
def test_use_that_cannot_be_true_is_never_billed(world):
    row = running(world)
    kept = UsageRecord.objects.across().count()
    now = datetime.now(UTC)
    until = row.usage_until
    lies = [
        interval(row, now + timedelta(hours=1), 60),
        interval(row, now, 86_400 * 2),
        interval(row, until - timedelta(seconds=5), 5),
        interval(row, now - timedelta(days=30), 60),
        interval(row, until, 1, compute_percent=100),
        interval(row, until, 1, memory_mib=2**40),
        interval(row, until, 1, cpu_seconds=1e9),
        interval(row, datetime(9999, 12, 30, tzinfo=UTC), 1),
        interval(row, datetime(1, 1, 2, tzinfo=UTC), 1),
        interval(row, until, 1, seq=row.usage_seq + 1000),
    ]
    for lie in lies:
        row.refresh_from_db()
        world.node.sync(usage=[lie.model_copy(update={"seq": row.usage_seq + 1}) if lie.seq < 1000 else lie])
    assert UsageRecord.objects.across().count() == kept
    body = message(world) | {
        "usage": [interval(row, until, 1).model_dump(mode="json") | {"end_at": until.isoformat()}]
    }
    refused(said(world, json.dumps(body)), 400)
    assert any(str(row.uid) in json.dumps(alarm) for alarm in rows(world.api("admin").get(f"{API}/alarms")))


@pytest.mark.req("PLAT-OPS-22")
def test_a_node_is_not_heard_on_another_nodes_slices(world):
    row = running(world)
    stranger = SpokenNode("n7")
    before = Slice.plain.filter(pk=row.pk).values().get()
    reply = stranger.sync(
        slices=[stranger.report(_wish(row), "failed", reason_code="crashed", ended_at=datetime.now(UTC))],
        usage=[interval(row, row.usage_until, 1)],
        logs=[LogChunk(slice_uid=str(row.uid), offset=row.log_next, text="mine\n")],
    )
    assert reply.unknown == (str(row.uid),)
    assert not reply.usage_acks
    assert not reply.log_acks
    assert Slice.plain.filter(pk=row.pk).values().get() == before


def _wish(row):
    return type(
        "Wish", (), {"slice_uid": str(row.uid), "generation": 1, "compute_percent": row.compute_percent}
    )


@pytest.mark.req("PLAT-OPS-22")
@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_instants_that_a_node_invents_leave_a_row_that_can_be_read(world, at):
    work = workload_submit(
        actor=SYSTEM, tenant=Tenant.objects.get(schema_name="acme"), order_uid=uuid4(), order_no="O-9", name_en="w",
        name_zh="w", ordered=OrderedWork(Amounts(1, 5, 16), {"argv": ["true"], "env": {}}),
    )  # fmt: skip
    tick(world, 1)
    row = Slice.objects.across().get(workload_uid=work.uid)
    Slice.plain.filter(pk=row.pk).update(started_at=None, state="desired")
    desired = next(part for part in world.node.sync().desired if part.slice_uid == str(row.uid))
    report = world.node.report(desired, "exited", started_at=at, ended_at=at, reason_code="completed")
    world.node.sync(slices=[report])
    row.refresh_from_db()
    for instant in (row.started_at, row.ended_at):
        assert abs(instant - datetime.now(UTC)) < timedelta(minutes=10)
    good(world.api("alice").get(f"{API}/workloads/{work.uid}"))


@pytest.mark.req("PLAT-OPS-22")
def test_a_device_that_another_node_has_stays_there(world):
    stranger = SpokenNode("n6")
    stranger.devices = (*stranger.devices, *world.node.devices)
    stranger.sync()
    device = next(
        one
        for one in rows(world.api("admin").get(f"{API}/devices"))
        if one["uid"] == world.node.devices[0].uid
    )
    assert device["node"] != stranger.uid
    assert "n6" not in json.dumps(device)
