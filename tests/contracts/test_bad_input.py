"""Bad input, case by case: refused with a code, a cause and a cure, and nothing is changed by it (PLAT-OPS-22).

Each is tried through the public API, and on the page where there is one.
"""

import json
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from django.test import Client

from apps.fleet.models import Device
from apps.identity.models import AgentToken
from tests.contracts.test_isolation import ONE_UID
from tests.contracts.test_routes import routes
from tests.factories.node import SpokenNode
from tests.factories.picture import nothing_changes
from tests.factories.world import AMOUNTS, good, rows, task_of

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("world")]

API = "/api/v1"
ABSURD = [-1, 0, 10**30, 1.5, "x", "", None, True, [], {}, "-5", "1e9", "²", "9" * 5000, "NaN"]
BODIES = [
    "",
    "null",
    "[]",
    '"x"',
    "7",
    "{",
    '{"a": NaN}',
    '{"a": "\\u0000"}',
    '{"a": "\\ud800"}',
    "[" * 100_000,
]


def refused(answer, *statuses, code=""):
    """It is a refusal in the one shape; its error."""
    assert answer.status_code in statuses, (answer.status_code, answer.content[:600])
    error = answer.json()["error"]
    assert all(error[part] for part in ("code", "message")), error
    assert "cure" in error, error
    assert not code or error["code"] == code
    return error


def page_refused(answer, *statuses):
    assert answer.status_code in statuses, (answer.status_code, answer.content[:600])
    assert b"Traceback" not in answer.content
    return answer.content.decode()


def line(world, **more):
    return {"commodity": world.uids["acme"]["commodity"], "amounts": AMOUNTS, "count": 1} | more


def draft(world, api, **more):
    body = {"lines": [line(world)], "duration_s": 3600, "remark": "", **more}
    return good(api.post(f"{API}/application-forms", body))


# --- amounts ---------------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-APPLY-3")
def test_absurd_amounts_are_refused_wherever_something_is_asked_for(world):
    alice = world.api("alice")
    with nothing_changes():
        for value in ABSURD:
            for wrong in (
                {"count": value},
                {"amounts": AMOUNTS | {"compute_share": value}},
                {"amounts": AMOUNTS | {"memory": value}},
            ):
                whole = line(world, **wrong)
                refused(alice.post(f"{API}/quotes", whole | {"duration_s": 60}), 400)
                refused(alice.post(f"{API}/cart", whole), 400)
            body = {"lines": [line(world, count=value)], "duration_s": 3600}
            refused(alice.post(f"{API}/application-forms", body), 400)
            refused(alice.post(f"{API}/quotes", line(world) | {"duration_s": value}), 400)
        for amounts in ({}, {"compute_share": 20}, AMOUNTS | {"gold": 1}, [], "x", None):
            refused(alice.post(f"{API}/quotes", line(world, amounts=amounts) | {"duration_s": 60}), 400)


@pytest.mark.req("PLAT-APPLY-3")
def test_a_wrong_figure_is_named_with_its_range(world):
    body = line(world, amounts=AMOUNTS | {"compute_share": 101}) | {"duration_s": 60}
    error = refused(world.api("alice").post(f"{API}/quotes", body), 400, code="invalid_input")
    assert "100" in error["fields"]["amounts.compute_share"]
    assert error["cure"]


@pytest.mark.req("PLAT-APPLY-3")
def test_a_figure_in_full_width_digits_is_the_figure_it_shows(world):
    alice = world.api("alice")
    plain, wide = (
        good(alice.post(f"{API}/quotes", line(world, count=count) | {"duration_s": 60}))
        for count in (2, "２")
    )
    assert plain["total"] == wide["total"]
    assert wide["count"] == 2


@pytest.mark.req("PLAT-APPLY-1")
def test_absurd_amounts_are_refused_on_the_pages(world):
    alice, commodity = world.page("alice"), world.uids["acme"]["commodity"]
    fields = {f"amount_{code}": amount for code, amount in AMOUNTS.items()}
    with nothing_changes():
        for value in ("-1", "0", "1.5", "9" * 30, "x", "", "²", "\x00"):
            for wrong in ({"count": value}, {"amount_compute_share": value}):
                sent = {"count": 1, **fields, **wrong}
                page_refused(alice.post(f"/commodities/{commodity}/put-in-cart/", sent), 400)
                quoted = alice.get(f"/commodities/{commodity}/quote/", sent | {"duration": 1})
                assert quoted.status_code in (200, 400)
                assert "CNY" not in quoted.content.decode()
        form = world.uids["acme"]["waiting_form"]
        page_refused(alice.post(f"/forms/{form}/save/", {"duration": "-1", "duration_unit": "60"}), 400)


