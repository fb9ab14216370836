"""Templates: one operator with one kind of arguments, its results' layout inferred once and told to the worker once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from weir.torch.device import Device, handle_of
from weir.torch.metas import Meta, meta_like
from weir.torch.operators import Operator
from weir_wire import wire

DTYPES = {name: getattr(torch, name) for name in wire.DTYPE_BYTES}
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
INT64 = range(-(1 << 63), 1 << 63)


class Template:
    """What a key stands for. `id` is None where the operator must be called synchronously.

    `outputs`: (layout, bytes of fresh memory) of each flattened result, layout None where the result is None.
    `shape`: how results nest: "tensor", "none", "written" (the arguments themselves) or a nested list.
    """

    __slots__ = ("id", "is_view", "nbytes", "outputs", "shape")

    def __init__(
        self,
        number: int | None,
        shape: Any = "none",
        outputs: Iterable[Meta | None] = (),
        *,
        is_view: bool = False,
    ) -> None:
        self.id, self.shape, self.is_view = number, shape, is_view
        self.outputs = [(m, 0 if m is None or is_view else m.storage_nbytes) for m in outputs]
        self.nbytes = sum(nbytes for _, nbytes in self.outputs)


SYNCHRONOUS = Template(None)


class Slots:
    """Counts inputs and scalars while arguments are written down."""

    def __init__(self) -> None:
        self.inputs = self.ints = self.floats = 0

    def scalar(self, value: float) -> list[Any]:
        if type(value) is float:
            self.floats += 1
            return ["f", self.floats - 1]
        self.ints += 1
        return ["i", self.ints - 1]

    def tensor(self) -> list[Any]:
        self.inputs += 1
        return ["t", self.inputs - 1]


def is_slot(value: Any) -> bool:
    """Whether this scalar travels in a slot of the record: floats, and ints of 64 bits."""
    kind = type(value)
    return kind is float or (kind is int and value in INT64)


def describe(operator: Operator, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The template as the worker reads it, but for its id and outs. Raises NotImplementedError for odd arguments."""
    slots = Slots()
    positional = [_node(value, slots, operator, place) for place, value in enumerate(args)]
    named = {name: _node(value, slots, operator, name) for name, value in kwargs.items()}
    return {
        "op": operator.name,
        "args": positional,
        "kwargs": named,
        "n_inputs": slots.inputs,
        "n_ints": slots.ints,
        "n_floats": slots.floats,
    }


def _node(value: Any, slots: Slots, operator: Operator, place: int | str) -> list[Any]:
    if place in operator.slots and is_slot(value):
        return slots.scalar(value)
    if isinstance(value, (list, tuple)):
        if place in operator.slot_lists:
            return ["l", [slots.scalar(v) if is_slot(v) else constant_node(v) for v in value]]
        return ["l", [slots.tensor() if isinstance(v, torch.Tensor) else constant_node(v) for v in value]]
    return slots.tensor() if isinstance(value, torch.Tensor) else constant_node(value)


def constant_node(value: Any) -> list[Any]:
    """An argument that is part of the template. Raises NotImplementedError, TypeError."""
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return ["c", value]
    if kind in (float, complex):
        return wire.float_node(value)
    if kind is torch.dtype:
        return ["d", DTYPE_NAMES[value]]
    if kind is torch.device:
        return ["dev"]
    if kind is torch.memory_format:
        return ["m", str(value).removeprefix("torch.")]
    if kind is torch.layout:
        return ["y", str(value).removeprefix("torch.")]
    if isinstance(value, torch.Generator):
        raise NotImplementedError(
            "torch.Generator cannot live on the device weir: leave generator= out and seed with torch.manual_seed"
        )
    raise NotImplementedError(f"an argument of type {kind.__name__} cannot be sent to the device weir")


