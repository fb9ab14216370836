"""The driver that this centre keeps its volumes on."""

from django.conf import settings

from apps.storage.drivers.base import Driver
from apps.storage.drivers.directory import Directory


def driver() -> Driver:
    return Directory(settings.WEIR_STORAGE_DIR)
