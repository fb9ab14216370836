from enum import StrEnum


class IdentityPermission(StrEnum):
    VIEW = "identity.view"
    MANAGE = "identity.manage"
    # May give operators every role, also those that may do more than the giver himself.
    GRANT = "identity.grant"
