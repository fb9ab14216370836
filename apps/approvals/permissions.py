from enum import StrEnum


class ApprovalsPermission(StrEnum):
    DECIDE = "approvals.decide"


# Who sees the tenant's forms sees their approval too.
FOLLOW = "orders.view_all"
