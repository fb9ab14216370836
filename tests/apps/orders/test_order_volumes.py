"""An application names volumes: what is delivered has them, and nobody names one that he may not open."""

import pytest

from apps.fleet.models import Node
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput, WeirError
from apps.kernel.planes import in_tenant
from apps.orders.services.deliveries import order_deliver
from apps.storage.drivers.chosen import driver
from apps.storage.services.volumes import volume_make
from node_agent.protocol.storage import STORAGE_MARK
from tests.apps.catalog.market import AMOUNTS, commodity_make
from tests.apps.orders.scene import Scene, workload_of
from tests.apps.scheduling.pool import node_make

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-ASSET-6", "PLAT-APPLY-4")]


@pytest.fixture(autouse=True)
def storage(settings, tmp_path):
    settings.WEIR_STORAGE_DIR = tmp_path / "storage"


@pytest.fixture
def volume(scene: Scene):
    return volume_make(actor=scene.ann.actor, name="data", size_mib=8)


def test_what_is_delivered_mounts_them_where_nodes_see_the_storage(scene: Scene, volume) -> None:
    order = scene.ordered(volumes=["data", "data:/models/data:ro"])
    order_deliver(actor=SYSTEM, order_uid=order.uid)
    row = workload_of(order)
    key = f"acme/{volume.uid}"
    assert row.work["volumes"] == [
        {"key": key, "path": "/volumes/data", "read_only": False},
        {"key": key, "path": "/models/data", "read_only": True},
    ]
    assert row.pins["storage"] == driver().mark()
    assert scene.commodity.work == {"argv": row.work["argv"], "env": row.work["env"]}


def test_a_node_can_see_the_storage_from_the_first_volume_on(volume, settings) -> None:
    written = (settings.WEIR_STORAGE_DIR / STORAGE_MARK).read_text()
    assert written == driver().mark()


def test_nobody_approves_what_no_node_can_mount(scene: Scene, volume) -> None:
    node = node_make("n1", memory_mib=81920)
    with pytest.raises(WeirError, match="can mount volumes"):
        scene.submitted(volumes=["data"])
    Node.objects.filter(pk=node.pk).update(info={**node.info, "storage": driver().mark()})
    assert scene.submitted(volumes=["data"]).state == "submitted"


def test_nobody_names_one_that_he_may_not_open(scene: Scene, volume, member) -> None:
    strange = member("globex", "tenant_front_line")
    with in_tenant("globex"):
        secret = volume_make(actor=strange.actor, name="secret", size_mib=8)
    for word in ("none", str(secret.uid), f"globex/{secret.uid}", "data:/etc", ""):
        with pytest.raises(InvalidInput) as refused:
            scene.draft(volumes=[word])
        assert set(refused.value.fields) == {"volumes"}, word


def test_what_runs_no_program_has_none(scene: Scene, volume) -> None:
    session = commodity_make("S-1", kind="session", work={})
    body = {"lines": [{"commodity": str(session.uid), "amounts": AMOUNTS, "count": 1}], "duration_s": 3600}
    answer = scene.ann.api().post("/api/v1/application-forms", {**body, "volumes": ["data"]})
    assert (answer.status_code, set(answer.json()["error"]["fields"])) == (400, {"volumes"})


def test_they_are_chosen_kept_and_shown_by_page(scene: Scene, volume) -> None:
    form, page = scene.draft(), scene.ann.page()
    path, word = f"/forms/{form.uid}/", f"{volume.uid}:/volumes/data:ro"
    assert 'data-test="form-volumes"' in page.get(f"{path}edit/").content.decode()
    sent = {
        "line_0_commodity": scene.commodity.uid, "line_0_count": 1, "duration": 1, "duration_unit": 3600,
        **{f"line_0_amount_{code}": amount for code, amount in AMOUNTS.items()},
    }  # fmt: skip
    assert page.post(f"{path}save/", {**sent, "volumes": ["", word]}).status_code == 302
    with in_tenant("acme"):
        form.refresh_from_db()
    assert form.volumes == [word]
    assert f'name="volumes" value="{word}"' in page.get(f"{path}edit/").content.decode()
    chosen = page.get("/files/choices/", {"chosen": word}).content.decode()
    assert f'value="{word}" selected' in chosen
    shown = page.get(path).content.decode()
    assert "/volumes/data" in shown
    assert str(volume.uid) not in shown
