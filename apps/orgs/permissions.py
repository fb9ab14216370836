from enum import StrEnum


class OrgsPermission(StrEnum):
    VIEW = "orgs.view"
    MANAGE = "orgs.manage"
