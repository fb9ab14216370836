from enum import StrEnum


class CasesPermission(StrEnum):
    VIEW = "cases.view"


# Who decides finds what waits for him, and who works on tickets or opens them those that concern him; all of them
# sees who sees all cases.
INBOX = (CasesPermission.VIEW, "approvals.decide")
TICKETS = (CasesPermission.VIEW, "tickets.work", "tickets.open")
