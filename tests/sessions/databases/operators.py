"""PyTorch's own operator database against the device: forward and backward, float32, at most two samples each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_map

from tests.sessions.databases.comparing import (
    Tally,
    check_equal,
    gradients,
    moved,
    on_device,
    reference,
    seed,
    tensors_of,
)

SAMPLES = 2
# Their results are whatever the memory holds: only layout and type can be equal.
UNSPECIFIED = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted"}


def samples(op: Any, *, needs_grad: bool) -> Iterator[Any]:
    """The first samples of an operator in float32 on the CPU."""
    if torch.float32 not in op.supported_dtypes("cpu") or (needs_grad and not op.supports_autograd):
        return iter(())
    seed(0)
    return itertools.islice(op.sample_inputs("cpu", torch.float32, requires_grad=needs_grad), SAMPLES)


def run(op: Any, sample: Any, change: Callable[[Any], Any]) -> tuple[Any, list[torch.Tensor]]:
    """The operator's result and the tensors that were put in."""
    arguments = tree_map(change, (sample.input, sample.args, sample.kwargs))
    seed(7)
    first, rest, named = arguments
    return op(first, *rest, **named), tensors_of(arguments)


def compare(op: Any, sample: Any, local: tuple[Any, list[Any]], wanted: list[Any] | None) -> None:
    """Run the sample on the device. Raises AssertionError where it is wrong, anything else where it is refused."""
    mine, leaves = run(op, sample, on_device)
    if wanted is None:
        check_equal(mine, local[0], has_values=op.name not in UNSPECIFIED)
    else:
        check_equal(gradients(mine, leaves), wanted)


def suite(tally: Tally, only: str, *, needs_grad: bool) -> None:
    """Run the samples of every operator whose name holds `only`: those that work at the reference itself."""
    for op in op_db:
        if only not in op.formatted_name:
            continue
        for sample in samples(op, needs_grad=needs_grad):
            if not tally.is_due():
                continue
            # Nothing is derived backwards on a card beside the device weir.
            place = "cpu" if needs_grad else reference()
            try:
                local = run(op, sample, lambda value, place=place: moved(value, place))
                wanted = gradients(*local) if needs_grad else None
            except Exception:
                continue
            tally.add(op.formatted_name, lambda case=(op, sample, local, wanted): compare(*case))
