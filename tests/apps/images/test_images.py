"""Images: taken out of a volume into a registry, whose they are, their quota, their end."""

import json
import tarfile

import pytest

from apps.images.errors import ImageRefused, NoRegistry, RegistryAway
from apps.images.models import Image, ImageVersion
from apps.images.registry import Registry
from apps.images.selectors import image_list
from apps.images.services.images import image_change, image_delete, version_delete, version_publish
from apps.images.services.imports import registry_tidy, version_take
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, NotFound, QuotaExceeded
from apps.kernel.planes import in_tenant
from apps.scheduling.models import QuotaHold
from apps.scheduling.services.quota.quotas import quota_set
from apps.storage.errors import PathRefused
from apps.tenancy.models import Tenant
from tests.factories.archive import layer, zstd_archive

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-ASSET-4", "PLAT-AICFG-14")]


def _held_mib(row: ImageVersion) -> int:
    rows = QuotaHold.plain.filter(holder_uid=row.uid).exclude(state="released")
    return sum(rows.values_list("amount", flat=True))


def test_an_archive_becomes_a_version_known_by_its_digest(registry, archive, taken):
    archive()
    row = taken(introduction="What I built")
    assert (row.state, row.architecture, row.entry_point) == ("ready", "amd64", ["/bin/hello"])
    assert row.digest.startswith("sha256:")
    assert row.unpacked_bytes == tarfile.RECORDSIZE, "as it streams by, headers and all"
    assert [file["size_bytes"] for file in row.layers]
    manifest = json.loads(Registry(registry.url).manifest(row.repository, row.digest))
    assert manifest["mediaType"] == "application/vnd.oci.image.manifest.v1+json", "nodes unpack no other"
    assert _held_mib(row) == 1
    second = taken(tag="2")
    assert second.image == row.image
    assert [version.tag for version in row.image.versions.all()] == ["2", "1"]


def test_a_layer_by_zstd_becomes_one_that_nodes_unpack(registry, archive, taken):
    path = archive()
    zstd_archive(path, layer({"bin/hello": b"#!/bin/sh\n"}))
    row = taken()
    assert (row.state, row.problem) == ("ready", "")
    manifest = json.loads(Registry(registry.url).manifest(row.repository, row.digest))
    assert [each["mediaType"].rpartition("+")[2] for each in manifest["layers"]] == ["gzip"]


def test_what_can_be_seen_at_once_is_refused_before_anything_is_taken(archive, asked):
    archive(architecture="s390x")
    with pytest.raises(ImageRefused, match="linux/s390x"):
        asked()
    archive(name="readme.tar").write_text("hello")
    with pytest.raises(ImageRefused, match="no "):
        asked(path="readme.tar")
    assert not Image.objects.exists()
    assert QuotaHold.plain.count() == 1, "the volume's"


def test_what_a_worker_finds_is_told_with_the_version_and_costs_nothing(registry, archive, taken):
    archive(layer({"../../etc/passwd": b"root::0:0"}))
    row = taken()
    assert row.state == "refused"
    assert "../../etc/passwd" in row.problem
    assert (row.digest, _held_mib(row)) == ("", 0)
    assert Registry(registry.url).tags(f"acme/{row.image.uid.hex}") == []


def test_a_file_that_is_gone_or_another_by_then_is_refused(registry, archive, asked):
    path = archive()
    row = asked()
    path.unlink()
    version_take(actor=SYSTEM, uid=row.uid)
    row.refresh_from_db()
    assert (row.state, row.problem[:8]) == ("refused", "The file")
    archive()
    row = asked(tag="2")
    archive(layer({"big": b"x" * 100_000}))
    version_take(actor=SYSTEM, uid=row.uid)
    row.refresh_from_db()
    assert "changed" in row.problem


def test_a_registry_that_is_away_is_asked_again(archive, taken, registry_server, settings):
    archive()
    row = taken()
    assert row.state == "checking"
    settings.WEIR_REGISTRY_URL = registry_server.url
    version_take(actor=SYSTEM, uid=row.uid)
    version_take(actor=SYSTEM, uid=row.uid)
    row.refresh_from_db()
    assert row.state == "ready"


