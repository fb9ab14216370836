"""The tables of the fleet, whichever module defines them."""

from apps.fleet.gangs import GangSize
from apps.fleet.models.container_saves import ContainerSave
from apps.fleet.models.folder_uploads import FolderUpload, FolderUse
from apps.fleet.models.logs import LOG_MAX_BYTES, LogChunk, Watch
from apps.fleet.models.metrics import MetricSeries
from apps.fleet.models.pool import (
    OVERSUBSCRIBE_MAX_PERMILLE,
    Device,
    GroupGrant,
    Node,
    ResourceGroup,
    Slice,
    Spec,
)
from apps.fleet.models.secrets import Secret
from apps.fleet.models.work_folders import WorkFolder

__all__ = [
    "LOG_MAX_BYTES",
    "OVERSUBSCRIBE_MAX_PERMILLE",
    "ContainerSave",
    "Device",
    "FolderUpload",
    "FolderUse",
    "GangSize",
    "GroupGrant",
    "LogChunk",
    "MetricSeries",
    "Node",
    "ResourceGroup",
    "Secret",
    "Slice",
    "Spec",
    "Watch",
    "WorkFolder",
]
