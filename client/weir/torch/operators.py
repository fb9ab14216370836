"""What an operator's schema says that the device must know: which arguments vary, what aliases what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Special = Callable[[Any, tuple, dict[str, Any]], Any]
# These read the value of a scalar to size their result: it is part of the template, not a slot.
SIZED_BY_SCALARS = frozenset({"arange", "linspace", "logspace", "range", "histc", "bincount", "full_like"})
# Views that their schema does not call views.
UNDECLARED_VIEWS = frozenset({"_unsafe_view"})
# What they return beside the result is not what PyTorch's inference says: the first run of a template shows it.
LAID_OUT_BY_DEVICE = frozenset(
    {
        "native_batch_norm",
        "_native_batch_norm_legit",
        "_native_batch_norm_legit_no_training",
        "_batch_norm_with_update",
        # Of a gradient that nobody asks for (its output_mask) PyTorch's inference says a tensor, and a CPU makes none.
        "native_batch_norm_backward",
        "_embedding_bag",
        "_embedding_bag_forward_only",
        # PyTorch's inference knows it for bfloat16 alone.
        "_grouped_mm",
        # PyTorch's inference says a row where there is a number: no batch, nothing reduced.
        "multi_margin_loss",
        "multilabel_margin_loss_forward",
    }
)
# Of inputs that do not lie one row after another, channels last say, they give what the device thinks best, and
# PyTorch's inference says rows. To lay it out so would cost a copy, and dropout draws its numbers as its input lies.
LAID_OUT_BY_INPUTS = frozenset({"convolution", "convolution_backward"})
# A number where the schema says Tensor is one that PyTorch has wrapped: x * 2.
SCALAR_TYPES = frozenset({"number", "float", "Optional[number]", "Optional[float]", "Tensor"})
VALUE_TYPES = frozenset({"bool", "number", "int", "float"})


class Operator:
    """One aten overload, read once.

    `written`: where the returned arguments stand, for operators that write in place or to `out`.
    `slots`: positions (names, in `slot_names`) of scalars that may differ from call to call.
    `is_shown`: whether the layout of its results is learned from a first run; `is_shown_by_cards`: where the session
    computes on a card, for what is returned beside the result differs from device to device; `is_shown_unless_plain`:
    where not all inputs are contiguous. `is_foreign`: not of aten.
    `special`: handles the overload instead of sending it.
    `lists`: positions and names of lists of tensors; `slot_lists`: of lists of scalars.
    """

    __slots__ = (
        "func",
        "has_several_results",
        "is_foreign",
        "is_shown",
        "is_shown_by_cards",
        "is_shown_unless_plain",
        "is_view",
        "is_void",
        "lists",
        "mutates",
        "name",
        "returns_values",
        "slot_lists",
        "slots",
        "special",
        "written",
    )

    def __init__(self, func: Any) -> None:
        schema = func._schema
        base = schema.name.split("::")[1]
        self.func = func
        self.special: Special | None = _composed(func)
        self.name = f"{schema.name}.{schema.overload_name or 'default'}"
        places = [_written_argument(schema, result) for result in schema.returns]
        self.written = [place for place in places if place is not None]
        self.mutates = any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)
        self.has_several_results = len(schema.returns) > 1
        self.is_void = not schema.returns
        self.is_view = base in UNDECLARED_VIEWS or _declares_view(schema)
        self.is_shown = base in LAID_OUT_BY_DEVICE
        self.is_shown_by_cards = self.is_shown or (
            self.has_several_results and not self.written and not self.is_view
        )
        self.is_shown_unless_plain = base in LAID_OUT_BY_INPUTS
        self.is_foreign = not schema.name.startswith("aten::")
        self.returns_values = any(str(result.type) in VALUE_TYPES for result in schema.returns)
        varying = base not in SIZED_BY_SCALARS
        self.slots = _places(schema, lambda kind: varying and kind in SCALAR_TYPES)
        self.lists = _places(schema, lambda kind: kind.startswith(("List[Tensor", "List[Optional[Tensor")))
        self.slot_lists = _places(schema, lambda kind: kind == "List[number]")


def _composed(func: Any) -> Special | None:
    """How an operator that is made of others runs: they do, as wherever gradients are recorded. Under inference mode
    PyTorch hands it over whole, `x.cpu()` too."""
    name, has_kernel = func.name(), torch._C._dispatch_has_kernel_for_dispatch_key
    if not has_kernel(name, "CompositeImplicitAutograd"):
        return None
    key = torch._C.DispatchKey.PrivateUse1
    if not has_kernel(name, "PrivateUse1"):
        key = torch._C.DispatchKey.CompositeImplicitAutograd

    def run(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return func._op_dk(key, *args, **kwargs)

    return run


def _places(schema: Any, fits: Any) -> frozenset[int | str]:
    """Positions of the positional arguments whose type fits, and names of all."""
    found: set[int | str] = set()
    for position, argument in enumerate(schema.arguments):
        if fits(str(argument.type)):
            found |= {position, argument.name}
    return frozenset(found)


def _written_argument(schema: Any, result: Any) -> tuple[int, str] | None:
    """Position and name of the argument that this return is, where the operator writes to it."""
    if result.alias_info is None or not result.alias_info.is_write:
        return None
    for position, argument in enumerate(schema.arguments):
        alias = argument.alias_info
        if alias is not None and alias.before_set & result.alias_info.before_set:
            return position, argument.name
    return None


def _declares_view(schema: Any) -> bool:
    return any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)


# By id: an overload's own hash is Python code, and overloads live as long as the process.
KNOWN: dict[int, Operator] = {}


def operator_of(func: Any) -> Operator:
    """The description of an overload, made once."""
    found = KNOWN.get(id(func))
    if found is None:
        found = KNOWN[id(func)] = Operator(func)
    return found
