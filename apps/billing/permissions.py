from enum import StrEnum


class BillingPermission(StrEnum):
    VIEW = "billing.view"
    PAY = "billing.pay"
    MANAGE = "billing.manage"
