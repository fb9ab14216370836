"""The pool's doors, tried with the wrong tenant: work, sessions, moves, resizes, environments, groups (PLAT-TEN-2).

As in `test_isolation` the routes are walked; here the identifiers are those of what a tenant has in the pool, and the
bodies are such as would work for their owner.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from apps.fleet.models import Slice
from apps.fleet.services.groups import group_grant, group_make
from apps.fleet.services.nodes.devices import device_disable
from apps.kernel.actor import SYSTEM
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.tenancy.models import Tenant
from tests.contracts.test_isolation import API, ONE_UID, REFUSED, SKIPPED, leaked, strangers, tries
from tests.factories.world import CREW, World, good

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-TEN-2"), pytest.mark.xdist_group("world")]

SHARE = {"compute_percent": 5, "memory_mib": 64}
# One body that every act of the pool could take: whoever reads other fields passes over the rest.
BODY = {
    **SHARE,
    "reason": "theft",
    "device": "n1-cpu0",
    "share": 0,
    "name": "mine now",
    "kind": "session",
    "tenant": "globex",
    "members": ["gina"],
}


@pytest.fixture
def pooled(world: World) -> Iterator[World]:
    """Both tenants with a running session and a program, an environment and a resource group of their own."""
    before = {schema: dict(uids) for schema, uids in world.uids.items()}
    for schema, (user, *_others) in CREW.items():
        world.uids[schema] |= _make(world, schema, world.api(user))
    cycle_run(actor=SYSTEM)
    world.node.run_all()
    for schema in CREW:
        for kind in ("session", "program"):
            row = Slice.plain.get(workload_uid=world.uids[schema][f"pool_{kind}"])
            world.uids[schema][f"pool_{kind}_slice"] = str(row.uid)
    yield world
    world.uids = before


def _make(world: World, schema: str, owner: Any) -> dict[str, str]:
    name, code = f"secret plan of {schema}", f"group-of-{schema}"
    group_make(actor=SYSTEM, code=code, name_en=code)
    group_grant(actor=SYSTEM, code=code, tenant=Tenant.objects.get(schema_name=schema))
    work = {"name": name, **SHARE}
    return {
        "pool_group": code,
        "pool_session": good(owner.post("/api/v1/workloads", {**work, "kind": "session"}))["uid"],
        "pool_program": good(owner.post("/api/v1/workloads", {**work, "argv": ["python", "-c", "1"]}))["uid"],
        "pool_environment": good(owner.post("/api/v1/environments", work))["uid"],
    }


def mine(world: World) -> dict[str, str]:
    """What acme has in the pool."""
    return {kind: uid for kind, uid in world.uids["acme"].items() if kind.startswith("pool_")}


def seen(world: World, username: str = "alice") -> list[Any]:
    """What its owner sees of it: all that a stranger could have changed."""
    owner, uids = world.api(username), world.uids["acme"]
    paths = [f"workloads/{uids[f'pool_{kind}']}" for kind in ("session", "program")]
    return [good(owner.get(f"/api/v1/{path}")) for path in (*paths, "environments", "quota")]


def test_the_pool_is_worth_attacking(pooled):
    assert len(mine(pooled)) == 6
    owner = pooled.api("alice")
    session = good(owner.get(f"/api/v1/workloads/{pooled.uids['acme']['pool_session']}/session"))
    assert session["shares"][0]["token"]
    routes = [path for path in API if ONE_UID.search(path)]
    for act in ("stop", "resize", "migrate", "session"):
        assert f"api/v1/workloads/<uuid:uid>/{act}" in routes
    assert "api/v1/environments/<uuid:uid>" in routes
    assert any(path.startswith("api/v1/resource-groups/<") for path in routes)


def test_no_list_and_no_page_shows_what_another_tenant_has_in_the_pool(pooled):
    for client in strangers(pooled):
        for path in API:
            if not ONE_UID.search(path) and path not in SKIPPED:
                assert leaked(pooled, client.get(f"/{path}").content.decode()) == [], path
    page = pooled.page("gina")
    for path in ("/resources/", "/resources/environments/", "/"):
        assert leaked(pooled, page.get(path).content.decode(errors="ignore")) == [], path


def test_no_route_answers_or_acts_for_what_another_tenant_has_in_the_pool(pooled):
    before = seen(pooled)
    slices = list(Slice.plain.order_by("pk").values_list("uid", "generation", "desired", "compute_percent"))
    for client, method, path in tries(pooled):
        body = {"data": BODY, "format": "json"} if method != "get" else {}
        for kind, uid in mine(pooled).items():
            answer = getattr(client, method)("/" + ONE_UID.sub(uid, path), **body)
            assert answer.status_code in REFUSED, (method, path, kind, answer.status_code)
            assert leaked(pooled, answer.content.decode(), uid) == [], (method, path, kind)
    assert seen(pooled) == before
    assert slices == list(
        Slice.plain.order_by("pk").values_list("uid", "generation", "desired", "compute_percent")
    )


def test_no_button_of_a_page_works_on_what_another_tenant_has_in_the_pool(pooled):
    before, uids = seen(pooled), mine(pooled)
    acts = ("stop", "resize", "migrate", "brief", "log")
    doors = [
        (uids[kind], f"{uids[kind]}/{act}/") for kind in ("pool_session", "pool_program") for act in acts
    ]
    doors.append((uids["pool_environment"], f"environments/{uids['pool_environment']}/remove/"))
    for username in ("gina", "greta"):
        page = pooled.page(username)
        for uid, path in doors:
            for answer in (page.post(f"/resources/{path}", BODY), page.get(f"/resources/{path}")):
                assert answer.status_code in (403, 404, 405), (username, path, answer.status_code)
                assert leaked(pooled, answer.content.decode(errors="ignore"), uid) == [], path
    assert seen(pooled) == before


def test_work_cannot_be_asked_for_in_the_name_of_another_tenant(pooled):
    uids = pooled.uids["acme"]
    for client in strangers(pooled):
        for more in (
            {"environment": uids["pool_environment"]},
            {"environment": "secret plan of acme"},
            {"resource_group": uids["pool_group"]},
        ):
            work = {"name": "theft", "argv": ["python", "-c", "1"], **SHARE, **more}
            answer = client.post("/api/v1/workloads", work, format="json")
            assert answer.status_code in REFUSED, more
            assert leaked(pooled, answer.content.decode(), *more.values()) in ([], ["remark"]), more
        header = {"HTTP_WEIR_TENANT": "acme"}
        assert client.post(
            "/api/v1/workloads", {"name": "x", **SHARE}, format="json", **header
        ).status_code in (
            403,
            404,
        )
        assert client.get("/api/v1/workloads", **header).status_code in (403, 404)


def test_a_session_is_opened_only_by_who_began_it_not_by_colleagues(pooled):
    path = f"/api/v1/workloads/{pooled.uids['acme']['pool_session']}/session"
    token = good(pooled.api("alice").get(path))["shares"][0]["token"]
    for username in ("dan", "olga", "sam", "gina", "greta"):
        answer = pooled.api(username).get(path)
        assert answer.status_code in (403, 404), username
        assert token not in answer.content.decode()
    operator = pooled.api("ops", "acme").get(path)
    assert (operator.status_code in (403, 404), token in operator.content.decode()) == (True, False)


def test_a_move_that_an_operator_began_is_no_door_for_a_stranger(pooled):
    """A card of its own is not given to a share of another tenant by naming the slice where a device is meant."""
    device_disable(actor=SYSTEM, device_uid="n1-cpu0")
    mine_uid, theirs = pooled.uids["globex"]["pool_session"], mine(pooled)
    client = pooled.api("gina")
    for body in (
        {"device": theirs["pool_session_slice"]},
        {"node": theirs["pool_session_slice"]},
        {"share": theirs["pool_session_slice"]},
    ):
        answer = client.post(f"/api/v1/workloads/{mine_uid}/migrate", body, format="json")
        assert answer.status_code in REFUSED, body
        assert leaked(pooled, answer.content.decode(), theirs["pool_session_slice"]) == [], body
