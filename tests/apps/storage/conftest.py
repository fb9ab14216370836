"""A folder for volumes, and people of two tenants who have some."""

from collections.abc import Callable
from pathlib import Path

import pytest

from apps.kernel.planes import in_tenant
from apps.storage.models import Volume
from apps.storage.services.volumes import volume_make


@pytest.fixture(autouse=True)
def storage(settings, tmp_path) -> Path:
    settings.WEIR_STORAGE_DIR = tmp_path / "storage"
    return tmp_path / "storage"


@pytest.fixture
def ann(member):
    return member("acme", "tenant_front_line")


@pytest.fixture
def keeper(member):
    """Who manages acme's storage."""
    return member("acme", "tenant_operations_manager")


@pytest.fixture
def stranger(member):
    return member("globex", "tenant_operations_manager")


@pytest.fixture
def made(ann) -> Callable[..., Volume]:
    def make(person=ann, name: str = "data", size_mib: int = 8, **owner: object) -> Volume:
        with in_tenant(person.actor.tenant):
            return volume_make(actor=person.actor, name=name, size_mib=size_mib, **owner)

    return make


@pytest.fixture
def files(storage) -> Callable[[Volume], Path]:
    """Where the files of a volume of acme lie."""
    return lambda volume: storage / "acme" / str(volume.uid) / "files"
