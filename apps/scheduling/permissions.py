from enum import StrEnum


class SchedulingPermission(StrEnum):
    VIEW = "scheduling.view"
    MANAGE = "scheduling.manage"


class ResourcePermission(StrEnum):
    VIEW = "resources.view"
    OPERATE = "resources.operate"
