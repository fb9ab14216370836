"""torch.autocast("weir"): the same lists of operators as PyTorch's own for CUDA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

aten = torch.ops.aten

LOWER_PRECISION = [
    "_convolution",
    "_convolution.deprecated",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d.input",
    "conv_transpose3d.input",
    "convolution",
    "prelu",
    "addmm",
    "addmv",
    "addr",
    "matmul",
    "einsum",
    "mm",
    "mv",
    "linalg_vecdot",
    "linear",
    "addbmm",
    "baddbmm",
    "bmm",
    "chain_matmul",
    "linalg_multi_dot",
    "_thnn_fused_lstm_cell",
    "_thnn_fused_gru_cell",
    "lstm_cell",
    "gru_cell",
    "rnn_tanh_cell",
    "rnn_relu_cell",
    "scaled_dot_product_attention",
]
FULL_PRECISION = [
    "acos",
    "asin",
    "cosh",
    "erfinv",
    "exp",
    "expm1",
    "log",
    "log10",
    "log2",
    "log1p",
    "reciprocal",
    "rsqrt",
    "sinh",
    "tan",
    "pow.Tensor_Scalar",
    "pow.Tensor_Tensor",
    "pow.Scalar",
    "softplus",
    "layer_norm",
    "native_layer_norm",
    "rms_norm",
    "group_norm",
    "frobenius_norm.dim",
    "nuclear_norm",
    "nuclear_norm.dim",
    "cosine_similarity",
    "poisson_nll_loss",
    "cosine_embedding_loss",
    "nll_loss",
    "nll_loss2d",
    "hinge_embedding_loss",
    "kl_div",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "mse_loss",
    "margin_ranking_loss",
    "multilabel_margin_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "multi_margin_loss",
    "binary_cross_entropy_with_logits",
    "dist",
    "pdist",
    "cdist",
    "renorm",
    "logsumexp",
    "upsample_nearest1d",
    "_upsample_nearest_exact1d",
    "upsample_nearest2d",
    "_upsample_nearest_exact2d",
    "upsample_nearest3d",
    "_upsample_nearest_exact3d",
    "upsample_linear1d",
    "upsample_bilinear2d",
    "_upsample_bilinear2d_aa",
    "upsample_trilinear3d",
    "upsample_bicubic2d",
    "_upsample_bicubic2d_aa",
]
FULL_RESULT = [
    "prod",
    "prod.dim_int",
    "softmax.int",
    "log_softmax.int",
    "cumprod",
    "cumsum",
    "linalg_vector_norm",
    "linalg_matrix_norm",
    "linalg_matrix_norm.str_ord",
    "sum",
    "sum.dim_IntList",
]
WIDEST = [
    "addcdiv",
    "addcmul",
    "atan2",
    "bilinear",
    "cross",
    "dot",
    "vdot",
    "grid_sampler",
    "index_put",
    "tensordot",
    "scatter_add",
    "cat",
    "stack",
]
FORBIDDEN = ("binary_cross_entropy",)

_key: Any = torch._C._parse_dispatch_key("AutocastPrivateUse1")
_EXCLUDED = torch._C.DispatchKeySet(_key)


def _is_castable(value: Any) -> bool:
    """Floating point of the device, but double: what CUDA's autocast casts."""
    if not isinstance(value, torch.Tensor):
        return False
    return value.is_floating_point() and value.dtype is not torch.float64 and value.device.type == "weir"


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, (list, tuple)):
        return [_cast(item, dtype) for item in value]
    return value.to(dtype) if _is_castable(value) else value


def _casting(func: Any, choose: Callable[[tuple], torch.dtype]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(_EXCLUDED):
            dtype = choose(args)
            return func(
                *[_cast(value, dtype) for value in args],
                **{name: _cast(value, dtype) for name, value in kwargs.items()},
            )

    return run


def _lower(_: tuple) -> torch.dtype:
    return torch.get_autocast_dtype("weir")


def _full(_: tuple) -> torch.dtype:
    return torch.float32


def _widest(args: tuple) -> torch.dtype:
    """float32 where an argument has it, else the lower type."""
    flat = [x for a in args for x in (a if isinstance(a, (list, tuple)) else (a,))]
    dtypes = {x.dtype for x in flat if _is_castable(x)}
    return torch.float32 if torch.float32 in dtypes else _lower(args)


def _full_result(func: Any) -> Callable[..., Any]:
    """Sums and the like of lower types give float32, unless the caller named a type."""

    def run(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(_EXCLUDED):
            named = kwargs.get("dtype") is not None or any(isinstance(a, torch.dtype) for a in args)
            if not named and _is_castable(args[0]):
                kwargs["dtype"] = torch.float32
            return func(*args, **kwargs)

    return run


def _forbidden(func: Any) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "binary_cross_entropy is unsafe to autocast: use binary_cross_entropy_with_logits, which is safe"
        )

    return run


def register(library: torch.library.Library, fallback: torch.library.Library) -> None:
    """Everything falls through but the lists above."""
    fallback.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    for names, make in (
        (LOWER_PRECISION, lambda func: _casting(func, _lower)),
        (FULL_PRECISION, lambda func: _casting(func, _full)),
        (WIDEST, lambda func: _casting(func, _widest)),
        (FULL_RESULT, _full_result),
        (FORBIDDEN, _forbidden),
    ):
        for name in names:
            base, _, overload = name.partition(".")
            func = getattr(getattr(aten, base), overload or "default")
            library.impl(name, make(func), "AutocastPrivateUse1")
