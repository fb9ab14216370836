"""The agent's side of the metrics of a slice: what is sent next, and what the server has."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from node_agent.files import read_json
from node_agent.protocol.metrics import MetricBatch
from node_agent.runtime.metrics.spool import batch_numbers, batch_path

log = logging.getLogger("weir.agent")


def batch_oldest(folder: Path, slice_uid: str) -> MetricBatch | None:
    """The batch to send next; None where there is none. One that cannot be sent is dropped, which the
    agent's log says."""
    for number in batch_numbers(folder):
        entry = read_json(batch_path(folder, number)) or {}
        try:
            return MetricBatch.model_validate({**entry, "slice_uid": slice_uid, "seq": number})
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            log.warning(
                "metrics of slice %s are dropped, batch %s: %s: %s", slice_uid, number, place, first["msg"]
            )
            batches_drop(folder, number)
    return None


def batches_drop(folder: Path, seq: int) -> None:
    """Delete what the server has: all batches up to this number."""
    for number in batch_numbers(folder):
        if number <= seq:
            with suppress(OSError):
                batch_path(folder, number).unlink()
