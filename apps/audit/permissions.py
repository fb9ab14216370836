from enum import StrEnum


class AuditPermission(StrEnum):
    VIEW = "audit.view"
    # Held by no role: only the system seals.
    SEAL = "audit.seal"
