"""From an operator call to a record: the path every operator of the device takes. Keep it short: it is the cost."""

from __future__ import annotations

from typing import Any

import torch

from weir.torch import transfer
from weir.torch.device import Device, Handle
from weir.torch.errors import mixed_devices
from weir.torch.interfaces import generators
from weir.torch.metas import meta_of
from weir.torch.operators import KNOWN, Operator, operator_of
from weir.torch.templates import DTYPES, Template, describe, is_slot, learn_template, make_template, nested
from weir.torch.tensor import RemoteTensor, wrap, wrap_view

# Operators that take indices on the CPU together with tensors of a device, as PyTorch's own devices do.
TAKES_LOCAL_INDICES = frozenset(
    {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"}
)
# Ids set aside for the results of one synchronous call.
ROOM = 64


class Scan:
    """One pass over the arguments: the template's key, the handles and the scalars of this call.

    `has_local`: some tensor is not on the device weir, so that the key means nothing yet.
    """

    __slots__ = ("floats", "handles", "has_local", "ints", "key")

    def __init__(self, operator: Operator, args: tuple, kwargs: dict[str, Any]) -> None:
        self.key: list[Any] = [operator]
        self.handles: list[Handle] = []
        self.ints: list[int] = []
        self.floats: list[float] = []
        self.has_local = False
        note, key = self._note, self.key
        for place, value in enumerate(args):
            if type(value) is RemoteTensor:
                handle = value._remote
                self.handles.append(handle)
                key.append(handle.meta)
            else:
                note(operator, place, value)
        if kwargs:
            for name, value in kwargs.items():
                key.append(name)
                note(operator, name, value)

    def _note(self, operator: Operator, place: int | str, value: Any) -> None:
        """Add any argument to the key; scalars that may differ from call to call go into slots."""
        kind = type(value)
        if kind is float or kind is int:
            if place in operator.slots:
                self._scalar(value)
            else:
                self.key += (kind, value)
        elif kind is list or kind is tuple:
            self._list(operator, place, value)
        elif kind is RemoteTensor or isinstance(value, torch.Tensor):
            self._tensor(value)
        else:
            self.key += (kind, value)

    def _tensor(self, value: Any) -> None:
        if isinstance(value, RemoteTensor):
            self.handles.append(value._remote)
            self.key.append(value._remote.meta)
        else:
            self.has_local = True

    def _scalar(self, value: Any) -> None:
        if not is_slot(value):
            self.key += (type(value), value)
            return
        (self.floats if type(value) is float else self.ints).append(value)
        self.key.append(type(value))

    def _list(self, operator: Operator, place: int | str, values: Any) -> None:
        self.key.append(len(values))
        if place in operator.lists:
            for value in values:
                if value is None:
                    self.key.append(None)
                else:
                    self._tensor(value)
        elif place in operator.slot_lists:
            for value in values:
                self._scalar(value)
        else:
            self.key += values


def run(func: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Run an operator that a tensor of the device takes part in."""
    operator = KNOWN.get(id(func)) or operator_of(func)
    if operator.special is not None:
        return operator.special(func, args, kwargs)
    return _sent(operator, args, kwargs, None)


def forward(func: Any, args: tuple, kwargs: dict[str, Any], device: Device | None = None) -> Any:
    """Send an operator to the device of its tensors, or to `device` where it has none."""
    return _sent(operator_of(func), args, kwargs, device)


def _sent(operator: Operator, args: tuple, kwargs: dict[str, Any], device: Device | None) -> Any:
    if kwargs and kwargs.get("generator") is not None:
        return generators.drawn(operator.func, args, kwargs)
    scan = Scan(operator, args, kwargs)
    if scan.has_local:
        sent_args, sent_kwargs = _with_locals_sent(operator, args, kwargs, scan.handles)
        return _sent(operator, sent_args, sent_kwargs, device)
    if scan.handles:
        device = scan.handles[0].device
    assert device is not None
    key = tuple(scan.key)
    template = device.templates.get(key)
    if template is None:
        if any(handle.device is not device for handle in scan.handles):
            return _on_several(operator, args, kwargs, scan.handles)
        if operator.is_foreign:
            return _foreign(operator, args, kwargs)
        if _is_shown(operator, device, scan.handles):
            result = _called(device, operator, args, kwargs, scan)
            learn_template(device, operator, args, kwargs, key, result)
            return result
        template = make_template(device, operator, args, kwargs, key)
    if template.id is None:
        return _called(device, operator, args, kwargs, scan)
    return _played(device, template, operator, args, kwargs, scan)


def _is_shown(operator: Operator, device: Device, handles: list[Handle]) -> bool:
    """Whether the layout of the results is learned from a first run."""
    if operator.is_shown_unless_plain and not all(handle.meta.is_contiguous for handle in handles):
        return True
    return operator.is_shown if device.kind == "cpu" else operator.is_shown_by_cards


def _played(
    device: Device, template: Template, operator: Operator, args: tuple, kwargs: dict[str, Any], scan: Scan
) -> Any:
    made = device.record(template, scan)
    shape = template.shape
    if template.is_view:
        views = [None if handle is None else wrap_view(handle, args[0]) for handle in made]
        return views[0] if shape == "tensor" else nested(shape, iter(views))
    if shape == "tensor":
        return None if made[0] is None else wrap(made[0])
    if shape == "written":
        results = [args[i] if i < len(args) else kwargs[name] for i, name in operator.written]
        return results[0] if len(results) == 1 else tuple(results)
    if shape == "none":
        return None
    return nested(shape, iter([None if handle is None else wrap(handle) for handle in made]))


def _called(device: Device, operator: Operator, args: tuple, kwargs: dict[str, Any], scan: Scan) -> Any:
    """Run an operator whose result only its data tells, and wait for it."""
    description = describe(operator, args, kwargs)
    node = device.call(description, scan.handles, scan.ints, scan.floats, ROOM)
    base = scan.handles[0] if operator.is_view and scan.handles else None
    result = _result(device, node, base)
    return tuple(result) if operator.has_several_results else result


def _foreign(operator: Operator, args: tuple, kwargs: dict[str, Any]) -> Any:
    """An operator of another library runs here where it is written in terms of PyTorch's own, for all devices or for
    those that PyTorch has no name for (as fully_shard's)."""
    name = operator.func.name()
    for key in ("PrivateUse1", "CompositeExplicitAutograd", "CompositeImplicitAutograd"):
        if torch._C._dispatch_has_kernel_for_dispatch_key(name, key):
            return operator.func._op_dk(getattr(torch._C.DispatchKey, key), *args, **kwargs)
    raise NotImplementedError(
        f"{name} has no kernel for the device weir: its sessions run PyTorch's own operators"
    )


def _result(device: Device, node: list[Any], base: Handle | None) -> Any:
    kind, *rest = node
    if kind == "t":
        number, shape, stride, offset, dtype = rest
        meta = meta_of(tuple(shape), tuple(stride), offset, DTYPES[dtype], device.index)
        return wrap(device.adopted(number, meta, base))
    if kind == "l":
        return [_result(device, item, base) for item in rest[0]]
    if kind == "x":
        return float.fromhex(rest[0])
    if kind == "z":
        return complex(float.fromhex(rest[0]), float.fromhex(rest[1]))
    return rest[0]


def _with_locals_sent(
    operator: Operator, args: tuple, kwargs: dict[str, Any], handles: list[Handle]
) -> tuple[tuple, dict[str, Any]]:
    """The arguments with numbers and indices from the CPU on the device; other CPU tensors are an error."""
    device = handles[0].device
    takes_indices = operator.func._schema.name in TAKES_LOCAL_INDICES

    def sent(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [sent(item) for item in value]
        if not isinstance(value, torch.Tensor) or isinstance(value, RemoteTensor):
            return value
        if value.device.type != "cpu" or (value.dim() and not takes_indices):
            raise mixed_devices(device.torch_device, value.device)
        return transfer.upload(value, device)

    return tuple(map(sent, args)), {name: sent(value) for name, value in kwargs.items()}


def _on_several(operator: Operator, args: tuple, kwargs: dict[str, Any], handles: list[Handle]) -> Any:
    """A foreach operator over tensors of several devices runs on each; everything else is an error."""
    if not operator.name.startswith("aten::_foreach_"):
        other = next(h for h in handles if h.device is not handles[0].device)
        raise mixed_devices(handles[0].meta.device, other.meta.device)
    results: list[Any] = [None] * len(args[0])
    values = tuple(kwargs.values())
    places: dict[int, list[int]] = {}
    for place, tensor in enumerate(args[0]):
        places.setdefault(tensor._remote.device.index, []).append(place)
    for chosen in places.values():
        named = dict(zip(kwargs, _picked(values, chosen), strict=True))
        part: Any = forward(operator.func, _picked(args, chosen), named)
        for place, tensor in zip(chosen, part or (), strict=False):
            results[place] = tensor
    return None if operator.is_void else results


def _picked(values: tuple, places: list[int]) -> tuple:
    """Lists cut down to these places, everything else as it is."""
    return tuple(
        [value[i] for i in places] if isinstance(value, (list, tuple)) else value for value in values
    )
