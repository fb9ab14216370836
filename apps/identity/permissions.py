from enum import StrEnum


class IdentityPermission(StrEnum):
    VIEW = "identity.view"
    MANAGE = "identity.manage"
