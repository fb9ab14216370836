from enum import StrEnum


class CasesPermission(StrEnum):
    VIEW = "cases.view"
