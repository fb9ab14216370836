from enum import StrEnum


class CatalogPermission(StrEnum):
    VIEW = "catalog.view"
    MANAGE = "catalog.manage"


class CouponPermission(StrEnum):
    CLAIM = "coupons.claim"
    MANAGE = "coupons.manage"
