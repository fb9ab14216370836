"""Templates: an operator with the skeleton of its arguments, written down once and run many times."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch

from node_agent.sessions.execution import operator_allowlist
from weir_wire import wire
from weir_wire.wire import WireError

_MEMORY_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
# Hands out its argument's storage although the schema does not say so.
_ALIASES_SILENTLY = frozenset({"aten::_unsafe_view.default", "aten::lift_fresh.default"})
# Grow what they write to although it is no `out`: the observers of quantisation lay out their statistics.
_GROWS_IN_PLACE = re.compile(r"aten::_?fused_moving_avg_obs_.*")

Values = tuple[list[torch.Tensor], list[int], list[float]]
Builder = Callable[[Values], Any]


def dtype_of(name: Any) -> torch.dtype:
    """The dtype of a name of the protocol. Raises WireError."""
    if name not in wire.DTYPE_BYTES:
        raise WireError(f"unknown dtype {name!r}")
    return getattr(torch, name)  # type: ignore[no-any-return]


def name_of(dtype: torch.dtype) -> str:
    """The protocol's name of a dtype."""
    return str(dtype).removeprefix("torch.")


class Template:
    """One compiled template. `need_bytes` is what a run is expected to allocate."""

    __slots__ = (
        "_args",
        "_is_plain",
        "_kwargs",
        "_slots",
        "call",
        "device",
        "is_checked",
        "is_simple",
        "is_zeroed",
        "may_grow",
        "n_floats",
        "n_inputs",
        "n_ints",
        "n_outs",
        "need_bytes",
        "op",
        "outs",
        "restrides",
        "source",
        "writes",
    )

    def __init__(self, source: dict[str, Any], device: torch.device) -> None:
        """Raises WireError and operator_allowlist.NotAllowed."""
        self.source, self.device = source, device
        self.op = str(source.get("op"))
        overload = operator_allowlist.operator_of(self.op)
        self.call = overload._op
        self.n_inputs, self.n_ints, self.n_floats = (
            _count(source, name) for name in ("n_inputs", "n_ints", "n_floats")
        )
        self.outs = _outs(source.get("outs", []))
        self.n_outs = sum(out is not None for out in self.outs)
        self.is_zeroed = operator_allowlist.shows_old_memory(self.op)
        self.is_checked = False
        self.restrides = False
        self.is_simple = False
        schema = overload._schema
        args, kwargs = _arguments(source, schema)
        self.writes, self.may_grow = _writes(args, kwargs, schema)
        is_alias = self.op in _ALIASES_SILENTLY or any(one.alias_info is not None for one in schema.returns)
        self.need_bytes = 0 if is_alias else sum(_bytes(out) for out in self.outs if out is not None)
        self._compile(args, kwargs)

    def run(self, inputs: list[torch.Tensor], ints: list[int], floats: list[float]) -> Any:
        """Call the operator; raises whatever it raises."""
        values = (inputs, ints, floats)
        if self._is_plain:
            return self.call(*inputs, *self._args, **self._kwargs)
        args = self._args.copy()
        for at, build in self._slots:
            args[at] = build(values)
        kwargs = {name: value(values) for name, value in self._kwargs.items()}
        return self.call(*args, **kwargs)

    def ran(self, nbytes: int) -> None:
        """What the run allocated; the next one is expected to be like it."""
        self.need_bytes = nbytes
        self.is_simple = self.n_outs == len(self.outs) == 1 and not (self.restrides or self.is_zeroed)

    def _compile(self, args: list[Any], kwargs: dict[str, Any]) -> None:
        """Plain: the inputs in order, then constants. Else constants with slots to fill."""
        n = self.n_inputs
        leads = [node[:2] for node in args[:n]] == [["t", k] for k in range(n)]
        rest = [*args[n:], *kwargs.values()]
        self._is_plain = leads and not any(map(_is_dynamic, rest))
        self._slots: list[tuple[int, Builder]] = []
        if self._is_plain:
            nothing: Values = ([], [], [])
            self._args = [self._builder(node)(nothing) for node in args[n:]]
            self._kwargs = {name: self._builder(node)(nothing) for name, node in kwargs.items()}
            return
        self._args = [None] * len(args)
        self._slots = [(at, self._builder(node)) for at, node in enumerate(args)]
        self._kwargs = {name: self._builder(node) for name, node in kwargs.items()}

    def _builder(self, node: Any, depth: int = 0) -> Builder:
        if not isinstance(node, list) or not node or depth > wire.MAX_DEPTH:
            raise WireError("an argument should be a node")
        kind, rest = node[0], node[1:]
        if kind in ("t", "i", "f"):
            return _slot(kind, rest, {"t": self.n_inputs, "i": self.n_ints, "f": self.n_floats}[kind])
        if kind == "l" and len(rest) == 1 and isinstance(rest[0], list):
            return _list([self._builder(one, depth + 1) for one in rest[0]])
        value = self.device if node == ["dev"] else constant(kind, rest)
        return lambda values: value


