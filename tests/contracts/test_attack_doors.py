"""Attacks on who one is, in which role, in which tenant; on repeats, cursors, sessions and the books (PLAT-TEN-2)."""

import base64
import json
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from apps.identity.models import ApiToken, SignIn, User
from apps.identity.pages.access import ROLE_SESSION_KEY
from apps.identity.services.users import user_disable
from apps.kernel.actor import SYSTEM
from apps.tenancy.models import Tenant
from apps.tenancy.services import tenant_suspend
from tests.contracts.test_bad_input import line, refused
from tests.factories.picture import nothing_changes
from tests.factories.world import PASSWORD, good, rows

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("world")]

API = "/api/v1"
REMARK = b"secret plan of acme"


def bearer(secret, host="localhost"):
    client = APIClient(headers={"host": host})
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


def token_of(client):
    return ApiToken.objects.order_by("-pk").first()


# --- authentication --------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-TEN-27")
def test_a_token_ends_with_its_user_its_time_and_its_revocation(world):
    for end in ("disabled", "expired", "revoked"):
        api = world.api("alice")
        token = token_of(api)
        good(api.get(f"{API}/auth/me"))
        if end == "expired":
            ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
        elif end == "revoked":
            assert api.delete(f"{API}/tokens/{token.uid}").status_code == 204
        else:
            user = User.objects.get(username="gina")
            api = world.api("gina")
            page = world.page("gina")
            user_disable(actor=SYSTEM, user=user)
            assert page.get("/orders/").status_code in (302, 401)
        refused(api.get(f"{API}/auth/me"), 401)
        refused(api.post(f"{API}/quotes", line(world)), 401)


@pytest.mark.req("PLAT-TEN-27")
def test_one_kind_of_token_is_never_another(world):
    join = good(world.api("admin").post(f"{API}/agent-tokens", {"note": "n"}))["secret"]
    key = good(world.api("admin").post(f"{API}/tokens", {"name": "t"}))["secret"]
    for secret in (join, world.node.credential, "weirnode_x", key[:-1], key + "x", "", "null", "x" * 10_000):
        for path in ("auth/me", "nodes", "tokens"):
            refused(bearer(secret).get(f"{API}/{path}"), 401)
    refused(APIClient(headers={"host": "localhost"}).get(f"{API}/nodes?token={key}&access_token={key}"), 401)
    body = {"protocol": 1, "join_token": key, "node": world.node.info.model_dump(), "devices": []}
    http = Client(headers={"host": "localhost"})
    with nothing_changes():
        refused(http.post("/api/agent/v1/join", json.dumps(body), content_type="application/json"), 401)
        for secret in (key, join):
            headers = {"authorization": f"Bearer {secret}"}
            refused(
                http.post("/api/agent/v1/sync", "{}", content_type="application/json", headers=headers), 401
            )


@pytest.mark.req("PLAT-TEN-28")
def test_a_nodes_credential_beside_a_session_gives_nobodys_rights(world):
    browser = Client(headers={"host": "localhost"})
    browser.force_login(User.objects.get(username="admin"))
    for secret in (world.node.credential, "weirnode_x"):
        answer = browser.get(f"{API}/nodes", headers={"authorization": f"Bearer {secret}"})
        refused(answer, 401, 403)
    refused(browser.get(f"{API}/nodes", headers={"authorization": "Bearer weir_forged"}), 401)


@pytest.mark.req("PLAT-CFG-41")
def test_other_spellings_of_an_account_give_no_new_tries(world):
    http = APIClient(headers={"host": "localhost"})
    spellings = ["alice", "ALICE", " alice ", "Alice", "alıce"]
    for username in spellings:
        refused(http.post(f"{API}/auth/login", {"username": username, "password": "wrong"}), 401)
    known = SignIn.objects.filter(user__username="alice").values_list("username", flat=True)
    assert set(known) == {"alice"}
    refused(http.post(f"{API}/auth/login", {"username": "alice", "password": "wrong"}), 401, 429)
    refused(http.post(f"{API}/auth/login", {"username": "ALICE", "password": PASSWORD}), 429)


def test_signing_in_for_another_tenant_sounds_like_a_wrong_password(world):
    http = APIClient(headers={"host": "localhost"})
    said = []
    for username, password, tenant in [
        ("gina", PASSWORD, "acme"),
        ("gina", PASSWORD, "nowhere"),
        ("gina", PASSWORD, "public"),
        ("nobody", PASSWORD, "acme"),
        ("ops", "wrong", ""),
    ]:
        body = {"username": username, "password": password, "tenant": tenant}
        said.append(refused(http.post(f"{API}/auth/login", body), 401))
    assert all(error == said[0] for error in said)


