"""Every architecture of transformers that a small random configuration can build: forward, backward and two steps of
AdamW with dropout, and what it generates."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_map
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForSeq2SeqLM
from transformers.models.auto import modeling_auto

from tests.libraries import configurations
from tests.libraries.comparing import Programs, seed
from tests.sessions.databases.comparing import moved, total

BATCH, WORDS = 2, 8
Case = Callable[[str], Any]
# Words of a prompt: not those that begin, end or fill.
FIRST, LAST = 10, 100
STEPS = 2


def words(length: int = WORDS) -> torch.Tensor:
    return torch.randint(FIRST, LAST, (BATCH, length))


def _pictures(config: Any) -> torch.Tensor:
    vision = getattr(config, "vision_config", config)
    side = getattr(vision, "image_size", configurations.SIDE)
    sides = tuple(side) if isinstance(side, (list, tuple)) else (side, side)
    return torch.randn(BATCH, getattr(vision, "num_channels", 3) or 3, *sides)


def _spectrum(config: Any) -> torch.Tensor:
    bands = getattr(config, "num_mel_bins", None) or getattr(config, "input_feat_per_channel", None) or 80
    return torch.randn(BATCH, bands, 2 * (getattr(config, "max_source_positions", None) or 32))


MADE: dict[str, Callable[[Any], torch.Tensor]] = {
    "input_ids": lambda _: words(),
    "decoder_input_ids": lambda _: words(),
    "pixel_values": _pictures,
    "input_features": _spectrum,
    "input_values": lambda _: torch.randn(BATCH, 4000),
}
TRIED = (
    ("input_ids",),
    ("input_ids", "decoder_input_ids"),
    ("pixel_values",),
    ("input_ids", "pixel_values"),
    ("input_features",),
    ("input_features", "decoder_input_ids"),
    ("input_values",),
)


def _inputs(model: Any, config: Any) -> dict[str, torch.Tensor] | None:
    """What the model takes on the CPU; None where it takes nothing that is made here."""
    taken = inspect.signature(model.forward).parameters
    for names in TRIED:
        if not all(name in taken for name in names):
            continue
        seed(5)
        made = {name: MADE[name](config) for name in names}
        if "input_ids" in made and "attention_mask" in taken:
            made["attention_mask"] = torch.ones(BATCH, WORDS, dtype=torch.long)
            made["attention_mask"][1, :2] = 0
        try:
            model(**made)
        except Exception:
            continue
        return made
    return None


def _built(make: Any, config: Any) -> Any:
    seed(3)
    return make.from_config(config)


def trained(config: Any, made: dict[str, torch.Tensor]) -> Case:
    """What the model says, its gradients and its parameters after steps of AdamW."""

    def check(place: str) -> Any:
        model = _built(AutoModel, config).train().to(place)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, eps=1e-4)
        seen: list[Any] = []
        for step in range(STEPS):
            seed(7 + step)
            found = model(**{name: moved(value, place) for name, value in made.items()})
            loss = total(_floats(found))
            optimizer.zero_grad()
            loss.backward()
            seen.append((_floats(found), [p.grad for p in model.parameters()]))
            optimizer.step()
        return seen, list(model.parameters())

    return check


def _floats(found: Any) -> list[torch.Tensor]:
    """The numbers of an answer, without what it keeps for later calls."""
    kept: list[torch.Tensor] = []

    def look(value: Any) -> None:
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            kept.append(value)

    tree_map(look, [value for name, value in found.items() if "past" not in name and "cache" not in name])
    return kept


WAYS: dict[str, dict[str, Any]] = {
    "greedy": {"do_sample": False},
    "sampled": {"do_sample": True, "top_k": 20, "top_p": 0.9, "temperature": 0.8},
    "beams": {"do_sample": False, "num_beams": 3, "length_penalty": 0.5},
    "static cache": {"do_sample": False, "cache_implementation": "static"},
    "penalties": {"do_sample": False, "repetition_penalty": 1.3, "no_repeat_ngram_size": 2},
}


def written(make: Any, config: Any, way: dict[str, Any]) -> Case:
    """The words that a model puts after a prompt."""

    def check(place: str) -> Any:
        model = _built(make, config).eval().to(place)
        seed(5)
        prompt = moved(words(), place)
        seed(7)
        return model.generate(
            prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=6, min_new_tokens=6, **way
        )

    return check


def _cases(model_type: str) -> Iterator[tuple[str, Case]]:
    config = configurations.tiny(model_type)
    if not configurations.is_small(lambda: AutoModel.from_config(config)):
        return
    made = _inputs(_built(AutoModel, config).train(), config)
    if made is not None:
        yield f"{model_type} trained", trained(config, made)
    for names, make in (
        (modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, AutoModelForCausalLM),
        (modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES, AutoModelForSeq2SeqLM),
    ):
        if model_type in names:
            ways = WAYS if model_type in WRITERS else {"greedy": WAYS["greedy"]}
            for name, way in ways.items():
                yield f"{model_type} written, {name}", written(make, config, way)


# Those that write in every way.
WRITERS = frozenset({"gpt2", "llama", "t5", "bart", "mistral", "qwen3", "gemma2", "mamba", "opt", "mixtral"})


def suite(tally: Programs, only: str) -> None:
    """Run the architectures whose name holds `only`; of so many, one."""
    for model_type in sorted(modeling_auto.MODEL_MAPPING_NAMES):
        if only not in model_type or not tally.is_due_named(model_type):
            continue
        try:
            cases = list(_cases(model_type))
        except Exception:
            # It wants another library, or sizes that fit each other in a way of its own.
            continue
        for name, case in cases:
            tally.compare(name, case)
