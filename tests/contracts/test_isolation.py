"""Every list, detail, action and socket, tried with the wrong tenant (PLAT-TEN-2).

The routes are walked, not listed: one that is added tomorrow is tried tomorrow. For each identifier that acme owns,
every route with one identifier in it is called by each of globex's people; nothing may answer with acme's data.
"""

import re
import time
from uuid import uuid4

import pytest
from django.core.signing import BadSignature

from apps.identity.models import ApiToken
from apps.notices.push import ticket_read, topics_sign
from tests.contracts.test_routes import routes
from tests.factories.world import CREW, World

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-TEN-2"), pytest.mark.xdist_group("world")]

METHODS = ("get", "post", "put", "patch", "delete")
API = {
    path: [method for method in METHODS if hasattr(pattern.callback.view_class, method)]
    for path, pattern in routes("portal.urls_api")
    if path.startswith("api/v1/")
}
PAGES = [path for path, _pattern in routes("portal.urls_tenant") if not path.startswith(("api/", "i18n/"))]
ONE_UID = re.compile(r"<(?:uuid|str|slug):\w+>")
# What both tenants may know: the catalogue and its coupon activities belong to the provider.
SHARED = {"commodity", "activity"}
SKIPPED = {"api/v1/auth/login": "no identity needed", "api/v1/auth/logout": "ends the caller's own token"}
REFUSED = {400, 401, 403, 404, 405, 409, 415}


def secrets_of(world: World, schema: str) -> dict[str, str]:
    return {kind: uid for kind, uid in world.uids[schema].items() if kind not in SHARED}


def leaked(world: World, body: str, asked: str = "") -> list[str]:
    found = [kind for kind, uid in secrets_of(world, "acme").items() if uid in body and uid != asked]
    return found + (["remark"] if "secret plan of acme" in body else [])


def strangers(world: World):
    """Globex's operations manager and front line: together they hold every tenant permission that acts."""
    return [world.api(CREW["globex"][2]), world.api(CREW["globex"][0])]


def is_refused_unseen(client, method: str, path: str) -> bool:
    """Whether the caller lacks the function itself: then an identifier of nothing is refused too, before any look."""
    return getattr(client, method)("/" + ONE_UID.sub(str(uuid4()), path), {}).status_code == 403


def tries(world: World):
    """Each function on one identifier, with the first of the strangers who has it."""
    clients = strangers(world)
    for path in API:
        if len(ONE_UID.findall(path)) != 1 or path in SKIPPED:
            continue
        for method in API[path]:
            for client in clients:
                if not is_refused_unseen(client, method, path):
                    yield client, method, path
                    break


def test_the_world_is_worth_looking_at(world):
    assert len(world.uids["acme"]) >= 14
    assert not set(secrets_of(world, "acme").values()) & set(secrets_of(world, "globex").values())


def test_no_list_shows_another_tenants_rows(world):
    lists = [path for path in API if not ONE_UID.search(path) and path not in SKIPPED]
    assert len(lists) > 15
    for client in strangers(world):
        for path in lists:
            answer = client.get(f"/{path}")
            assert leaked(world, answer.content.decode()) == [], path


@pytest.mark.req("PLAT-SEC-5")
def test_no_detail_or_action_answers_for_another_tenants_id(world):
    tried = 0
    for client, method, path in tries(world):
        tried += 1
        for uid in secrets_of(world, "acme").values():
            answer = getattr(client, method)("/" + ONE_UID.sub(uid, path), {})
            assert answer.status_code in REFUSED, (method, path, answer.status_code)
            assert leaked(world, answer.content.decode(), uid) == [], (method, path)
    assert tried > 100


def test_an_action_that_acme_could_do_leaves_no_trace_when_a_stranger_tries(world):
    acme = world.api("alice")
    before = acme.get(world.fill("/api/v1/application-forms/{waiting_form}")).json()
    for client in strangers(world):
        client.post(world.fill("/api/v1/application-forms/{waiting_form}/withdraw"))
        client.post(world.fill("/api/v1/tasks/{waiting_task}/decide"), {"decision": "approve"})
        client.post(world.fill("/api/v1/orders/{order}/terminate"), {"reason": "theft"})
    assert acme.get(world.fill("/api/v1/application-forms/{waiting_form}")).json() == before


def test_both_ids_of_a_nested_route_must_be_ones_own(world):
    for client in strangers(world):
        for bill in (world.uids["acme"]["bill"], world.uids["globex"]["bill"]):
            answer = client.get(f"/api/v1/bills/{bill}/lines/{world.uids['acme']['bill_line']}")
            assert answer.status_code in (403, 404)


def test_no_page_shows_another_tenants_rows(world):
    client = world.page("gina")
    for path in PAGES:
        named = len(ONE_UID.findall(path))
        if named > 1 or (named and is_refused_unseen(client, "get", path)):
            continue
        for uid in secrets_of(world, "acme").values() if named else [""]:
            answer = client.get("/" + ONE_UID.sub(uid, path))
            assert leaked(world, answer.content.decode(errors="ignore"), uid) == [], path
            assert not uid or answer.status_code in (302, 400, 403, 404, 405), (path, answer.status_code)


def test_nobody_enters_a_tenant_he_does_not_belong_to(world):
    client = world.page("gina")
    assert client.get("/orders/", headers={"host": "acme.localhost"}).status_code == 404
    assert client.get("/t/acme/orders/", headers={"host": "localhost"}).status_code == 404
    assert world.api("gina").get("/api/v1/orders", headers={"weir-tenant": "acme"}).status_code == 404


def test_tenants_people_are_refused_on_the_operators_side(world):
    operators = [
        "cases",
        "alarms",
        "nodes",
        "devices",
        "workloads/across",
        "queues",
        "agent-tokens",
        "audit/acts",
        "tenants",
    ]
    for client in strangers(world):
        for path in operators:
            assert client.get(f"/api/v1/{path}").status_code in (403, 404), path
    assert world.page("gina").get("/admin/", headers={"host": "localhost"}).status_code in (302, 403, 404)


def test_a_socket_hears_only_the_topics_its_page_was_signed_for():
    ticket = topics_sign(["order.1"], 7, since_s=time.time())
    assert ticket_read(ticket).topics == ["order.1"]
    with pytest.raises(BadSignature):
        ticket_read(ticket[:-2] + ("aa" if not ticket.endswith("aa") else "bb"))


def test_no_token_is_kept_in_the_clear(world):
    assert all(len(token.digest) == 64 for token in ApiToken.objects.all())