@pytest.mark.req("ELA-1909")
@pytest.mark.parametrize(
    "amount", [-1, 0, "0.001", "NaN", "Infinity", "-0", "1e400", 10**18, "x", None, True, [1]]
)
def test_absurd_deposits_are_refused(world, amount):
    with nothing_changes():
        refused(
            world.api("ops").post(f"{API}/tenants/acme/deposit", {"amount": amount, "reference": "r"}), 400
        )


@pytest.mark.req("PLAT-TEN-10")
def test_absurd_quotas_tokens_and_prices_are_refused(world):
    admin, ops = world.api("admin"), world.api("ops")
    tiers = [
        [],
        [["1", "-1"]],
        [[None, "NaN"]],
        [["5", "1"], ["5", "1"], [None, "1"]],
        [[None, "1e400"]],
        [["x", "1"]],
    ]
    with nothing_changes():
        for value in (-1, 1.5, "x", 10**30, None, True):
            refused(admin.put(f"{API}/tenants/acme/quota", {"instances": value}), 400)
            refused(admin.post(f"{API}/tokens", {"name": "t", "days": value}), 400)
            refused(admin.post(f"{API}/agent-tokens", {"note": "t", "ttl_s": value}), 400)
        refused(admin.put(f"{API}/tenants/acme/quota", {"gold": 1}), 400)
        for wrong in tiers:
            lines = [{"component": code, "tiers": wrong} for code in AMOUNTS]
            path = world.fill(f"{API}/commodities/{{commodity}}/prices")
            refused(ops.post(path, {"lines": lines}), 400)


@pytest.mark.req("PLAT-OPS-32")
def test_a_bill_over_time_to_come_is_refused(world):
    with nothing_changes():
        for until in ("9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", "yesterday", 5):
            refused(world.api("olga").post(f"{API}/bills", {"until": until}), 400, 409)


# --- identifiers -----------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-TEN-2")
def test_unknown_ids_are_found_nowhere(world):
    found = [
        (path, pattern.callback.view_class)
        for path, pattern in routes("portal.urls_api")
        # The nodes' own routes are plain functions and are tried with nodes' credentials elsewhere; refusals of Annex A
        # have its own shape (tests/apps/jointcloud/test_annex.py).
        if ONE_UID.search(path) and not path.startswith(("api/agent/", "scheduler/", "openapi/"))
    ]
    assert len(found) > 25
    clients = [world.api(name) for name in ("alice", "olga", "ops", "admin")]
    with nothing_changes():
        for path, view in found:
            for method in (one for one in ("get", "post", "put", "patch", "delete") if hasattr(view, one)):
                for client in clients:
                    answer = getattr(client, method)("/" + ONE_UID.sub(str(uuid4()), path), {})
                    refused(answer, 400, 403, 404, 405, 409, 415)


@pytest.mark.req("PLAT-TEN-2")
def test_unknown_ids_are_found_on_no_page(world):
    alice = world.page("alice")
    paths = [path for path, _pattern in routes("portal.urls_tenant") if ONE_UID.search(path)]
    with nothing_changes():
        for path in (path for path in paths if not path.startswith("api/")):
            for method in ("get", "post"):
                answer = getattr(alice, method)("/" + ONE_UID.sub(str(uuid4()), path))
                assert answer.status_code in (302, 400, 403, 404, 405, 409), (path, answer.status_code)


@pytest.mark.req("PLAT-TEN-2")
def test_another_tenants_ids_inside_a_body_are_unknown(world):
    alice, olga, theirs = world.api("alice"), world.api("olga"), world.uids["globex"]
    tick_bill = world.uids["acme"]["bill"]
    with nothing_changes():
        for wrong in ({"business_system": theirs["business_system"]}, {"coupon": theirs["coupon"]}):
            body = {"lines": [line(world)], "duration_s": 3600, **wrong}
            refused(alice.post(f"{API}/application-forms", body), 400, 404)
        refused(
            alice.post(f"{API}/quotes", line(world) | {"duration_s": 60, "coupon": theirs["coupon"]}),
            400,
            404,
        )
        refused(olga.post(f"{API}/bills/{tick_bill}/pay", {"coupon": theirs["coupon"]}), 404, 409)
        body = {"name": "x", "number": "x-1", "organization": theirs["organization"]}
        refused(world.api("sam").post(f"{API}/business-systems", body), 404)
        refused(
            world.api("sam").post(
                f"{API}/members", {"username": "gina", "organization": theirs["organization"]}
            ),
            404,
        )
        refused(
            world.api("sam").post(f"{API}/organizations", {"name": "x", "parent": theirs["organization"]}),
            404,
        )


