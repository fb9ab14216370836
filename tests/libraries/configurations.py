"""Configurations of transformers, each made so small that its model is built and trained in a second."""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoConfig, PreTrainedConfig

WIDTH, HEADS, LAYERS, WORDS, LENGTH, SIDE, PATCH = 32, 4, 2, 120, 64, 32, 8
MOST_PARAMETERS = 4_000_000
# What architectures call the same things. The first pattern that a field's name holds says its size.
SIZES: tuple[tuple[tuple[str, ...], int], ...] = (
    (("vocab_size", "vocabulary_size"), WORDS),
    (("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "max_source_positions"), LENGTH),
    (("num_key_value_heads", "num_kv_heads"), 2),
    (("num_attention_heads", "num_heads", "n_head", "attention_heads", "n_heads"), HEADS),
    (("num_hidden_layers", "num_layers", "n_layer", "encoder_layers", "decoder_layers", "n_layers"), LAYERS),
    (("num_experts_per_tok", "top_k_experts", "moe_topk"), 2),
    (("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"), 4),
    (("intermediate_size", "ffn_dim", "d_ff", "n_inner", "dim_feedforward", "mlp_dim"), 2 * WIDTH),
    (
        ("hidden_size", "d_model", "n_embd", "embed_dim", "embedding_size", "hidden_dim", "projection_dim"),
        WIDTH,
    ),
    (("head_dim", "d_kv", "d_head"), WIDTH // HEADS),
    (("conv_dim", "hidden_sizes", "embed_dims", "channels"), WIDTH),
    (("depths",), 1),
    (("image_size",), SIDE),
    (("patch_size",), PATCH),
)
# What a configuration finds by itself, from the sizes it had.
DERIVED = frozenset({"stage_names", "out_features", "out_indices", "per_layer_config"})
# Fields whose names hold a pattern and mean something else.
_OTHERS = ("rope", "dropout", "ratio", "rate", "_id", "_idx", "std", "eps", "act", "type")


def _size_of(name: str) -> int | None:
    if any(part in name for part in _OTHERS):
        return None
    return next((size for patterns, size in SIZES if any(name.endswith(one) for one in patterns)), None)


def shrink(config: Any) -> Any:
    """The same configuration with small figures, those of the configurations inside it too."""
    deep = getattr(config, "num_hidden_layers", None)
    for name, value in list(vars(config).items()):
        size = _size_of(name)
        if isinstance(value, PreTrainedConfig):
            shrink(value)
        elif isinstance(value, list) and len(value) == deep and len(value) > LAYERS:
            _put(config, name, _some_of(value))
        elif size is None:
            continue
        elif type(value) is int and value > 1:
            _put(config, name, min(value, size))
        elif isinstance(value, (list, tuple)) and all(type(one) is int for one in value):
            _put(config, name, type(value)(min(one, size) for one in value))
    if (
        getattr(config, "is_encoder_decoder", False)
        and getattr(config, "decoder_start_token_id", None) is None
    ):
        _put(config, "decoder_start_token_id", 0)
    for name in ("layerdrop", "encoder_layerdrop", "decoder_layerdrop"):
        if getattr(config, name, None):
            # Whole layers are left out by random numbers of the CPU.
            _put(config, name, 0.0)
    if getattr(config, "attention_type", None) == "block_sparse":
        # For long texts: made anew for short ones, with random numbers of the CPU.
        _put(config, "attention_type", "original_full")
    for name in ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id"):
        number = getattr(config, name, None)
        if type(number) is int and number >= WORDS:
            _put(config, name, 1)
    return config


def _some_of(kinds: list[Any]) -> list[Any]:
    """Of a list with an entry for each layer as many as there are layers left, of different kinds where it has them."""
    different = [kind for place, kind in enumerate(kinds) if kind not in kinds[:place]]
    return (different + kinds)[:LAYERS]


def _put(config: Any, name: str, value: Any) -> None:
    try:
        setattr(config, name, value)
    except (AttributeError, NotImplementedError, ValueError):
        # Read from other fields.
        return


def tiny(model_type: str) -> Any:
    """The small configuration of an architecture; raises whatever its own checks raise."""
    config = shrink(AutoConfig.for_model(model_type))
    return type(config).from_dict({k: v for k, v in config.to_dict().items() if k not in DERIVED})


def without_dropout(config: Any) -> Any:
    """The same, drawing no random numbers: where a library draws some of the CPU between, as a loader does, dropout on
    the CPU gets others then."""
    for name, value in list(vars(config).items()):
        if "drop" in name and type(value) is float:
            _put(config, name, 0.0)
    return config


def is_small(build: Any) -> bool:
    """Whether a model is small enough, told without its memory."""
    with torch.device("meta"):
        model = build()
    return bool(sum(one.numel() for one in model.parameters()) <= MOST_PARAMETERS)
