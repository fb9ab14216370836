"""The tensor of the device "weir": a wrapper that knows its layout and holds a handle of the worker's tensor."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import torch

from weir.torch import autograd
from weir.torch.device import Handle
from weir.torch.storages import RemoteStorage, address

# Runs one operator: dispatch.run, put here when the device registers (it needs this module itself).
Runner = Callable[[Any, tuple, dict[str, Any]], Any]
_run: Runner

_make = torch.Tensor._make_wrapper_subclass
# The class of the next tensor that this thread makes of another's handle, where it is not the ordinary one.
_next = threading.local()
_typed: Any = torch.storage.TypedStorage


class RemoteTensor(torch.Tensor):
    """A tensor whose elements are elsewhere. Reading it (`item`, `cpu`, printing) waits for the worker."""

    _remote: Handle

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """What libraries make by `type(parameter)(data, requires_grad=…)`: that is Parameter for tensors of the CPU."""
        if "requires_grad" in kwargs:
            return torch.nn.Parameter(*args, **kwargs)
        return super().__new__(cls, *args, **kwargs)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        if len(types) > 1 and not all(issubclass(kind, RemoteTensor) for kind in types):
            # A sparse tensor takes part: its class runs the operator.
            return NotImplemented
        return _run(func, args, kwargs or {})

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        with torch.no_grad():
            text = repr(self.detach().cpu())
        suffix = ", requires_grad=True" if self.requires_grad else ""
        return f"{text[:-1]}, device='{self.device}'{suffix})"

    def __format__(self, format_spec: str) -> str:
        """A number as a number, as PyTorch's own tensors: f"{loss:.3f}"."""
        if self.dim():
            return object.__format__(self, format_spec)
        return self.detach().item().__format__(format_spec)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        """What pickle and torch.save write: a tensor of the CPU whose storage says that it belongs to the device, so
        that torch.load puts it where map_location says, and needs this package for the device alone."""
        if getattr(self, "_is_param", False):
            return torch._utils._rebuild_parameter, (self.detach(), self.requires_grad, {})
        with torch.no_grad():
            copied = self.detach().cpu()
        untyped: Any = copied.untyped_storage()
        untyped.weir_location = str(self.device)
        storage = _typed(wrap_storage=untyped, dtype=self.dtype, _internal=True)
        shape = copied.storage_offset(), tuple(copied.size()), copied.stride()
        return torch._utils._rebuild_tensor_v2, (storage, *shape, self.requires_grad, OrderedDict())

    def __copy__(self) -> torch.Tensor:
        shown: Any = self.detach()
        if getattr(self, "_is_param", False):
            return torch.nn.Parameter(shown, self.requires_grad)
        return shown.requires_grad_(self.requires_grad)  # type: ignore[no-any-return]

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.Tensor:
        return autograd.deep_copy(self, memo)

    def untyped_storage(self) -> Any:
        return RemoteStorage(self._remote)

    def data_ptr(self) -> int:
        return address(self._remote)

    def share_memory_(self) -> torch.Tensor:
        """Nothing, as on other devices: its memory is not this process's."""
        return self

    def tolist(self) -> Any:
        return self.detach().cpu().tolist()

    def numpy(self, *, force: bool = False) -> Any:
        if force:
            return self.detach().cpu().numpy(force=True)
        raise TypeError(f"can't convert a tensor on {self.device} to numpy: use .cpu() first")

    def __array__(self, dtype: Any = None) -> Any:
        return self.numpy()


def wrap(handle: Handle, kind: type[RemoteTensor] = RemoteTensor) -> RemoteTensor:
    """A new tensor that shows this handle."""
    m = handle.meta
    made = _make(kind, m.size, m.stride, m.offset, None, m.dtype, torch.strided, m.device)
    made._remote = handle
    return made


def wrap_view(handle: Handle, shown: Any, kind: type[RemoteTensor] = RemoteTensor) -> RemoteTensor:
    """A new tensor that shows this handle, a view of `shown`: an ordinary one of such, under inference mode too."""
    if torch.is_inference_mode_enabled() and not shown.is_inference():
        with torch.inference_mode(False):
            return wrap(handle, kind)
    return wrap(handle, kind)


def wrap_same(shown: Any) -> RemoteTensor:
    """A new tensor on the handle of `shown`, of the class that `made_as` says."""
    return wrap_view(shown._remote, shown, getattr(_next, "kind", RemoteTensor))


@contextlib.contextmanager
def made_as(kind: type[RemoteTensor]) -> Iterator[None]:
    """What is made of another's handle within is of this class: PyTorch's own code stands between, which records it for
    backward."""
    _next.kind = kind
    try:
        yield
    finally:
        del _next.kind


def run_with(runner: Runner) -> None:
    """Say what runs operators."""
    global _run
    _run = runner
