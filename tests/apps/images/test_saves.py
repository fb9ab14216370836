"""Running work saved as a version of an image: what a node brings goes upon the image that the work runs in."""

import gzip
import hashlib
import json
import os
import tarfile
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.fleet.models import ContainerSave, Slice
from apps.fleet.services.container_saves import container_saves_check
from apps.images.errors import NotInImage
from apps.images.models import ImageVersion
from apps.images.registry import Registry
from apps.images.services.images import version_delete
from apps.images.services.imports import version_take
from apps.images.services.saves import image_save
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, NotFound, QuotaExceeded
from apps.scheduling.models import QuotaHold, Workload
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.quota.quotas import quota_set
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from apps.tenancy.models import Tenant
from apps.tenancy.services import tenant_suspend
from node_agent.protocol.containers import ContainerSaved, container_piece_path, container_saved_path
from node_agent.protocol.folders import PIECE_BYTES
from tests.apps.scheduling.test_preempting import pool
from tests.apps.scheduling.working_node import WorkingNode
from tests.factories.archive import layer, link

__all__ = ["pool"]
pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-ASSET-4", "PLAT-AICFG-14")]


class SavingNode(WorkingNode):
    """A node that runs images, and sends what it is asked to save through the agents' endpoints."""

    def __init__(self, name="n1"):
        super().__init__(name)
        self.info = self.info.model_copy(update={"containers": "amd64"})
        self.wanted = []
        self.client = Client(headers={"host": "localhost", "authorization": f"Bearer {self.credential}"})

    def message(self, **more):
        return super().message(**more).model_copy(update={"saves": True})

    def hear(self, reply):
        super().hear(reply)
        self.wanted = list(reply.containers_save)

    def put(self, transfer, packed, client=None):
        for number in range(-(-len(packed) // PIECE_BYTES)):
            piece = packed[number * PIECE_BYTES : (number + 1) * PIECE_BYTES]
            answer = (client or self.client).put(
                container_piece_path(transfer, number), piece, content_type="application/octet-stream"
            )
            if answer.status_code != 200:
                return answer
        return answer

    def done(self, transfer, packed=b"", **more):
        facts = {"pieces": -(-len(packed) // PIECE_BYTES), "size_bytes": len(packed),
                 "sha256": hashlib.sha256(packed).hexdigest()} if packed else {}  # fmt: skip
        message = ContainerSaved(protocol=1, **{**facts, **more})
        path = container_saved_path(transfer)
        return self.client.post(path, message.model_dump_json(), content_type="application/json")

    def send(self, plain, **more):
        """All of what it is asked for first."""
        packed = gzip.compress(plain, mtime=0)
        transfer = self.wanted[0].transfer
        assert self.put(transfer, packed).status_code == 200
        return self.done(transfer, packed, **more)


@pytest.fixture
def node(pool):
    return SavingNode()


@pytest.fixture
def work(registry, ann, acme, node, archive, taken) -> Workload:
    """Ann's work, which runs in an image of hers."""
    archive(layer({"bin/hello": b"#!/bin/sh\n", "srv/old": b"old"}), Env=["A=b"])
    assert taken().state == "ready"
    return running(ann, acme, node, image="mine:1")


def running(person, tenant, node, **more) -> Workload:
    node.turn()
    row = workload_request(
        actor=person.actor,
        tenant=tenant,
        asked=WorkloadRequest(name="env", argv=("hello",), compute_percent=10, memory_mib=64, **more),
    )
    cycle_run(actor=SYSTEM)
    node.turn()
    row.refresh_from_db()
    assert row.state == "running"
    return row


@pytest.fixture
def save(ann, acme, work, node):
    def act(tag="2", *, person=ann, name="mine", **more) -> ImageVersion:
        row = image_save(actor=person.actor, tenant=acme, workload_uid=work.uid, name=name, tag=tag, **more)
        node.turn()
        return row

    return act


def fresh(row):
    row.refresh_from_db()
    return row


LAYER = layer({"srv/new": b"new", "srv/.wh.old": b""})


def test_what_a_node_sends_goes_upon_the_image_and_a_version_is_ready(registry, save, node, work, ann):
    row = save(introduction="Saved")
    assert (row.state, row.source, row.workload_uid) == ("saving", work.no, work.uid)
    (wanted,) = node.wanted
    assert (wanted.transfer, wanted.slice_uid) == (str(row.uid), str(Slice.plain.get().uid))
    assert node.send(LAYER, left_out=3).status_code == 200
    assert fresh(row).state == "checking"
    version_take(actor=SYSTEM, uid=row.uid)
    base = row.base
    assert (fresh(row).state, row.problem, row.left_out) == ("ready", "", 3)
    assert (row.made_by, row.image, row.entry_point) == (ann.user, base.image, base.entry_point)
    assert [file["digest"] for file in row.layers[1:-1]] == [file["digest"] for file in base.layers[1:]]
    assert row.unpacked_bytes > base.unpacked_bytes
    held = Registry(registry.url)
    stored = json.loads(held.manifest(row.repository, row.digest))
    config = json.loads(held.blob(row.repository, stored["config"]["digest"], 0, 2**20))
    assert len(config["rootfs"]["diff_ids"]) == len(stored["layers"]) == 2
    assert config["rootfs"]["diff_ids"][-1] == f"sha256:{hashlib.sha256(LAYER).hexdigest()}"
    assert config["config"]["Env"] == ["A=b"], "what the image says, and nothing of the work's own variables"
    assert work.no in config["history"][-1]["created_by"]
    packed = held.blob(row.repository, stored["layers"][-1]["digest"], 0, 2**20)
    assert gzip.decompress(packed) == LAYER
    holds = QuotaHold.plain.exclude(state="released").filter(holder_uid=row.uid)
    assert holds.get().amount == -(-row.size_bytes // 2**20)
    assert not ContainerSave.plain.exists()
    node.turn()
    assert node.wanted == []


def test_an_image_of_the_centre_is_grown_in_a_repository_of_the_tenants_own(
    registry, save, node, work, monkeypatch
):
    """Its files are named there where the registry does that, and else copied."""
    ImageVersion.objects.update(repository="centre/other")
    other = ImageVersion.objects.get()
    monkeypatch.setattr("apps.images.registry._COPIED_BYTES", 100)
    held, real, asked = Registry(registry.url), Registry._call, []
    copied_to_other(held, other)
    for name, is_mounted in (("named", True), ("copied", False)):

        def call(self, method, path, *args, _mounted=is_mounted, **more):
            asked.append((method, path))
            return real(self, method, path if _mounted else path.partition("mount=")[0], *args, **more)

        monkeypatch.setattr(Registry, "_call", call)
        row = save(name=name)
        node.send(LAYER)
        asked.clear()
        version_take(actor=SYSTEM, uid=row.uid)
        monkeypatch.setattr(Registry, "_call", real)
        assert (fresh(row).state, row.problem) == ("ready", "")
        assert row.repository == f"acme/{row.image.uid.hex}"
        ranges = [path for method, path in asked if (method, "centre/other/blobs" in path) == ("GET", True)]
        assert len(ranges) == (1 if is_mounted else 3), "the configuration is read in any case"
        for file in row.layers:
            found = held.blob(row.repository, file["digest"], 0, file["size_bytes"])
            assert f"sha256:{hashlib.sha256(found).hexdigest()}" == file["digest"]


def copied_to_other(held, other):
    """The centre's image lies in a repository of its own."""
    source = f"acme/{other.image.uid.hex}"
    manifest = held.manifest(source, other.digest)
    for file in other.layers:
        content = held.blob(source, file["digest"], 0, file["size_bytes"])
        held.blob_put("centre/other", file["digest"], iter((content,)), len(content))
    assert held.manifest_put("centre/other", "x", manifest) == other.digest


def test_only_who_submitted_it_saves_it_while_it_runs_in_an_image(
    save, work, node, acme, ann, keeper, stranger
):
    with pytest.raises(Forbidden):
        save(person=keeper)
    globex = Tenant.objects.get(schema_name="globex")
    with pytest.raises(NotFound):
        image_save(actor=stranger.actor, tenant=globex, workload_uid=work.uid, name="x")
    plain = running(ann, acme, node)
    with pytest.raises(NotInImage, match="runs in no container image"):
        image_save(actor=ann.actor, tenant=acme, workload_uid=plain.uid, name="x")
    with pytest.raises(Conflict, match="there already"):
        save("1")
    Workload.plain.filter(pk=work.pk).update(state="suspended")
    with pytest.raises(Conflict, match="does not run now"):
        save("2")
    assert ImageVersion.objects.count() == 1
    assert not ContainerSave.plain.exists()


def test_work_is_saved_once_at_a_time(save, node):
    row = save("2")
    with pytest.raises(Conflict, match="being saved already"):
        save("3")
    assert ImageVersion.objects.count() == 2
    node.done(str(row.uid), problem="its node's disk is nearly full")
    assert fresh(row).state == "refused"
    assert row.problem == "Its node could not save it: its node's disk is nearly full."
    assert not QuotaHold.plain.exclude(state="released").filter(holder_uid=row.uid).exists()
    assert save("3").state == "saving"


def test_a_version_deleted_on_its_way_is_asked_for_no_longer(save, node, ann, places):
    row = save()
    transfer = node.wanted[0].transfer
    assert node.put(transfer, b"x" * 10).status_code == 200
    version_delete(actor=ann.actor, uid=row.uid)
    assert node.put(transfer, b"x").status_code == 404
    assert node.done(transfer, problem="x").status_code == 404
    node.turn()
    assert node.wanted == []
    assert not ContainerSave.plain.exists()


def test_what_is_not_whole_or_not_what_was_sent_becomes_no_version(registry, save, node):
    row = save()
    transfer = node.wanted[0].transfer
    packed = gzip.compress(LAYER)
    node.put(transfer, packed)
    assert node.done(transfer, packed, pieces=2).status_code == 409
    assert node.done(transfer, packed, size_bytes=1).status_code == 409
    assert fresh(row).state == "saving"
    assert node.done(transfer, packed, sha256="0" * 64).status_code == 200
    version_take(actor=SYSTEM, uid=row.uid)
    assert (fresh(row).state, "not what was sent" in row.problem) == ("refused", True)


HOSTILE = {
    "a path out": layer({"../out": b"x"}),
    "a link out": layer({"a": b"", "b": link("../../x", tarfile.LNKTYPE)}),
    "no layer": b"no tar at all" * 100,
    "more behind its end": LAYER + b"more" * 200,
}


@pytest.mark.parametrize("plain", HOSTILE.values(), ids=list(HOSTILE))
def test_the_same_is_refused_as_in_an_archive(registry, save, node, plain):
    row = save()
    node.send(plain)
    version_take(actor=SYSTEM, uid=row.uid)
    assert fresh(row).state == "refused"
    assert row.problem
    assert Registry(registry.url).digest(f"acme/{row.image.uid.hex}", row.uid.hex) == ""


def test_more_than_an_image_may_hold_is_refused_whatever_the_node_says(registry, save, node, settings):
    settings.WEIR_IMAGE_LIMIT_MIB = 1
    row = save()
    (wanted,) = node.wanted
    assert wanted.limit_bytes < 2**20
    node.send(layer({"srv/zeros": bytes(3 * 2**20)}))
    version_take(actor=SYSTEM, uid=row.uid)
    assert (fresh(row).state, "larger than the" in row.problem) == ("refused", True)


def test_no_other_node_sends_it_and_none_sends_more_than_a_piece(save, node):
    save()
    transfer = node.wanted[0].transfer
    other = SavingNode("n2")
    assert node.put(transfer, b"x", client=other.client).status_code == 404
    assert node.put(transfer, b"x", client=Client(headers={"host": "localhost"})).status_code == 401
    path = container_piece_path(transfer, 10**6)
    assert node.client.put(path, b"x", content_type="application/octet-stream").status_code == 413


def test_what_went_with_its_node_or_is_silent_is_given_up_and_says_so(save, node):
    rows = [save("2")]
    ContainerSave.plain.update(moved_at=timezone.now() - timedelta(hours=1))
    container_saves_check(actor=SYSTEM)
    rows.append(save("3"))
    Slice.plain.update(state="lost", final_at=timezone.now())
    container_saves_check(actor=SYSTEM)
    assert [fresh(row).state for row in rows] == ["refused", "refused"]
    assert "did not send" in rows[0].problem
    assert "lost" in rows[1].problem
    assert not ContainerSave.plain.exists()


def test_nothing_of_a_suspended_tenant_is_taken(registry, save, node, acme):
    row = save()
    node.send(LAYER)
    tenant_suspend(actor=SYSTEM, tenant=acme)
    version_take(actor=SYSTEM, uid=row.uid)
    assert (fresh(row).state, "suspended" in row.problem) == ("refused", True)


def test_a_full_quota_refuses_it_before_and_after_it_was_sent(registry, save, node, acme):
    quota_set(actor=SYSTEM, tenant=acme, item="storage_mib", total=66)
    row = save("2")
    node.done(str(row.uid), problem="x")
    ImageVersion.objects.filter(tag="1").update(size_bytes=100 * 2**20)
    with pytest.raises(QuotaExceeded):
        save("3")
    assert ImageVersion.objects.count() == 2
    ImageVersion.objects.filter(tag="1").update(size_bytes=2**20)
    row = save("4")
    node.send(layer({"srv/random": os.urandom(3 * 2**20)}))
    quota_set(actor=SYSTEM, tenant=acme, item="storage_mib", total=67)
    version_take(actor=SYSTEM, uid=row.uid)
    assert (fresh(row).state, row.repository) == ("refused", "")
    assert "storage" in row.problem


def test_where_the_image_was_deleted_meanwhile_it_says_so(registry, save, node):
    row = save()
    node.send(LAYER)
    ImageVersion.objects.filter(tag="1").delete()
    version_take(actor=SYSTEM, uid=row.uid)
    assert (fresh(row).state, "deleted meanwhile" in row.problem) == ("refused", True)


def test_the_page_offers_it_and_shows_how_far_it_is(save, work, node, ann, registry):
    page = ann.page()
    shown = page.get(f"/resources/{work.uid}/").content.decode()
    assert f'href="/images/save/{work.uid}/"' in shown
    form = page.get(f"/images/save/{work.uid}/").content.decode()
    assert 'value="mine"' in form
    given = {"name": "mine", "tag": "9", "introduction": "", "owner": "person"}
    assert page.post(f"/images/save/{work.uid}/", given)["Location"] == f"/resources/{work.uid}/"
    row = ImageVersion.objects.get(tag="9")
    moving = page.get(f"/images/saved/{work.uid}/").content.decode()
    assert ("Being saved" in moving, "every 2s" in moving) == (True, True)
    node.turn()
    node.send(LAYER, left_out=1)
    version_take(actor=SYSTEM, uid=row.uid)
    done = page.get(f"/images/saved/{work.uid}/").content.decode()
    assert ("Ready" in done, "every 2s" in done, "1 socket or pipe" in done) == (True, False, True)
    described = page.get(f"/images/{row.image.uid}/").content.decode()
    assert ("Saved from" in described, f'href="/resources/{work.uid}/"' in described) == (True, True)


def test_the_button_is_not_there_where_there_is_nothing_to_save(ann, acme, node):
    plain = running(ann, acme, node)
    page = ann.page()
    shown = page.get(f"/resources/{plain.uid}/").content.decode()
    assert 'data-test="save-image"' not in shown
    assert page.get(f"/images/save/{plain.uid}/").status_code == 409
    answer = page.post(f"/images/save/{plain.uid}/", {"name": "x", "tag": "1", "owner": "person"})
    assert answer.status_code == 409
    assert "runs in no container image" in answer.content.decode()
