"""What a session answers a request with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from weir_wire.wire import Fault


@dataclass(slots=True)
class Reply:
    """The body of a VALUE as buffers; with faults the body is empty.

    `bulk` marks tensor bytes (READ), which travel as PART frames before the VALUE.
    """

    body: list[Any]
    faults: list[Fault]
    bulk: bool = False
