"""Figures that a program writes of itself, drawn on the page of its work while it runs.

    for step, batch in enumerate(batches):
        weir.log({"loss": train(batch)}, step=step)

Programs without this client say `from weir_wire import metrics` and `metrics.log(…)`: a node puts that into the path of
all it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import SupportsFloat

from weir.errors import WeirClientError
from weir_wire import metrics


def log(figures: Mapping[str, SupportsFloat], *, step: int | None = None) -> bool:
    """Write figures by name at a step, without one at the next; False where no pool runs this program.

    Raises WeirClientError for a name, a value or a step that the pool would leave out.
    """
    try:
        return metrics.log(figures, step=step)
    except ValueError as error:
        raise WeirClientError(f"Nothing was logged: {error}.") from error
