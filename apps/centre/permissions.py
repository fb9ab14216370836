from enum import StrEnum


class CentrePermission(StrEnum):
    MANAGE = "centre.manage"
    # Storage classes: where the volumes of all tenants are kept.
    STORAGE = "centre.storage"
