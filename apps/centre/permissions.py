from enum import StrEnum


class CentrePermission(StrEnum):
    MANAGE = "centre.manage"
