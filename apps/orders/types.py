"""What crosses the border of orders: the input of a form line."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class LineInput:
    """One service asked for: `amounts` by component code, per share, in the component's amount unit."""

    commodity_uid: UUID
    amounts: Mapping[str, int]
    count: int = 1
