from enum import StrEnum


class TicketingPermission(StrEnum):
    MANAGE = "tickets.manage"
    # Who may be given tickets: their own app asks for it.
    WORK = "tickets.work"
