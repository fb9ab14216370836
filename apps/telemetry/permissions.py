from enum import StrEnum


class AlarmPermission(StrEnum):
    VIEW = "alarms.view"
    ACKNOWLEDGE = "alarms.acknowledge"
    MANAGE = "alarms.manage"


class LogPermission(StrEnum):
    VIEW = "logs.view"


class ReportPermission(StrEnum):
    VIEW = "reports.view"
