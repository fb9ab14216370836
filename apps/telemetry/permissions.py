from enum import StrEnum


class AlarmPermission(StrEnum):
    VIEW = "alarms.view"
    MANAGE = "alarms.manage"
