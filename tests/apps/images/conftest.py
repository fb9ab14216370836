"""A registry that is really there, volumes, and people of two tenants."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from apps.images.models import ImageVersion
from apps.images.services.imports import image_import, version_take
from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.storage.models import Volume
from apps.storage.services.volumes import volume_make
from apps.tenancy.models import Tenant
from portal.devstack.servers.registry_server import RegistryServer, registry_is_here
from tests.factories.archive import docker_archive, layer
from tests.harness.registry import running_registry


@pytest.fixture(autouse=True)
def places(settings, tmp_path) -> Path:
    settings.WEIR_STORAGE_DIR = tmp_path / "storage"
    settings.WEIR_IMAGES_DIR = tmp_path / "images"
    settings.WEIR_REGISTRY_URL = "http://nobody@127.0.0.1:9"
    return tmp_path


@pytest.fixture(scope="session")
def registry_server(tmp_path_factory) -> Iterator[RegistryServer]:
    if not registry_is_here():
        pytest.skip("docker-registry and skopeo are not installed")
    with running_registry(tmp_path_factory.mktemp("registry")) as server:
        yield server


@pytest.fixture
def registry(settings, registry_server) -> RegistryServer:
    settings.WEIR_REGISTRY_URL = registry_server.url
    return registry_server


@pytest.fixture
def ann(member):
    return member("acme", "tenant_front_line")


@pytest.fixture
def keeper(member):
    """Who manages acme's images."""
    return member("acme", "tenant_operations_manager")


@pytest.fixture
def stranger(member):
    return member("globex", "tenant_operations_manager")


@pytest.fixture
def volume(ann) -> Volume:
    with in_tenant("acme"):
        return volume_make(actor=ann.actor, name="data", size_mib=64)


@pytest.fixture
def archive(volume, places) -> Callable[..., Path]:
    """An archive in ann's volume."""

    def make(*layers: bytes, name: str = "mine.tar", **more: object) -> Path:
        folder = places / "storage" / "acme" / str(volume.uid) / "files"
        return docker_archive(folder / name, *(layers or (layer({"bin/hello": b"#!/bin/sh\n"}),)), **more)

    return make


@pytest.fixture
def asked(ann, volume) -> Callable[..., ImageVersion]:
    """A version asked for and not looked at yet."""

    def ask(
        name: str = "mine", tag: str = "1", *, person=ann, path: str = "mine.tar", **more: object
    ) -> ImageVersion:
        tenant = Tenant.objects.get(schema_name=person.actor.tenant)
        with in_tenant(person.actor.tenant):
            return image_import(
                actor=person.actor,
                tenant=tenant,
                volume=str(volume.uid),
                path=path,
                name=name,
                tag=tag,
                **more,
            )

    return ask


@pytest.fixture
def taken(asked) -> Callable[..., ImageVersion]:
    """A version that a worker has looked at."""

    def take(*args: object, **more: object) -> ImageVersion:
        row = asked(*args, **more)
        version_take(actor=SYSTEM, uid=row.uid)
        row.refresh_from_db()
        return row

    return take
