"""Which operators a session may run: derived from torch's own schemas, minus what reaches out of tensors."""

from __future__ import annotations

import functools
import re
from typing import Any

import torch

_ARGUMENTS = re.compile(r"Storage|Stream|QScheme|__torch__|Dict|Future|Any|RRef|Dimname")
# Files, addresses, storages that are swapped or grow, other layouts, printing, torch's own tests, other
# devices, and autograd's own state, which lives at the client.
_NAMES = re.compile(
    r"(from_file|save|data_ptr|_?print|_test_.*|set_?|set_data|swap_|record_stream|_cudnn_init_dropout_state"
    r"|_?resize.*|_?resize_output.*|sparse_resize.*|_?pin_memory|is_pinned|storage.*"
    r"|to_mkldnn.*|mkldnn_reorder.*|_mkldnn_reshape|_mkldnn_transpose|_to_sparse.*|to_sparse.*|_sparse.*"
    r"|sparse_.*|_?nested.*|_is_.*nested.*|_?quantize_per.*|quantized_.*|dequantize.*|q_.*|_?empty_.*quantized"
    r"|_empty_affine_quantized|int_repr|_make_per_.*|qscheme|quantize_.*|fbgemm.*|choose_qparams.*"
    r"|retain_grad|requires_grad_|_backward|_version|output_nr|is_leaf|retains_grad|rename_?|refine_names"
    r"|align_.*|_make_dual.*|_unpack_dual|_fw_primal|get_gradients|_propagate_xla.*|_xla.*|_vulkan.*"
    r"|_triton.*|to_dlpack|_cuda_.*|_async_error|_make_dep_token|_functional_sym.*|_set_.*"
    # Internals that believe sizes and indices without a check, and so reach out of the tensor's memory.
    r"|_reshape_alias|_sobol_engine.*|_cummax_helper|_cummin_helper|_padded_dense_to_jagged.*"
    r"|_jagged_to_padded.*|_flash_attention_forward_no_dropout_inplace)"
)
_SPARSE = re.compile(
    r".*(_sparse|sparse_|to_padded|_coalesce).*|_?(col_|row_|crow_|ccol_)?(indices|values)|_nnz"
)


class NotAllowed(ValueError):
    """The operator is unknown or stands outside what sessions may run."""


@functools.cache
def allowed_names() -> frozenset[str]:
    """All operators sessions may run, as "aten::add.Tensor" or "aten::relu"."""
    registered = set(torch._C._dispatch_get_all_op_names())
    found = set()
    for schema in torch._C._jit_get_all_schemas():
        name = _full_name(schema)
        if name in registered and _is_harmless(schema):
            found.add(name)
    return frozenset(found)


def _full_name(schema: Any) -> str:
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)


def _is_harmless(schema: Any) -> bool:
    namespace, _, base = schema.name.partition("::")
    if namespace != "aten" or _NAMES.fullmatch(base) or _SPARSE.fullmatch(base):
        return False
    types = [str(one.type) for one in (*schema.arguments, *schema.returns)]
    return not any(_ARGUMENTS.search(one) for one in types)


@functools.lru_cache(maxsize=4096)
def operator_of(name: str) -> Any:
    """The overload named "aten::add.Tensor" ("aten::relu.default"). Raises NotAllowed."""
    space, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    plain = f"aten::{base}" if overload == "default" else f"aten::{base}.{overload}"
    if space != "aten" or not overload or plain not in allowed_names():
        raise NotAllowed(f"{name} is not among the operators a session may run")
    return getattr(getattr(torch.ops.aten, base), overload)


_EMPTY = frozenset(
    {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted"}
)


def shows_old_memory(name: str) -> bool:
    """Whether the operator hands out memory as it finds it (ELA-1305): its outputs are zeroed."""
    return name.partition("::")[2].partition(".")[0] in _EMPTY
