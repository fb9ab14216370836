from enum import StrEnum


class ConformancePermission(StrEnum):
    VIEW = "conformance.view"
    RUN = "conformance.run"
