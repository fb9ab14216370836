from enum import StrEnum


class FleetPermission(StrEnum):
    VIEW = "fleet.view"
    MANAGE = "fleet.manage"
