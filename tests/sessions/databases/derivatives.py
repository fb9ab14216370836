"""What PyTorch's autograd tests derive of its databases: second derivatives, derivatives forwards, the forms of an
operator (method, in place, into a given tensor), every type of number; and its functions written in Python."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.testing._internal.autograd_function_db import autograd_function_db
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_map

from tests.sessions.databases.comparing import Tally, gradients, moved, seed, tensors_of, total
from tests.sessions.databases.operators import SAMPLES, UNSPECIFIED
from weir_wire import wire

Case = Callable[[str], Any]


def _arguments(sample: Any, place: str) -> Any:
    made = tree_map(lambda value: moved(value, place), (sample.input, sample.args, sample.kwargs))
    seed(7)
    return made


def _samples(op: Any, dtype: torch.dtype, *, needs_grad: bool) -> Iterator[Any]:
    seed(0)
    return itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=needs_grad), SAMPLES)


def twice(op: Any, sample: Any) -> Case:
    """The derivative of the derivatives."""

    def check(place: str) -> Any:
        first, rest, named = arguments = _arguments(sample, place)
        leaves = [x for x in tensors_of(arguments) if x.requires_grad]
        once = [x for x in gradients(op(first, *rest, **named), leaves, again=True) if x is not None]
        return torch.autograd.grad(total(once), leaves, allow_unused=True)

    return check


def forwards(op: Any, sample: Any) -> Case:
    """The derivative of the result along fixed directions of the tensors put in."""

    def check(place: str) -> Any:
        with forward_ad.dual_level():

            def dual(value: Any) -> Any:
                if not isinstance(value, torch.Tensor) or not value.is_floating_point():
                    return value
                return forward_ad.make_dual(value, torch.ones_like(value) * 0.5)

            first, rest, named = tree_map(dual, _arguments(sample, place))
            seed(7)
            result = tensors_of(op(first, *rest, **named))
            return [forward_ad.unpack_dual(x).tangent for x in result]

    return check


def typed(op: Any, sample: Any) -> Case:
    """The operator alone, whatever the type."""

    def check(place: str) -> Any:
        first, rest, named = _arguments(sample, place)
        return op(first, *rest, **named)

    return check


def into(op: Any, sample: Any) -> Case:
    """The result written to tensors that are given."""

    def check(place: str) -> Any:
        first, rest, named = _arguments(sample, place)
        result = op(first, *rest, **named)
        room = tree_map(lambda x: torch.empty_like(x) if isinstance(x, torch.Tensor) else x, result)
        op(first, *rest, **named, out=room)
        return room

    return check


def _cases(op: Any) -> Iterator[tuple[str, Case]]:
    """Every derived case of an operator; a database that cannot make its own samples has none."""
    name = op.formatted_name
    if torch.float64 in op.supported_dtypes("cpu"):
        plain = list(_samples(op, torch.float64, needs_grad=op.supports_autograd))
        for sample in plain:
            if op.supports_autograd and op.supports_gradgrad:
                yield f"{name} twice", twice(op, sample)
            if op.supports_autograd and op.supports_forward_ad:
                yield f"{name} forwards", forwards(op, sample)
        yield from _forms(op, _samples(op, torch.float64, needs_grad=False))
    for dtype in sorted(op.supported_dtypes("cpu"), key=str):
        if str(dtype).removeprefix("torch.") in wire.DTYPE_BYTES and dtype is not torch.float32:
            for sample in itertools.islice(_samples(op, dtype, needs_grad=False), 1):
                yield f"{name} {dtype}", typed(op, sample)


def _forms(op: Any, samples: Iterator[Any]) -> Iterator[tuple[str, Case]]:
    name = op.formatted_name
    for sample in samples:
        if op.method_variant is not None:
            yield f"{name} as a method", typed(op.method_variant, sample)
        if op.inplace_variant is not None and not sample.broadcasts_input:
            yield f"{name} in place", typed(op.inplace_variant, sample)
        if op.supports_out:
            yield f"{name} into", into(op, sample)


def suite(tally: Tally, only: str) -> None:
    """Run the derived cases of every operator whose name holds `only`; one of `every` operators, with all its cases."""
    for op in (*op_db, *autograd_function_db):
        if only not in op.formatted_name or op.name in UNSPECIFIED or not tally.is_due():
            continue
        for name, case in _made(op):
            tally.compare(name, case)


def _made(op: Any) -> list[tuple[str, Case]]:
    try:
        return list(_cases(op))
    except Exception:
        # Some samples need a library or a device that is not here, for the CPU as well.
        return []
