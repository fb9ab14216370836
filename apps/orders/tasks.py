"""Delivery after approval, and the sweep that finds what a lost message left behind."""

from uuid import UUID

from apps.cases.selectors import schemas_with_open
from apps.cases.types import CaseKind
from apps.kernel.acts import SYSTEM
from apps.kernel.tasks import provider_task, tenant_task
from apps.orders.selectors import orders_undelivered
from apps.orders.services.deliveries import order_deliver as deliver


@tenant_task
def order_deliver(schema: str, order_uid: str) -> None:
    """Deliver one order. Coming twice changes nothing."""
    deliver(actor=SYSTEM, order_uid=UUID(order_uid))


@tenant_task
def orders_sweep_tenant(schema: str) -> None:
    """Deliver the approved orders of one tenant whose message was lost, each in its own transaction."""
    for uid in orders_undelivered():
        deliver(actor=SYSTEM, order_uid=uid)


@provider_task
def orders_sweep() -> None:
    """One task for each tenant that has open orders."""
    for schema in schemas_with_open(CaseKind.ORDER):
        orders_sweep_tenant.delay(schema)
