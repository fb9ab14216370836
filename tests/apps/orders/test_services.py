"""Orders of services: what is asked of the node, what it tells, and who reaches them by browser and by key."""

from datetime import UTC, datetime

import pytest

from apps.catalog.models import Commodity
from apps.catalog.services.commodities import commodity_change
from apps.fleet.models import Slice
from apps.identity.services.users import user_disable
from apps.images.models import Image, ImageVersion
from apps.images.states import Owner, VersionState
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.orders.services.carts import cart_add
from apps.scheduling.models import ServiceKey, Workload
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.service_keys import KEYS_MOST, service_key_make, service_key_revoke
from apps.scheduling.services.web_pages import web_host
from portal.gateway.access import _admitted, service_key
from portal.gateway.headers import request_headers
from tests.apps.catalog.market import commodity_make
from tests.apps.orders.scene import Scene, workload_of
from tests.apps.orders.test_kinds import sold
from tests.apps.scheduling.working_node import WorkingNode

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-SVC-8")]
KEPT = {
    "port": 8080, "health_path": "/healthz", "interval_s": 5, "timeout_s": 2, "failures": 3, "start_s": 60,
    "restart": "always", "max_restarts": 5,
}  # fmt: skip
WORK = {"argv": ["python", "serve.py", "$PORT"], "env": {"MODE": "fast"}, "service": KEPT}


@pytest.fixture
def shop(scene: Scene) -> Scene:
    """The scene with a service for sale."""
    return sold(scene, "V-1", kind="service", work=WORK, max_count=1)


@pytest.fixture
def running(shop: Scene) -> Workload:
    """A service that was ordered and runs on a node."""
    node = WorkingNode(memory_mib=16384)
    row = workload_of(shop.delivered())
    cycle_run(actor=SYSTEM)
    node.turn()
    row.refresh_from_db()
    assert row.state == "running"
    return row


def observed(row: Workload, **told: object) -> None:
    Slice.plain.filter(workload_uid=row.uid).update(service={"health": "healthy", "restarts": 0} | told)


def test_an_order_asks_its_node_to_keep_the_service_alive(shop: Scene):
    row = workload_of(shop.delivered())
    assert row.work == WORK
    assert row.requeue_on_loss, "where its node is lost it goes on elsewhere"
    assert (row.compute_percent, row.memory_mib, row.host_cpu_milli, row.host_memory_mib) == (
        20,
        10240,
        4000,
        8192,
    )
    assert row.run_timeout_s == 3600


@pytest.mark.req("PLAT-OPS-15")
def test_an_order_that_runs_keeps_its_version_of_the_service(shop: Scene):
    first = shop.delivered()
    row = Commodity.objects.get(number="V-1")
    work = WORK | {"service": KEPT | {"health_path": "/ready"}}
    commodity_change(actor=SYSTEM, commodity_uid=row.uid, version=row.version, changes={"work": work})
    assert workload_of(first).work["service"]["health_path"] == "/healthz"
    assert workload_of(shop.delivered()).work["service"]["health_path"] == "/ready"


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "service", "work": {"argv": ["true"], "env": {}}},
        {"kind": "work", "work": WORK},
        {"kind": "service", "work": WORK, "max_count": 2},
        {"kind": "service", "work": WORK | {"argv": []}},
    ],
)
def test_a_service_says_how_it_is_kept_alive_and_is_one(scene: Scene, changes):
    with pytest.raises(InvalidInput):
        commodity_make("V-2", **{"max_count": 1, **changes})


def test_of_an_image_the_version_and_its_program_are_frozen_when_it_is_ordered(scene: Scene):
    image = Image.objects.create(name="llm", owner=Owner.CENTRE)
    version = ImageVersion.objects.create(
        image=image, tag="1", state=VersionState.READY, repository="centre/llm", digest="sha256:" + "a" * 64,
        architecture="amd64", size_bytes=1, unpacked_bytes=1, entry_point=["/serve"], layers=[],
    )  # fmt: skip
    shop = sold(
        scene, "V-3", kind="service", work=WORK | {"argv": []}, max_count=1, where={"image": str(version.uid)}
    )
    cart_add(actor=shop.ann.actor, commodity_uid=shop.commodity.uid)
    row = workload_of(shop.delivered())
    assert row.work["argv"] == ["/serve"]
    assert row.work["image"]["digest"] == version.digest
    assert row.pins == {"containers": "amd64"}


# --- what its page shows -----------------------------------------------------------------------------------------


def test_its_page_says_how_it_is_and_where_it_is_reached(shop: Scene, running: Workload):
    at = datetime.now(UTC).isoformat()
    observed(
        running, health="waiting", restarts=2, failure_code="unhealthy", failure="GET /healthz answered 503",
        failed_at=at, port=8080,
    )  # fmt: skip
    page = shop.ann.page().get(f"/resources/{running.uid}/").content.decode()
    assert f"http://{web_host(running.uid)}" in page
    assert "being started again" in page
    assert "2 times" in page
    assert "It was unhealthy." in page
    assert "GET /healthz answered 503" in page
    told = shop.ann.api().get(f"/api/v1/workloads/{running.uid}/service").json()
    assert (told["health"], told["restarts"], told["failure_code"], told["port"]) == (
        "waiting",
        2,
        "unhealthy",
        8080,
    )
    assert told["address"] == f"http://{web_host(running.uid)}"


