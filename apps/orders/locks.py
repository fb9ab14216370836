"""Locks of orders. What an order stands for, its volume or its work, is always locked before it: so do those from whom
an order hears of its end."""

from uuid import UUID

from django.db import transaction

from apps.orders.models import Order
from apps.scheduling.locks import slices_lock, workload_lock
from apps.storage.services.ordered import ordered_volume_lock


class _Delivered(Exception):
    """It got its resource while we waited for it."""


def order_lock(order_uid: UUID) -> Order | None:
    """The order as it is now, its row locked; None when there is none. Who is to change its resource too takes both
    (`order_take`)."""
    rows = Order.objects.select_for_update(no_key=True, of=("self",)).select_related(
        "line", "business_system"
    )
    return rows.filter(uid=order_uid).first()


def order_take(order_uid: UUID) -> Order | None:
    """The order as it is now, its resource and then its row locked; None when there is none.

    An order that was delivered while we waited for it is let go, and taken again after its resource.
    """
    while True:
        try:
            with transaction.atomic():
                return _taken(order_uid)
        except _Delivered:
            continue


def _taken(order_uid: UUID) -> Order | None:
    known = Order.objects.filter(uid=order_uid).values_list("workload_uid", "volume_uid", "ended_at").first()
    workload_uid, volume_uid, ended_at = known or (None, None, None)
    # The files of an ended order may be gone by now.
    if volume_uid is not None and ended_at is None:
        ordered_volume_lock(volume_uid)
    if workload_uid is not None:
        slices_lock(workload_uid)
        workload_lock(workload_uid)
    order = order_lock(order_uid)
    if order is not None and (order.workload_uid, order.volume_uid) != (workload_uid, volume_uid):
        raise _Delivered
    return order