# --- roles -----------------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-TEN-28")
def test_a_role_that_is_not_held_is_not_taken(world):
    for name, roles in {
        "alice": ("tenant_system_administrator", "operations_manager", "executive", "*", "x" * 9000),
        "ops": ("system_administrator", "cluster_administrator", "tenant_decision_maker"),
    }.items():
        for role in roles:
            refused(world.api(name).get(f"{API}/auth/me", headers={"weir-role": role}), 403)
            assert world.page(name).post("/role/", {"role": role}).status_code in (403, 404)


@pytest.mark.req("PLAT-TEN-28")
def test_a_role_in_the_session_counts_only_while_it_is_held(world):
    page = world.page("alice")
    session = page.session
    for schema in ("acme", "globex", ""):
        session[f"{ROLE_SESSION_KEY}:{schema}"] = "tenant_system_administrator"
    session.save()
    assert page.get(f"{API}/auth/me").json()["role"] == "tenant_front_line"
    assert page.get("/inbox/").status_code in (200, 403)
    assert page.post(world.fill("/tasks/{waiting_task}/decide/"), {"decision": "approve"}).status_code == 403


@pytest.mark.req("PLAT-APPLY-11")
def test_fields_that_are_not_the_callers_to_set_are_left_alone(world):
    alice = world.api("alice")
    extra = {
        "state": "approved",
        "total": "0.01",
        "no": "F-1",
        "kind": "termination",
        "applicant": "gina",
        "uid": "x",
    }
    body = {"lines": [line(world, quote={"total": "0"}, price="0")], "duration_s": 3600}
    form = good(alice.post(f"{API}/application-forms", body | extra))
    form = good(alice.patch(f"{API}/application-forms/{form['uid']}", body | extra))
    assert (form["state"], form["kind"], form["applicant_name"]) == ("draft", "new", "Alice Wang")
    form = good(alice.post(f"{API}/application-forms/{form['uid']}/submit", extra))
    assert form["state"] == "submitted"
    assert float(form["total"]) > 1
    made = good(
        alice.post(f"{API}/tokens", {"name": "t", "user": 1, "tenant": "globex", "is_operator": True})
    )
    me = good(bearer(made["secret"]).get(f"{API}/auth/me"))
    assert (me["user"]["username"], me["tenant"], me["side"]) == ("alice", "acme", "user")


# --- tenants ---------------------------------------------------------------------------------------------------

HOSTS = [
    "acme.localhost", "ACME.LOCALHOST", "acme.localhost:8000", "acme.localhost.", "acme.localhost.evil",
    "evil.acme.localhost", "acme.localhost@localhost", "localhost@acme.localhost", "acme%2elocalhost",
    "localhost.", "LOCALHOST", "[::1]", "acme.localhost/../", "acme.localhost,localhost", "evil.example",
]  # fmt: skip
PATHS = [
    "/t/acme{0}", "/t/ACME{0}", "/t/acme%2f..{0}", "//t/acme{0}", "/t/globex/../acme{0}", "/t/globex/t/acme{0}",
    "/T/acme{0}", "/t/acme%00{0}", "/t/acme;{0}", "/t/public{0}", "/t/acme%0a{0}", "/t//acme{0}", "/./t/acme{0}",
]  # fmt: skip
CODES = ["acme", "ACME", " acme", "acme ", "globex,acme", "public", "../acme", "acme;", "x" * 9000]


@pytest.mark.req("PLAT-TEN-2")
@pytest.mark.parametrize("allowed", [["*"], ["localhost", ".localhost"]], ids=["any", "ours"])
def test_no_way_of_writing_the_address_leads_into_another_tenant(world, settings, allowed):
    settings.ALLOWED_HOSTS = allowed
    form = world.uids["acme"]["form"]
    wanted = [f"{API}/application-forms/{form}", f"{API}/application-forms"]
    for client, paths in (
        (world.api("gina"), wanted),
        (world.page("gina"), [*wanted, f"/forms/{form}/", "/forms/"]),
    ):
        for path in paths:
            tries = [client.get(path, headers={"host": host}) for host in HOSTS]
            tries += [client.get(way.format(path), headers={"host": "localhost"}) for way in PATHS]
            tries += [client.get(path, headers={"host": "localhost", "weir-tenant": code}) for code in CODES]
            for answer in tries:
                assert answer.status_code < 500
                assert REMARK not in b"".join(answer), (path, answer.request)


