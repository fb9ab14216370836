from enum import StrEnum


class OrgsPermission(StrEnum):
    VIEW = "orgs.view"
    MANAGE = "orgs.manage"
    # May give every role of the tenant, also those that may do more than the giver himself.
    GRANT = "orgs.grant"
