from enum import StrEnum


class TicketsPermission(StrEnum):
    WORK = "tickets.work"


# Who sees the tenant's orders sees the work on them too.
FOLLOW = "orders.view_all"