def test_without_a_registry_nothing_is_asked_for(archive, asked, settings):
    settings.WEIR_REGISTRY_URL = ""
    archive()
    with pytest.raises(NoRegistry):
        asked()


def test_an_image_over_the_quota_is_refused_before_anything_is_taken(archive, asked, keeper, volume):
    tenant = Tenant.objects.get(schema_name="acme")
    quota_set(actor=SYSTEM, tenant=tenant, item="storage_mib", total=volume.size_mib)
    archive()
    with pytest.raises(QuotaExceeded):
        asked()
    assert not ImageVersion.objects.exists()


def test_only_files_that_one_may_open_become_images(archive, asked, keeper, stranger):
    archive()
    with pytest.raises((NotFound, Forbidden)):
        asked(person=keeper)
    with pytest.raises(NotFound):
        asked(person=stranger)
    with pytest.raises(PathRefused):
        asked(path="../other.tar")


def test_each_sees_what_is_his_and_nobody_anothers(archive, asked, ann, keeper, stranger, operator):
    archive()
    own = asked().image
    with pytest.raises(Forbidden):
        asked("ours", owner="tenant")
    assert [row.uid for row in image_list(actor=ann.actor)] == [own.uid]
    assert [row.uid for row in image_list(actor=keeper.actor)] == [own.uid]
    assert not image_list(actor=stranger.actor)
    assert [row.uid for row in image_list(actor=operator("system_administrator").actor)] == [own.uid]
    with in_tenant("globex"), pytest.raises(NotFound):
        image_delete(actor=stranger.actor, uid=own.uid)
    with in_tenant("globex"), pytest.raises(NotFound):
        version_delete(actor=stranger.actor, uid=own.versions.get().uid)


def test_names_and_tags_are_taken_once(archive, asked, ann):
    archive()
    row = asked()
    with pytest.raises(Conflict):
        asked()
    other = asked("other").image
    with pytest.raises(Conflict):
        image_change(actor=ann.actor, uid=other.uid, name="mine")
    image_change(actor=ann.actor, uid=row.image.uid, introduction="What it is")
    row.image.refresh_from_db()
    assert row.image.introduction == "What it is"


def test_what_operators_offer_outlives_what_it_was_made_of(registry, archive, taken, ann, stranger, operator):
    archive()
    row = taken()
    admin = operator("system_administrator").actor
    with pytest.raises(Forbidden):
        version_publish(actor=stranger.actor, uid=row.uid)
    offered = version_publish(actor=admin, uid=row.uid)
    with pytest.raises(Conflict):
        version_publish(actor=admin, uid=row.uid)
    assert [found.owner for found in image_list(actor=stranger.actor)] == ["centre"]
    with in_tenant("globex"), pytest.raises(Forbidden):
        image_delete(actor=stranger.actor, uid=offered.image.uid)
    image_delete(actor=ann.actor, uid=row.image.uid)
    registry_tidy()
    assert Registry(registry.url).manifest(offered.repository, offered.digest)
    image_delete(actor=admin, uid=offered.image.uid)
    registry_tidy([offered.repository])
    assert Registry(registry.url).tags(offered.repository) == []


def test_a_version_deleted_while_it_is_taken_leaves_nothing(registry, archive, asked, ann, monkeypatch):
    archive()
    row = asked()
    push = Registry.push

    def slow(*args: object) -> str:
        digest = push(*args)
        image_delete(actor=ann.actor, uid=row.image.uid)
        return digest

    monkeypatch.setattr(Registry, "push", slow)
    version_take(actor=SYSTEM, uid=row.uid)
    assert not ImageVersion.objects.exists()
    assert not QuotaHold.plain.exclude(state="released").filter(holder_uid=row.uid).exists()
    registry_tidy()
    assert Registry(registry.url).tags(f"acme/{row.image.uid.hex}") == []


def test_who_knows_no_password_gets_nothing_of_the_registry(registry, archive, taken):
    archive()
    row = taken()
    with pytest.raises(RegistryAway):
        Registry(registry.url.replace("weir:", "weir:x")).manifest(row.repository, row.digest)
