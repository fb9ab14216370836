"""Delivery after approval, and the sweep that finds what a lost message left behind."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from apps.cases.selectors import case_drift_list, schemas_with_open
from apps.cases.types import CaseKind
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Busy
from apps.kernel.tasks import provider_task, tenant_task
from apps.orders.selectors import (
    open_orders_due,
    orders_ending,
    orders_undelivered,
    orders_untold,
    rows_shown,
    volume_orders_open,
)
from apps.orders.services.deliveries import order_deliver as deliver
from apps.orders.services.deliveries import order_follow
from apps.orders.services.ending_soon import order_end_tell
from apps.orders.services.open_ended import open_order_follow
from apps.orders.services.volume_orders import volume_order_follow
from apps.tenancy.selectors import tenant_active_list

log = logging.getLogger(__name__)
REPORTED_MAX = 20


@tenant_task
def order_deliver(schema: str, order_uid: str) -> None:
    """Deliver one order. Coming twice changes nothing; where something is away for a moment the sweep tries again."""
    with _until_the_sweep(UUID(order_uid)):
        deliver(actor=SYSTEM, order_uid=UUID(order_uid))


@tenant_task
def orders_sweep_tenant(schema: str) -> None:
    """Deliver one tenant's approved orders whose message was lost, and tell orders what their resources did
    without them, and tell people what is about to end: each in its own transaction, whatever becomes of the others."""
    for uid in orders_undelivered():
        with _whatever_becomes_of(uid):
            deliver(actor=SYSTEM, order_uid=uid)
    for uid, work in orders_untold():
        with _whatever_becomes_of(uid):
            order_follow(actor=SYSTEM, order_uid=uid, work=work)
    for uid, at in orders_ending():
        with _whatever_becomes_of(uid):
            order_end_tell(actor=SYSTEM, order_uid=uid, ends_at=at)
    for uid in open_orders_due():
        with _whatever_becomes_of(uid):
            open_order_follow(actor=SYSTEM, order_uid=uid)


@tenant_task
def volumes_meter_tenant(schema: str) -> None:
    """Meter one tenant's ordered volumes, and end those whose time is over: each in its own transaction."""
    for uid in volume_orders_open():
        with _whatever_becomes_of(uid):
            volume_order_follow(actor=SYSTEM, order_uid=uid)


@provider_task
def volumes_meter() -> None:
    """One task for each tenant that has open orders."""
    for schema in schemas_with_open(CaseKind.ORDER):
        volumes_meter_tenant.delay(schema)


@contextmanager
def _until_the_sweep(order_uid: UUID) -> Iterator[None]:
    try:
        yield
    except Busy as error:
        log.info("order %s waits for the next sweep: %s", order_uid, error)


@contextmanager
def _whatever_becomes_of(order_uid: UUID) -> Iterator[None]:
    try:
        with _until_the_sweep(order_uid):
            yield
    except Exception:
        log.exception("the sweep could not mend order %s", order_uid)


@provider_task
def orders_sweep() -> None:
    """One task for each tenant that has open orders."""
    for schema in schemas_with_open(CaseKind.ORDER):
        orders_sweep_tenant.delay(schema)


@tenant_task
def cases_reconcile_tenant(schema: str) -> None:
    """Report, without mending, each case of one tenant that is not as its row: a writer forgot it."""
    drifted = case_drift_list(rows_shown())
    if drifted:
        log.error("cases of %s are not as their rows: %s", schema, drifted[:REPORTED_MAX])


@provider_task
def cases_reconcile() -> None:
    """Nightly: one task for each active tenant."""
    for schema in tenant_active_list().values_list("schema_name", flat=True):
        cases_reconcile_tenant.delay(schema)
