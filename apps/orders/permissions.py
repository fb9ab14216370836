from enum import StrEnum


class OrdersPermission(StrEnum):
    VIEW = "orders.view"
    VIEW_ALL = "orders.view_all"
    APPLY = "orders.apply"
    TERMINATE = "orders.terminate"
