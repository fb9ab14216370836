from enum import StrEnum


class CentersPermission(StrEnum):
    VIEW = "centers.view"
    MANAGE = "centers.manage"
