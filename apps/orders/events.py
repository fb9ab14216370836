from dataclasses import dataclass
from uuid import UUID

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class OrderMade(Event):
    """An order waits for delivery: made on approval, or back after a refused termination (PLAT-OPS-22)."""

    schema: str
    order_uid: UUID


@dataclass(frozen=True, slots=True)
class FormSubmitted(Event):
    schema: str
    form_uid: UUID


@dataclass(frozen=True, slots=True)
class OrderDelivered(Event):
    """The resource of an order runs."""

    schema: str
    order_uid: UUID


@dataclass(frozen=True, slots=True)
class OrderEnded(Event):
    """The resource of an order is released, for whatever reason."""

    schema: str
    order_uid: UUID
