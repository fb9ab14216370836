from dataclasses import dataclass
from uuid import UUID

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class OrderMade(Event):
    """An order waits for delivery: made on approval, or back after a refused termination (PLAT-OPS-22)."""

    schema: str
    order_uid: UUID