def make_template(
    device: Device, operator: Operator, args: tuple, kwargs: dict[str, Any], key: tuple
) -> Template:
    """Infer the results, tell the worker, remember. Raises what the operator itself raises for bad arguments."""
    template = _inferred(device, operator, args, kwargs)
    description: dict[str, Any] = {}
    if template.id is not None:
        description = describe(operator, args, kwargs)
        description["outs"] = [None if m is None else _out(m) for m, _ in template.outputs]
    device.template_added(key, template, description)
    return template


def learn_template(
    device: Device, operator: Operator, args: tuple, kwargs: dict[str, Any], key: tuple, result: Any
) -> None:
    """Remember the layout of results that a first run has shown."""
    flat: list[torch.Tensor | None] = []
    shape = _nesting(result, flat)
    outputs = [None if x is None else handle_of(x).meta for x in flat]
    template = Template(next(device.template_ids), shape, outputs)
    description = describe(operator, args, kwargs)
    device.template_added(key, template, {**description, "outs": [m and _out(m) for m in outputs]})


def _out(meta: Meta) -> list[Any]:
    return [list(meta.size), list(meta.stride), DTYPE_NAMES[meta.dtype]]


def _inferred(device: Device, operator: Operator, args: tuple, kwargs: dict[str, Any]) -> Template:
    if operator.returns_values:
        return SYNCHRONOUS
    result = _shadow_run(operator, args, kwargs)
    if result is SYNCHRONOUS:
        return SYNCHRONOUS
    if operator.written or operator.is_void:
        return Template(next(device.template_ids), "written" if operator.written else "none")
    flat: list[torch.Tensor | None] = []
    shape = _nesting(result, flat)
    if any(x is not None and (x.layout is not torch.strided or x.is_quantized) for x in flat):
        raise NotImplementedError(f"{operator.name}: the device weir holds dense tensors only")
    outputs = [None if x is None else meta_like(x, device.index) for x in flat]
    return Template(next(device.template_ids), shape, outputs, is_view=operator.is_view)


def _shadow_run(operator: Operator, args: tuple, kwargs: dict[str, Any]) -> Any:
    """The operator's result on meta tensors; SYNCHRONOUS where only its data tells."""
    written: list[tuple[torch.Tensor, Meta]] = []

    def shade(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            meta = handle_of(value).meta
            shadow = meta.fresh_shadow() if operator.mutates else meta.shadow()
            written.append((shadow, meta))
            return shadow
        if isinstance(value, (list, tuple)):
            return [shade(item) for item in value]
        return torch.device("meta") if isinstance(value, torch.device) else value

    try:
        result = operator.func(*map(shade, args), **{name: shade(value) for name, value in kwargs.items()})
    except (NotImplementedError, RuntimeError) as error:
        if _is_about_data(error):
            return None if operator.written or operator.is_void else SYNCHRONOUS
        raise
    if operator.mutates:
        _check_unmoved(operator, written)
    return result


def _is_about_data(error: Exception) -> bool:
    """Whether an inference failed because it has no data, and not because the arguments are wrong."""
    text = str(error).lower()
    return isinstance(error, NotImplementedError) or "meta" in text or "data-dependent" in text


def _check_unmoved(operator: Operator, written: list[tuple[torch.Tensor, Meta]]) -> None:
    for shadow, meta in written:
        if tuple(shadow.shape) != meta.size or tuple(shadow.stride()) != meta.stride:
            raise RuntimeError(
                f"{operator.name}: this would resize a tensor on the device weir, which cannot be done."
                f" It has shape {list(meta.size)}, the result needs {list(shadow.shape)}: allocate it so"
            )


def _nesting(value: Any, flat: list) -> Any:
    if value is None or isinstance(value, torch.Tensor):
        flat.append(value)
        return "tensor"
    return (type(value) is list, [_nesting(item, flat) for item in value])


def nested(shape: Any, leaves: Iterator[Any]) -> Any:
    """The results in the form the operator returns them."""
    if shape == "tensor":
        return next(leaves)
    is_list, items = shape
    made = [nested(item, leaves) for item in items]
    return made if is_list else tuple(made)