@pytest.mark.req("PLAT-TEN-2")
def test_the_same_addresses_do_lead_in_for_who_belongs_there(world):
    path = world.fill(f"{API}/application-forms/{{form}}")
    for headers in ({"host": "acme.localhost"}, {"host": "ACME.localhost:8000"}, {"host": "localhost"}):
        assert REMARK in world.api("alice").get(path, headers=headers).content
    assert REMARK in world.api("alice").get(f"/t/acme{path}").content


@pytest.mark.req("PLAT-TEN-3")
def test_a_suspended_portal_is_closed_by_every_way_in(world):
    api, page, hall = world.api("alice"), world.page("alice"), Client(headers={"host": "localhost"})
    hall.force_login(User.objects.get(username="alice"))
    tenant_suspend(actor=SYSTEM, tenant=Tenant.objects.get(schema_name="acme"), reason="unpaid")
    path = world.fill(f"{API}/application-forms/{{form}}")
    for answer in (
        api.get(path),
        api.get(path, headers={"host": "acme.localhost"}),
        api.get(path, headers={"weir-tenant": "acme"}),
        api.get(f"/t/acme{path}"),
        hall.get(f"/t/acme{path}"),
        hall.get("/t/acme/orders/"),
        page.get("/orders/"),
        hall.post("/t/acme/orders/"),
    ):
        assert answer.status_code == 403
        assert REMARK not in answer.content
    good(world.api("ops", "acme").get(path))


# --- repeats ---------------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-APPLY-3")
def test_an_idempotency_key_is_the_callers_own(world):
    body = {"lines": [line(world)], "duration_s": 3600, "remark": "secret plan of acme"}
    key = {"idempotency-key": "k-1"}
    alice = world.api("alice")
    first = good(alice.post(f"{API}/application-forms", body, headers=key))
    assert good(alice.post(f"{API}/application-forms", body, headers=key)) == first
    assert good(world.api("alice").post(f"{API}/application-forms", body, headers=key)) == first
    with nothing_changes():
        refused(alice.post(f"{API}/application-forms", body | {"duration_s": 60}, headers=key), 409)
        refused(alice.post(f"{API}/application-forms/{first['uid']}/submit", headers=key), 409)
    for name in ("gina", "olga", "dan", "sam", "ops"):
        answer = world.api(name).post(f"{API}/application-forms", body, headers=key)
        assert first["uid"] not in answer.content.decode()
    theirs = good(
        world.api("gina").post(
            f"{API}/application-forms", body | {"remark": ""}, headers={"idempotency-key": "k-2"}
        )
    )
    assert theirs["uid"] != first["uid"]
    anonymous = APIClient(headers={"host": "localhost"})
    refused(anonymous.post(f"{API}/application-forms", body, headers=key), 400, 401)


@pytest.mark.req("PLAT-APPLY-3")
def test_an_idempotency_key_that_is_none_is_refused_and_a_refusal_is_not_kept(world):
    alice, body = world.api("alice"), {"lines": [line(world)], "duration_s": 3600}
    with nothing_changes():
        for key in ("k" * 129, "a\x00b", "a\tb"):
            refused(alice.post(f"{API}/application-forms", body, headers={"idempotency-key": key}), 400)
        refused(alice.post(f"{API}/application-forms", {}, headers={"idempotency-key": "k-9"}), 400)
    good(alice.post(f"{API}/application-forms", body, headers={"idempotency-key": "k-9"}))


# --- sessions --------------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-CFG-40")
def test_a_session_changes_nothing_without_its_csrf_token(world):
    browser = Client(enforce_csrf_checks=True, headers={"host": "acme.localhost"})
    browser.force_login(User.objects.get(username="alice"))
    body = json.dumps({"lines": [line(world)], "duration_s": 3600})
    with nothing_changes():
        for headers in (
            {},
            {"idempotency-key": "k"},
            {"authorization": "Basic x"},
            {"authorization": "Bearer "},
            {"authorization": "Bearer weirnode_x"},
            {"origin": "http://evil.example", "x-csrftoken": "x" * 32},
            {"x-http-method-override": "GET"},
        ):
            answer = browser.post(
                f"{API}/application-forms", body, content_type="application/json", headers=headers
            )
            refused(answer, 401, 403)
        form = world.uids["acme"]["waiting_form"]
        assert browser.post(f"/forms/{form}/withdraw/").status_code == 403
        assert browser.get(f"/forms/{form}/withdraw/").status_code == 405
        assert browser.post("/login/", {"username": "dan", "password": PASSWORD}).status_code == 403


