"""Scaled-dot-product attention with the kernel, and the derivative, that the worker's own device would choose."""

from __future__ import annotations

from typing import Any

import torch

from weir.torch.device import handle_of
from weir.torch.metas import Meta
from weir.torch.tensor import RemoteTensor

aten = torch.ops.aten
FLASH = 1  # at::sdp::SDPBackend::flash_attention

_choices: dict[tuple, int] = {}


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """A fused kernel where the worker's device has one for these shapes, else plain products and a softmax."""
    # Both kernels add the mask as it is: one that says yes or no would count as 1 and 0.
    mask = _as_bias(attn_mask, query.dtype)
    if _is_fused(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa):
        return aten._scaled_dot_product_flash_attention_for_cpu(  # type: ignore[no-any-return]
            query, key, value, 0.0, is_causal, attn_mask=mask, scale=scale
        )[0]
    return aten._scaled_dot_product_attention_math(  # type: ignore[no-any-return]
        query, key, value, mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )[0]


def _is_fused(query: Any, key: Any, value: Any, mask: Any, dropout: float, *rest: Any) -> bool:
    tensors = (query, key, value) if mask is None else (query, key, value, mask)
    if dropout or not all(isinstance(tensor, RemoteTensor) for tensor in tensors):
        return False
    if handle_of(query).device.kind != "cpu":
        return False
    metas = tuple(handle_of(tensor).meta for tensor in tensors)
    needs_grad = tuple(tensor.requires_grad for tensor in tensors)
    switches = (torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.math_sdp_enabled())
    known = (metas, needs_grad, rest, switches)
    if known not in _choices:
        _choices[known] = _choose(metas, needs_grad, *rest)
    return _choices[known] == FLASH


def _choose(
    metas: tuple[Meta, ...], needs_grad: tuple[bool, ...], is_causal: bool, scale: Any, gqa: bool
) -> int:
    """What PyTorch itself picks on a CPU for tensors of this layout, which are never filled."""
    if len(_choices) > 4096:
        _choices.clear()
    likes = [
        torch.empty_strided(m.size, m.stride, dtype=m.dtype).requires_grad_(wants)
        for m, wants in zip(metas, needs_grad, strict=True)
    ]
    mask = likes[3] if len(likes) == 4 else None
    return int(
        torch._fused_sdp_choice(
            likes[0], likes[1], likes[2], mask, 0.0, is_causal, scale=scale, enable_gqa=gqa
        )
    )


def _as_bias(mask: Any, dtype: torch.dtype) -> Any:
    """A boolean mask as numbers to add: 0 where it lets through, minus infinity elsewhere."""
    if mask is None or mask.dtype is not torch.bool:
        return mask
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(mask.logical_not(), float("-inf"))


def register(library: torch.library.Library) -> None:
    for key in ("AutogradPrivateUse1", "PrivateUse1"):
        library.impl("scaled_dot_product_attention", scaled_dot_product_attention, key)
