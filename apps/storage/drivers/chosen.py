"""The drivers that this centre keeps its volumes on: its own folder, and one for each storage class."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from pathlib import Path
from uuid import UUID

from django.conf import settings

from apps.centre.models import StorageClass
from apps.centre.states import StorageKind
from apps.centre.storage_classes import storage_class_list, storage_class_of, storage_secret
from apps.storage.drivers.base import Driver
from apps.storage.drivers.directory import Directory
from apps.storage.drivers.mounted import Mounted
from apps.storage.drivers.s3 import S3
from apps.storage.drivers.s3_client import Bucket
from apps.storage.models import Volume


def driver(of: Volume | UUID | None = None) -> Driver:
    """The driver of a volume, given itself or by its uid; without one, of one that is no more and of one that has no
    class that of the centre's own folder."""
    class_pk: int | None = None
    if isinstance(of, UUID):
        class_pk = Volume.objects.filter(uid=of).values_list("storage_class", flat=True).first()
    elif of is not None:
        class_pk = of.storage_class_id
    return own_driver() if class_pk is None else class_driver(storage_class_of(class_pk))


def own_driver() -> Driver:
    """The driver of the centre's own folder."""
    return Directory(Path(settings.WEIR_STORAGE_DIR))


def class_driver(row: StorageClass) -> Driver:
    """The driver of a storage class, as it is now: a changed key counts from the next call on."""
    return _class_driver(row.pk, row.updated_at, row)


@lru_cache(maxsize=64)
def _kept(pk: int, updated_at: datetime) -> list[Driver]:
    """Where a class's driver is kept while the class is as it is."""
    return []


def _class_driver(pk: int, updated_at: datetime, row: StorageClass) -> Driver:
    kept = _kept(pk, updated_at)
    if not kept:
        kept.append(driver_made(row, storage_secret(row)))
    return kept[0]


def driver_made(row: StorageClass, secret: str) -> Driver:
    """A driver for a class as it stands, kept or not."""
    if row.kind == StorageKind.MOUNTED:
        return Mounted(Path(row.path), row.mark)
    prefix = f"{row.prefix.strip('/')}/" if row.prefix.strip("/") else ""
    return S3(
        Bucket(row.endpoint, row.bucket, row.access_key, secret, prefix, row.region or "us-east-1"),
    )


def drivers() -> list[Driver]:
    """All of them: what belongs to no volume is looked for in each."""
    return [own_driver(), *map(class_driver, storage_class_list())]
