"""Figures that a program writes of itself, drawn on the page of its work while it runs.

    from weir_wire import metrics

    for step, batch in enumerate(batches):
        metrics.log({"loss": train(batch)}, step=step)

A node puts this into the path of all that it runs in its own environment; where the client is installed it is
`weir.log`.

`weir metrics W-1 W-2` lists them, and the portal draws those of several works together. A program in another language
appends the same lines, `{"step": 3, "loss": 0.5}`, to a file that ends in `.jsonl` in the folder that the variable
WEIR_METRICS_DIR names; TensorBoard's `SummaryWriter(os.environ["WEIR_METRICS_DIR"])` is read as well.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import SupportsFloat

VARIABLE = "WEIR_METRICS_DIR"
# What a node reads of it.
LINE_BYTES, NAME_CHARACTERS = 64 * 1024, 120
_OWN = ("step", "time")


def log(metrics: Mapping[str, SupportsFloat], *, step: int | None = None) -> bool:
    """Write figures by name at a step, without one at the next; False where no pool runs this program.

    A value is whatever `float()` takes: a number, a NumPy scalar, a tensor of one element. Raises ValueError for a
    name, a value or a step that the pool would leave out.
    """
    line = json.dumps(
        {**_numbers(metrics), **({} if step is None else {"step": _step(step)}), "time": time.time()}
    )
    if len(line) > LINE_BYTES:
        raise ValueError("these are too many metrics for one call: log them in several")
    folder = os.environ.get(VARIABLE)
    if not folder:
        return False
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    # In one write: what another thread or process appends stands before it or behind it.
    with (place / f"weir-{os.getpid()}.jsonl").open("ab", buffering=0) as file:
        file.write(f"{line}\n".encode())
    return True


def _numbers(metrics: Mapping[str, SupportsFloat]) -> dict[str, float]:
    numbers = {}
    for name, value in metrics.items():
        if (
            not isinstance(name, str)
            or not 0 < len(name.strip()) <= NAME_CHARACTERS
            or not name.isprintable()
        ):
            raise ValueError(f"{name!r} is no name of a metric: use 1 to {NAME_CHARACTERS} characters")
        if name in _OWN:
            raise ValueError(f"a metric cannot be called {name!r}: give the step as step=…")
        try:
            numbers[name] = float(value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"metric {name!r} is no number: log one by each name") from error
    return numbers


def _step(step: int) -> int:
    if isinstance(step, bool) or not isinstance(step, int) or step < 0:
        raise ValueError(f"{step!r} is no step: it is a whole number from 0")
    return step