@pytest.mark.req("PLAT-CFG-40")
@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example/", "//evil.example", "///evil.example", "/\\evil.example", "javascript:alert(1)",
        "http:evil.example", "http://acme.localhost.evil/", "http://acme.localhost@evil.example/", "\t//evil.example",
        "https:///evil.example", "%2f%2fevil.example//", "data:text/html,x",
    ],
)  # fmt: skip
def test_signing_in_leads_to_no_other_site(world, wanted):
    browser = Client(headers={"host": "acme.localhost"})
    answer = browser.post("/login/", {"username": "alice", "password": PASSWORD, "next": wanted})
    assert answer.status_code == 302
    assert answer["Location"] == "/" or (answer["Location"].startswith("%2f"))
    assert browser.get("/login/", {"next": wanted})["Location"] in ("/", wanted if wanted[0] == "%" else "/")
    changed = browser.post("/i18n/setlang/", {"language": "en", "next": wanted})
    assert "evil" not in changed["Location"] or changed["Location"].startswith(("%2f", "/%"))


@pytest.mark.req("PLAT-CFG-40")
def test_a_fresh_session_begins_at_sign_in(world):
    browser = Client(headers={"host": "acme.localhost"})
    browser.get("/login/")
    browser.cookies["sessionid"] = "chosen-by-the-attacker"
    browser.post("/login/", {"username": "alice", "password": PASSWORD})
    assert browser.cookies["sessionid"].value != "chosen-by-the-attacker"
    assert browser.cookies["sessionid"]["httponly"]


# --- cursors ---------------------------------------------------------------------------------------------------


def cursor(text):
    return base64.b64encode(text.encode()).decode()


@pytest.mark.req("PLAT-TEN-2")
@pytest.mark.parametrize(
    "forged",
    ["x", "%ff", "====", cursor("p=notadate"), cursor("p=\x00"), cursor("o=-1"), cursor("o=99999999999"),
     cursor("r=x&p="),
     cursor("p=0001-01-01T00:00:00+14:00"), cursor("p=9999-12-31T23:59:59-14:00"), cursor("p=" + "9" * 5000),
     cursor("p=' OR 1=1 --"), cursor("o=0&p=infinity"), cursor("p=NaN")],
    ids=range(14),
)  # fmt: skip
def test_a_forged_cursor_shows_nothing_of_others(world, forged):
    for name, paths in {
        "alice": ("orders", "application-forms", "cart", "messages", "tasks", "commodities"),
        "olga": ("bills", "account/transactions", "coupons"),
        "ops": ("cases", "tasks", "workloads", "tenants"),
        "admin": ("audit/acts", "nodes", "devices"),
    }.items():
        client = world.api(name)
        for path in paths:
            answer = client.get(f"{API}/{path}", {"cursor": forged})
            assert answer.status_code in (200, 400), (path, answer.status_code)
            if answer.status_code == 400:
                refused(answer, 400)
            elif name == "alice":
                assert b"secret plan of globex" not in answer.content


@pytest.mark.req("PLAT-TEN-2")
def test_one_tenants_cursor_opens_nothing_in_another(world):
    for _round in range(2):
        good(world.api("alice").post(f"{API}/cart", line(world)))
    following = good(world.api("alice").get(f"{API}/cart?page_size=1"))["next"]
    mine = good(
        world.api("gina").get(f"{API}/cart", {"cursor": following.partition("cursor=")[2].partition("&")[0]})
    )
    acme = {row["uid"] for row in rows(world.api("alice").get(f"{API}/cart"))}
    assert not acme & {row["uid"] for row in mine["results"]}


# --- what is written stays written -----------------------------------------------------------------------------

FOR_GOOD = ["billing_ledgerleg", "billing_ledgertransaction", "audit_record", "billing_usagerecord",
            "billing_rateditem", "billing_billline", "billing_bill", "billing_billpayment"]  # fmt: skip


@pytest.mark.req("PLAT-LOG-1")
@pytest.mark.parametrize("table", FOR_GOOD)
def test_the_database_itself_keeps_what_was_written(world, table):
    with nothing_changes(), connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")
        assert cursor.fetchone()[0]
        for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET id = id + 1000000"):
            with pytest.raises(DatabaseError), transaction.atomic():
                cursor.execute(statement)