@pytest.mark.req("PLAT-APPLY-3")
def test_another_tenants_cart_line_stays_in_its_cart(world):
    draft(world, world.api("alice"), cart=[world.uids["globex"]["cart"]])
    assert [row["uid"] for row in rows(world.api("gina").get(f"{API}/cart"))] == [
        world.uids["globex"]["cart"]
    ]


# --- twice, too late, not asked --------------------------------------------------------------------------------


@pytest.mark.req("PLAT-APPLY-6")
def test_a_form_is_submitted_once(world):
    form = world.uids["acme"]["waiting_form"]
    with nothing_changes():
        refused(world.api("alice").post(f"{API}/application-forms/{form}/submit"), 409, code="conflict")
        page_refused(world.page("alice").post(f"/forms/{form}/submit/"), 409)
        body = {"lines": [line(world)], "duration_s": 60}
        refused(world.api("alice").patch(f"{API}/application-forms/{form}", body), 409)
        refused(world.api("alice").delete(f"{API}/application-forms/{form}"), 409)


@pytest.mark.req("PLAT-TODO-5")
@pytest.mark.parametrize(
    ("name", "status"),
    [("alice", 403), ("sam", 403), ("gina", 403), ("gil", 404), ("boss", 403), ("ops", 403)],
)
def test_who_is_no_candidate_decides_nothing(world, name, status):
    task = world.uids["acme"]["waiting_task"]
    with nothing_changes():
        client = world.api(name, "acme" if name in ("boss", "ops") else "")
        refused(client.post(f"{API}/tasks/{task}/decide", {"decision": "approve"}), status)
        if name not in ("boss", "ops"):
            page_refused(world.page(name).post(f"/tasks/{task}/decide/", {"decision": "approve"}), 403, 404)


@pytest.mark.req("PLAT-TODO-5")
def test_a_decision_that_the_step_does_not_offer_is_refused(world):
    path = world.fill(f"{API}/tasks/{{waiting_task}}/decide")
    with nothing_changes():
        for body in (
            {},
            {"decision": "approved"},
            {"decision": None},
            {"decision": "approve", "comment": "x" * 1001},
        ):
            refused(world.api("dan").post(path, body), 400)


@pytest.mark.req("PLAT-APPLY-14")
def test_a_withdrawn_form_is_not_decided_on(world):
    form, task = (world.uids["acme"][kind] for kind in ("waiting_form", "waiting_task"))
    good(world.api("alice").post(f"{API}/application-forms/{form}/withdraw"))
    with nothing_changes():
        refused(world.api("dan").post(f"{API}/tasks/{task}/decide", {"decision": "approve"}), 409)
        page_refused(world.page("dan").post(f"/tasks/{task}/decide/", {"decision": "approve"}), 409)
        refused(world.api("alice").post(f"{API}/application-forms/{form}/withdraw"), 409)


@pytest.mark.req("PLAT-APPLY-15")
def test_a_form_is_not_withdrawn_after_the_first_decision(world):
    form, task = (world.uids["acme"][kind] for kind in ("waiting_form", "waiting_task"))
    good(world.api("dan").post(f"{API}/tasks/{task}/decide", {"decision": "approve"}))
    with nothing_changes():
        refused(world.api("alice").post(f"{API}/application-forms/{form}/withdraw"), 409)
        refused(world.api("dan").post(f"{API}/tasks/{task}/decide", {"decision": "refuse"}), 409)


@pytest.mark.req("PLAT-OPS-32")
def test_a_paid_bill_is_paid(world):
    olga, bill = world.api("olga"), world.uids["acme"]["bill"]
    with nothing_changes():
        refused(olga.post(f"{API}/bills/{bill}/pay", {}), 409)
        refused(olga.post(f"{API}/bills/{bill}/confirm"), 409)
        page_refused(world.page("olga").post(f"/billing/bills/{bill}/pay/", {}), 409)
        refused(world.api("alice").post(f"{API}/bills/{bill}/pay", {}), 403)