def _slot(kind: str, rest: list[Any], limit: int) -> Builder:
    if len(rest) != 1 or type(rest[0]) is not int or not 0 <= rest[0] < limit:
        raise WireError("a slot should lie within what the record holds")
    column, k = "tif".index(kind), rest[0]
    return lambda values: values[column][k]


def _list(builders: list[Builder]) -> Builder:
    return lambda values: [build(values) for build in builders]


def constant(kind: Any, rest: list[Any]) -> Any:
    """The value of a constant node. Raises WireError."""
    if kind == "z" and len(rest) == 2:
        return complex(wire.float_of(rest[0]), wire.float_of(rest[1]))
    if len(rest) != 1:
        raise WireError("a constant of unknown form")
    value = rest[0]
    if kind == "c" and (value is None or isinstance(value, bool | int | str)):
        return value
    if kind == "x":
        return wire.float_of(value)
    if kind == "d":
        return dtype_of(value)
    if kind == "m" and value in _MEMORY_FORMATS:
        return getattr(torch, value)
    if kind == "y" and value == "strided":
        return torch.strided
    raise WireError("a constant of unknown form")


def _is_dynamic(node: Any) -> bool:
    if not isinstance(node, list) or not node:
        return False
    return node[0] in ("t", "i", "f") or (node[0] == "l" and any(map(_is_dynamic, node[-1])))


def _count(source: dict[str, Any], name: str) -> int:
    value = source.get(name, 0)
    if type(value) is not int or not 0 <= value < 1 << 16:
        raise WireError(f"{name} should be a count")
    return value


def _outs(rows: Any) -> list[Any]:
    """[(shape, stride, dtype) | None]. Raises WireError."""
    if not isinstance(rows, list) or len(rows) > wire.MAX_ROOM:
        raise WireError("outs should be a list")
    return [None if row is None else _out(row) for row in rows]


def _out(row: Any) -> tuple[tuple[int, ...], tuple[int, ...], torch.dtype]:
    if not isinstance(row, list) or len(row) != 3:
        raise WireError("an output should be [shape, stride, dtype]")
    shape, stride, name = row
    wire.extent(shape, stride)
    return tuple(shape), tuple(stride), dtype_of(name)


def _bytes(out: tuple[tuple[int, ...], tuple[int, ...], torch.dtype]) -> int:
    shape, stride, dtype = out
    if 0 in shape:
        return 0
    return (1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))) * dtype.itemsize


def _arguments(source: dict[str, Any], schema: Any) -> tuple[list[Any], dict[str, Any]]:
    """Nodes of the arguments, devices forced to the session's. Raises WireError."""
    args, kwargs = source.get("args"), source.get("kwargs", {})
    if not isinstance(args, list) or not isinstance(kwargs, dict) or len(args) > len(schema.arguments):
        raise WireError("a template without arguments")
    kwargs = dict(kwargs)
    for at, argument in enumerate(schema.arguments):
        kind = str(argument.type)
        node = args[at] if at < len(args) else kwargs.get(argument.name)
        if kind.endswith("Device]") or kind == "Device":
            _device_force(args, kwargs, at, argument, node, needed=kind == "Device" or _makes(schema))
        elif "Generator" in kind and node not in (None, ["c", None]):
            raise WireError("a session has one random state; generators cannot be named")
    return args, kwargs


def _makes(schema: Any) -> bool:
    return not any("Tensor" in str(argument.type) for argument in schema.arguments)


def _device_force(
    args: list[Any], kwargs: dict[str, Any], at: int, argument: Any, node: Any, *, needed: bool
) -> None:
    """A device argument is the session's device, or nothing where the operator then takes its input's."""
    if node not in (None, ["c", None], ["dev"]):
        raise WireError("the only device of a session is its own")
    if node == ["dev"] or not needed:
        return
    if at < len(args):
        args[at] = ["dev"]
    else:
        kwargs[argument.name] = ["dev"]


def _writes(args: list[Any], kwargs: dict[str, Any], schema: Any) -> tuple[list[int], bool]:
    """The inputs the operator writes to, and whether it may grow one (mostly `out`)."""
    found: list[int] = []
    may_grow = _GROWS_IN_PLACE.fullmatch(schema.name) is not None
    for at, argument in enumerate(schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        found += _inputs_in(args[at] if at < len(args) else kwargs.get(argument.name))
        may_grow = may_grow or argument.kwarg_only
    return found, may_grow


def _inputs_in(node: Any) -> list[int]:
    if not isinstance(node, list) or len(node) != 2:
        return []
    if node[0] == "t":
        return [node[1]] if isinstance(node[1], int) else []
    return [k for one in node[1] for k in _inputs_in(one)] if node[0] == "l" else []
