"""Makes "weir" a device of this process's PyTorch. Once, at `import weir.torch`; nothing is connected by it."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _foreach_utils, backend_registration

from weir.torch import autograd, collectives, devices, dispatch, interfaces, interrupts, kernels, rng, tensor
from weir.torch.interfaces import compiling, serialization
from weir.torch.interfaces.backend import backend_module, is_available
from weir.torch.kernels import special

NAME = "weir"
# Both passed PyTorch's own databases here; where there is none, the last is what a client is told to install.
TORCH_MINORS = ("2.11", "2.13")
# Libraries unregister their kernels when they are collected.
_libraries: list[torch.library.Library] = []


class _Hook(torch._C._acc.PrivateUse1Hooks):
    """What PyTorch asks of an accelerator from C++."""

    def is_available(self) -> bool:
        return is_available()

    def has_primary_context(self, device_index: int) -> bool:
        return True

    def is_built(self) -> bool:
        return True


def check_version() -> None:
    """The hooks are experimental: a minor version of PyTorch that was tried, the same at both ends. Raises
    ImportError."""
    minor = ".".join(torch.__version__.split(".")[:2])
    if minor not in TORCH_MINORS:
        raise ImportError(
            f"the device weir needs torch {' or '.join(TORCH_MINORS)}, found {torch.__version__}:"
            f" pip install 'torch=={TORCH_MINORS[-1]}.*'"
        )


def register() -> None:
    """Name the device, put its kernels in place. Raises ImportError where another device has taken the place."""
    check_version()
    taken = torch._C._get_privateuse1_backend_name()
    if taken not in ("privateuseone", NAME):
        raise ImportError(
            f"this process's PyTorch already has the device {taken}: it has room for one such device"
        )
    backend_registration._setup_privateuseone_for_python_backend(
        NAME, backend_module(), _Hook(), autograd.Guard()
    )
    interrupts.begin(devices.operators)
    tensor.run_with(dispatch.run)
    rng.register()
    autograd.register()
    serialization.register()
    _register_kernels()
    collectives.register()
    _register_types()
    compiling.pass_over(tensor.RemoteTensor.__torch_dispatch__, _fallback)


def _register_kernels() -> None:
    aten, everything = torch.library.Library("aten", "IMPL"), torch.library.Library("_", "IMPL")
    _libraries.extend((aten, everything))
    kernels.register(aten, everything)
    aten.impl("_copy_from", _copy_from, "PrivateUse1")
    aten.impl("_local_scalar_dense", special.local_scalar, "PrivateUse1")
    interfaces.register(aten)
    everything.fallback(_fallback, "PrivateUse1")


def _fallback(func: Any, *args: Any, **kwargs: Any) -> Any:
    """Operators that come without the Python key, as in torch.tensor(…, device="weir")."""
    return tensor.RemoteTensor.__torch_dispatch__(func, (), args, kwargs)


def _copy_from(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    return special.copy_(None, (target, source), {})  # type: ignore[no-any-return]


def _register_types() -> None:
    """Optimizers fuse their loops over these tensors."""
    from torch.optim import optimizer

    for types in (optimizer._foreach_supported_types, _foreach_utils._foreach_supported_types):
        types.append(tensor.RemoteTensor)