def test_other_work_is_no_service(scene: Scene):
    row = workload_of(scene.delivered())
    assert scene.ann.api().get(f"/api/v1/workloads/{row.uid}/service").status_code == 404
    assert scene.ann.page().get(f"/resources/{row.uid}/keys/").status_code == 404
    with pytest.raises(NotFound):
        service_key_make(actor=scene.ann.actor, tenant=scene.tenant, workload_uid=row.uid, name="bot")


# --- keys --------------------------------------------------------------------------------------------------------


def made(shop: Scene, row: Workload, name: str = "bot") -> tuple[ServiceKey, str]:
    return service_key_make(actor=shop.ann.actor, tenant=shop.tenant, workload_uid=row.uid, name=name)


def test_a_key_is_shown_once_opens_its_service_and_is_revoked(shop: Scene, running: Workload):
    page = shop.ann.page()
    shown = page.post(f"/resources/{running.uid}/keys/", {"name": "bot"}).content.decode()
    secret = shown.partition("weirsvc_")[2][:43]
    assert f"weirsvc_{secret}" not in page.get(f"/resources/{running.uid}/keys/").content.decode()
    assert secret not in str(list(ServiceKey.plain.values()))
    admitted = _admitted(f"weirsvc_{secret}", running.uid)
    assert admitted is not None
    assert admitted.pages.slice_uid
    key = ServiceKey.plain.get()
    assert key.used_at is not None
    page.post(f"/resources/{running.uid}/keys/{key.uid}/revoke/")
    assert _admitted(f"weirsvc_{secret}", running.uid) is None


def test_a_key_by_api_is_in_its_own_answer_alone(shop: Scene, running: Workload):
    api, path = shop.ann.api(), f"/api/v1/workloads/{running.uid}/service-keys"
    answer = api.post(path, {"name": "bot"}, format="json")
    assert answer.status_code == 201, answer.json()
    assert answer.headers["Cache-Control"] == "no-store"
    assert _admitted(answer.json()["key"], running.uid) is not None
    (row,) = api.get(path).json()
    assert set(row) == {"uid", "name", "made_by", "created_at", "used_at"}
    assert api.delete(f"{path}/{row['uid']}").status_code == 204
    assert api.get(path).json() == []


def test_a_key_opens_nothing_else_and_nothing_once_its_maker_may_not(shop: Scene, running: Workload):
    _key, secret = made(shop, running)
    other = workload_of(shop.delivered())
    assert _admitted(secret, other.uid) is None
    assert _admitted(secret[:-1], running.uid) is None
    user_disable(actor=SYSTEM, user=shop.ann.user)
    assert _admitted(secret, running.uid) is None


def test_a_key_ends_with_its_service(shop: Scene, running: Workload):
    _key, secret = made(shop, running)
    running.allocations.update(state="released", released_at=datetime.now(UTC))
    Workload.plain.filter(pk=running.pk).update(state="finished", ended_at=datetime.now(UTC))
    assert _admitted(secret, running.uid) is None
    with pytest.raises(Conflict):
        made(shop, running, "late")


def test_nobody_makes_keys_of_anothers_service(shop: Scene, running: Workload, member):
    colleague, stranger = member("acme", "tenant_front_line"), member("globex", "tenant_front_line")
    with pytest.raises(Forbidden):
        service_key_make(actor=colleague.actor, tenant=shop.tenant, workload_uid=running.uid, name="x")
    page, path = f"/resources/{running.uid}/keys/", f"/api/v1/workloads/{running.uid}/service-keys"
    assert stranger.page().get(page).status_code == 404
    assert stranger.api().post(path, {"name": "x"}, format="json").status_code == 404
    assert colleague.api().post(path, {"name": "x"}, format="json").status_code == 403
    assert "key-make" not in colleague.page().get(page).content.decode()
    key, _secret = made(shop, running)
    # Who may end it may revoke its keys too: what a leaver left is shut.
    service_key_revoke(actor=colleague.actor, tenant=shop.tenant, workload_uid=running.uid, key_uid=key.uid)
    key.refresh_from_db()
    assert key.revoked_at is not None


def test_keys_are_bounded_and_named(shop: Scene, running: Workload):
    made(shop, running)
    for name in ("bot", "", " ", "x" * 81):
        with pytest.raises(InvalidInput):
            made(shop, running, name)
    for number in range(KEYS_MOST - 1):
        made(shop, running, f"bot {number}")
    with pytest.raises(Conflict, match=str(KEYS_MOST)):
        made(shop, running, "one too many")


def test_the_gateway_keeps_a_key_to_itself():
    def scope(value: bytes) -> dict[str, object]:
        return {"headers": [(b"authorization", value), (b"x-own", b"1")], "scheme": "http", "client": None}

    keyed = scope(b"Bearer weirsvc_abc")
    assert service_key(keyed) == "weirsvc_abc"
    assert [name for name, _value in request_headers(keyed)] == [b"x-own", b"x-forwarded-proto"]
    plain = scope(b"Bearer token-of-the-service")
    assert service_key(plain) == ""
    assert (b"authorization", b"Bearer token-of-the-service") in request_headers(plain)