# --- agents ----------------------------------------------------------------------------------------------------


def said(world, body, credential=None):
    headers = {"authorization": f"Bearer {world.node.credential if credential is None else credential}"}
    return Client(headers={"host": "localhost"}).post(
        "/api/agent/v1/sync", body, content_type="application/json", headers=headers
    )


def message(world, **more):
    node = world.node
    now = datetime.now(UTC).isoformat()
    body = {"protocol": 1, "boot_id": node.boot_id, "seq": 10**6, "sent_at": now}
    body["node"] = node.info.model_dump(mode="json")
    body["devices"] = [device.model_dump(mode="json") for device in node.devices]
    return body | more


@pytest.mark.req("PLAT-OPS-22")
def test_an_agent_with_a_revoked_token_is_heard_no_more(world):
    token = AgentToken.objects.get(kind="node", node_uid=world.node.uid, revoked_at=None)
    good(world.api("admin").post(f"{API}/agent-tokens/{token.uid}/revoke"))
    with nothing_changes():
        refused(said(world, json.dumps(message(world))), 401, code="unauthenticated")
        refused(said(world, json.dumps(message(world)), ""), 401)
        refused(said(world, json.dumps(message(world)), "weirnode_" + "x" * 43), 401)


@pytest.mark.req("PLAT-OPS-22")
@pytest.mark.parametrize("version", [0, 2, 99, 10**15, "2", 2.0])
def test_an_unknown_protocol_version_is_named_as_such(world, version):
    with nothing_changes():
        error = refused(said(world, json.dumps(message(world, protocol=version))), 426)
        assert str(int(version)) in error["message"]


@pytest.mark.req("PLAT-OPS-22")
@pytest.mark.parametrize("version", [None, -1, "x", [], {}, 1.5])
def test_what_is_no_protocol_version_is_a_malformed_message(world, version):
    with nothing_changes():
        refused(said(world, json.dumps(message(world, protocol=version))), 400, 426)


@pytest.mark.req("PLAT-OPS-22")
@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_an_agents_message_that_is_none_is_refused(world, body):
    with nothing_changes():
        refused(said(world, body), 400)


@pytest.mark.req("PLAT-OPS-22")
def test_more_memory_than_before_is_not_believed_and_told(world):
    node, device = world.node, world.node.devices[0]
    kept = node.devices
    try:
        node.devices = (device.model_copy(update={"memory_mib": device.memory_mib * 4}),)
        node.sync()
    finally:
        node.devices = kept
    row = Device.objects.get(uid=device.uid)
    assert (row.memory_mib, row.reported_mib) == (device.memory_mib, device.memory_mib * 4)
    admin = world.api("admin")
    shown = next(row for row in rows(admin.get(f"{API}/devices")) if row["uid"] == device.uid)
    assert shown["memory_mib"] == device.memory_mib
    assert any(device.uid in json.dumps(alarm) for alarm in rows(admin.get(f"{API}/alarms")))


@pytest.mark.req("PLAT-OPS-22")
def test_a_join_token_lets_one_node_in_once(world):
    made = good(world.api("admin").post(f"{API}/agent-tokens", {"note": "n9"}))
    body = {
        "protocol": 1,
        "join_token": made["secret"],
        "node": SpokenNode("n8").info.model_dump() | {"name": "n9"},
    }
    body["devices"] = [SpokenNode.device("n9", 0, 1024).model_dump(mode="json")]
    http = Client(headers={"host": "localhost"})
    good(http.post("/api/agent/v1/join", json.dumps(body), content_type="application/json"))
    body["node"]["name"] = "n10"
    with nothing_changes():
        refused(http.post("/api/agent/v1/join", json.dumps(body), content_type="application/json"), 401)
        body["join_token"] = "weirjoin_" + "x" * 43
        refused(http.post("/api/agent/v1/join", json.dumps(body), content_type="application/json"), 401)


def test_the_waiting_task_is_still_there_for_its_candidate(world):
    no = good(world.api("alice").get(world.fill(f"{API}/application-forms/{{waiting_form}}")))["no"]
    assert task_of(world.api("dan"), no)["uid"] == world.uids["acme"]["waiting_task"]
