from enum import StrEnum


class TenancyPermission(StrEnum):
    VIEW = "tenancy.view"
    MANAGE = "tenancy.manage"
