"""The end of a volume that was sold: nothing writes into it any more without paying, and nothing keeps it for ever."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.catalog.selectors.commodities import commodity_get
from apps.catalog.services.components import components_ensure
from apps.catalog.types import ComponentRange, PriceInput
from apps.console.tenants.overview import tenant_lasting
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, NotFound
from apps.orders import tasks as order_tasks
from apps.orders.models import Order
from apps.orders.services.deliveries import order_deliver
from apps.orders.services.drafts import form_draft
from apps.orders.services.submissions import form_submit
from apps.orders.types import LineInput
from apps.scheduling.models import QuotaHold, Workload
from apps.scheduling.services.quota.quotas import quota_keep, quota_set
from apps.storage import tasks
from apps.storage.errors import StorageAway, VolumeEnded
from apps.storage.models import Upload, Volume, WorkOutput
from apps.storage.services import files, outputs, uploads, volumes
from apps.storage.services.ordered import ended_volume_free, ended_volume_remove, ordered_volume_end
from apps.storage.states import OutputState
from tests.apps.catalog.market import commodity_make
from tests.apps.orders.scene import Scene, workload_of

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-OPS-9", "PLAT-ASSET-6")]


@pytest.fixture(autouse=True)
def storage(settings, tmp_path):
    settings.WEIR_STORAGE_DIR = tmp_path / "storage"


@pytest.fixture
def volume(scene: Scene) -> Volume:
    """Delivered by an order of a day."""
    components_ensure(actor=SYSTEM)
    row = commodity_make(
        "V-1",
        kind="volume",
        work={},
        components=[ComponentRange("storage", minimum=10, maximum=1000, default=50, step=10)],
        prices=[PriceInput("storage", [[None, "0.02"]])],
        max_count=1,
    )
    quota_set(actor=SYSTEM, tenant=scene.tenant, item="storage_mib", total=200 * 1024)
    shop = replace(scene, commodity=commodity_get(tenant=scene.tenant, uid=row.uid))
    line = LineInput(shop.commodity.uid, {"storage": 50}, 1)
    draft = form_draft(actor=shop.ann.actor, lines=[line], duration_s=86400)
    asked = shop.decide(form_submit(actor=shop.ann.actor, form_uid=draft.uid), "approve", "approve")
    order = order_deliver(actor=SYSTEM, order_uid=asked.orders.get().uid)
    return Volume.objects.get(uid=order.volume_uid)


@pytest.fixture
def later(monkeypatch) -> Callable[..., None]:
    """As if so much time had passed."""

    def pass_(**span: int) -> None:
        at = timezone.now() + timedelta(**span)
        monkeypatch.setattr(timezone, "now", lambda: at)

    return pass_


def end(volume: Volume) -> None:
    ordered_volume_end(actor=SYSTEM, volume_uid=volume.uid, at=timezone.now(), reason_code="run_timeout")
    volume.refresh_from_db()


def works(scene: Scene, *mounts: str) -> list[Workload]:
    """Work that waits, one for each way of mounting."""
    found = []
    for mount in mounts:
        order = scene.ordered(volumes=[mount])
        order_deliver(actor=SYSTEM, order_uid=order.uid)
        found.append(workload_of(order))
    return found


def ends_of(rows: list[Workload]) -> list[tuple[str, str]]:
    found = []
    for row in rows:
        row.refresh_from_db()
        found.append((row.state, row.reason_code))
    return found


def test_what_may_write_is_stopped_at_the_end_and_what_reads_when_the_files_go(
    scene: Scene, volume: Volume, later, django_capture_on_commit_callbacks, monkeypatch
) -> None:
    told: list[tuple[str, str]] = []
    monkeypatch.setattr(tasks.ended_volume_follow, "delay", lambda *given: told.append(given))
    rows = works(scene, volume.name, f"{volume.name}:ro", volume.name)
    # The last mounts nothing, and is to leave its outputs there.
    Workload.plain.filter(pk=rows[2].pk).update(work={}, outputs=volume.uid)
    ended_volume_free(actor=SYSTEM, volume_uid=volume.uid)
    assert {state for state, _code in ends_of(rows)} == {"pending"}
    with django_capture_on_commit_callbacks(execute=True):
        end(volume)
    assert told == [("acme", str(volume.uid))]
    tasks.ended_volume_follow("acme", str(volume.uid))
    stopped, reads = ("finished", "volume_ended"), ("pending", "")
    assert ends_of(rows) == [stopped, reads, stopped]
    assert Order.objects.get(workload_uid=rows[0].uid).end_reason_code == "volume_ended"
    tasks.storage_tidy_tenant("acme")
    assert ends_of(rows)[1] == reads
    later(days=8)
    # It never started: it does not keep the files.
    tasks.storage_tidy_tenant("acme")
    assert ends_of(rows)[1] == stopped
    assert not Volume.objects.filter(pk=volume.pk).exists()


@pytest.mark.parametrize(
    ("mount", "gone", "said"),
    [("", False, "has ended"), (":ro", False, ""), (":ro", True, "is there no more")],
)
def test_work_that_was_to_write_is_not_delivered_after_the_end(
    scene: Scene, volume: Volume, mount, gone, said
) -> None:
    order = scene.ordered(volumes=[f"{volume.name}{mount}"])
    end(volume)
    if gone:
        volume.delete()
    order = order_deliver(actor=SYSTEM, order_uid=order.uid)
    assert order.state == ("failed" if said else "processing")
    assert said in order.note
    assert scene.held() == ((0, 0) if said else (0, 1))


def test_nobody_closes_a_tenant_whose_volume_is_there(scene: Scene, volume: Volume) -> None:
    assert f"1 order has not ended: {volume.order_no}." in tenant_lasting(scene.tenant)
    end(volume)
    assert not [text for text in tenant_lasting(scene.tenant) if volume.order_no in text]


def test_a_worker_who_finds_the_storage_away_leaves_the_order_to_the_sweep(
    scene: Scene, volume: Volume, monkeypatch
) -> None:
    order = Order.objects.get(volume_uid=volume.uid)
    Order.objects.filter(pk=order.pk).update(state="pending", volume_uid=None, started_at=None)
    volume.delete()

    def away(*_given: object) -> None:
        raise StorageAway()

    with monkeypatch.context() as patched:
        patched.setattr("apps.storage.drivers.directory.Directory.volume_make", away)
        order_tasks.order_deliver("acme", str(order.uid))
        order_tasks.orders_sweep_tenant("acme")
    order.refresh_from_db()
    assert (order.state, order.volume_uid) == ("pending", None)
    order_tasks.orders_sweep_tenant("acme")
    order.refresh_from_db()
    assert (order.state, order.volume_uid is None) == ("completed", False)


def test_uploads_that_were_begun_are_refused_and_forgotten(scene: Scene, volume: Volume) -> None:
    ann = scene.ann.actor
    part, whole = (
        uploads.upload_make(actor=ann, volume_uid=volume.uid, path=path, size_bytes=4) for path in ("a", "b")
    )
    uploads.upload_take(actor=ann, uid=whole.uid, offset=0, piece=b"1234")
    end(volume)
    with pytest.raises(VolumeEnded, match="has ended"):
        uploads.upload_take(actor=ann, uid=part.uid, offset=0, piece=b"12")
    with pytest.raises(VolumeEnded):
        uploads.upload_finish(actor=ann, uid=whole.uid)
    uploads.uploads_tidy(actor=SYSTEM)
    volume.refresh_from_db()
    assert not Upload.objects.exists()
    assert (volume.used_bytes, volume.upload_bytes) == (0, 0)


@pytest.mark.parametrize(
    "write",
    [
        lambda actor, uid: files.folder_make(actor=actor, volume_uid=uid, path="more"),
        lambda actor, uid: files.file_move(actor=actor, volume_uid=uid, path="data", to="other"),
        lambda actor, uid: files.file_remove(actor=actor, volume_uid=uid, path="data"),
        lambda actor, uid: uploads.upload_make(actor=actor, volume_uid=uid, path="a", size_bytes=1),
    ],
)
def test_who_asked_just_before_the_end_is_refused_by_the_locked_row(
    scene: Scene, volume: Volume, write, monkeypatch
) -> None:
    files.folder_make(actor=scene.ann.actor, volume_uid=volume.uid, path="data")
    locked = volumes.volume_lock

    def ends_first(row: Volume) -> Volume:
        end(volume)
        return locked(row)

    monkeypatch.setattr(volumes, "volume_lock", ends_first)
    with pytest.raises(VolumeEnded):
        write(scene.ann.actor, volume.uid)


def test_outputs_that_come_after_the_end_are_lost_and_say_so(
    scene: Scene, volume: Volume, monkeypatch
) -> None:
    (row,) = works(scene, volume.name)
    coming = WorkOutput.objects.create(workload_uid=row.uid, share=1, volume=volume, path="w")
    end(volume)
    with pytest.raises(VolumeEnded):
        outputs.output_room(actor=SYSTEM, row=coming, size_bytes=4)
    monkeypatch.setattr(outputs, "outputs_ask", lambda **_given: [0])
    outputs.outputs_expect(actor=SYSTEM, workload_uid=row.uid, volume_uid=volume.uid)
    lost = WorkOutput.objects.get(workload_uid=row.uid, share=0)
    assert (lost.state, lost.problem_code) == (OutputState.LOST, "volume_ended")


def test_an_ended_one_takes_no_other_size_and_leaves_no_quota_behind(
    scene: Scene, volume: Volume, member, later
) -> None:
    end(volume)
    keeper = member("acme", "tenant_operations_manager").actor
    with pytest.raises(Conflict, match="has ended"):
        volumes.volume_change(actor=keeper, uid=volume.uid, size_mib=2048)
    held = QuotaHold.plain.filter(holder_uid=volume.uid)
    assert not held.exists()
    # Held by a centre that let an ended one be resized.
    quota_keep(actor=SYSTEM, tenant=scene.tenant, holder_uid=volume.uid, amounts={"storage_mib": 2048})
    later(days=8)
    assert ended_volume_remove(actor=SYSTEM, volume_uid=volume.uid)
    assert scene.held("storage_mib") == (0, 0)


@pytest.mark.parametrize(("error", "state"), [(StorageAway(), "pending"), (Conflict("no room"), "failed")])
def test_storage_that_is_away_delays_a_delivery_and_fails_none(
    scene: Scene, volume: Volume, error, state, monkeypatch
) -> None:
    order = Order.objects.get(volume_uid=volume.uid)
    Order.objects.filter(pk=order.pk).update(state="pending", volume_uid=None, started_at=None)
    volume.delete()

    def away(*_given: object) -> None:
        raise error

    monkeypatch.setattr("apps.storage.drivers.directory.Directory.volume_make", away)
    try:
        found = order_deliver(actor=SYSTEM, order_uid=order.uid)
    except StorageAway:
        found = Order.objects.get(pk=order.pk)
    assert (found.state, found.volume_uid) == (state, None)


def test_one_that_cannot_be_tidied_up_leaves_the_others_to_be(
    scene: Scene, volume: Volume, later, monkeypatch
) -> None:
    mine = volumes.volume_make(actor=scene.ann.actor, name="mine", size_mib=8)
    followed = []

    def fails(**_given: object) -> None:
        raise NotFound()

    end(volume)
    later(days=8)
    monkeypatch.setattr(tasks.ordered, "ended_volume_free", fails)
    monkeypatch.setattr(tasks.volumes, "volume_follow", lambda actor, uid: followed.append(uid))
    tasks.storage_tidy_tenant("acme")
    assert mine.uid in followed
