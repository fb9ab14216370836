"""Adapters of peft on small models of transformers: trained, saved, loaded, merged."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import peft
import torch
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

from tests.libraries import configurations
from tests.libraries.architectures import words
from tests.libraries.comparing import seed
from tests.sessions.databases.comparing import Tally, moved

Case = Callable[[str], Any]
# Where an adapter stands beside layers, and what a prompt is made of, by their arguments in peft.
BESIDE_LAYERS: dict[str, dict[str, Any]] = {
    "LoraConfig": {"r": 4, "lora_alpha": 8, "lora_dropout": 0.1},
    "LoraConfig dora": {"r": 4, "use_dora": True},
    "LoraConfig rslora": {"r": 4, "use_rslora": True, "init_lora_weights": "gaussian"},
    "LoraConfig pissa": {"r": 4, "init_lora_weights": "pissa"},
    "LoraConfig olora": {"r": 4, "init_lora_weights": "olora"},
    "LoraConfig bias": {"r": 4, "lora_bias": True},
    "IA3Config": {},
    "LoHaConfig": {"r": 2},
    "LoKrConfig": {"r": 2},
    "OFTConfig": {"r": 0, "oft_block_size": 4},
    "BOFTConfig": {"boft_block_size": 4},
    "HRAConfig": {"r": 4},
    "VeraConfig": {"r": 4},
    "RandLoraConfig": {"r": 4},
    "FourierFTConfig": {"n_frequency": 10},
    "WaveFTConfig": {"n_frequency": 10},
    "LNTuningConfig": {},
    "C3AConfig": {"block_size": 8},
    "MissConfig": {"r": 4},
    "RoadConfig": {"group_size": 8},
    "ShiraConfig": {"r": 2},
    "DeloraConfig": {"r": 4},
    "GraloraConfig": {"r": 4, "gralora_k": 2},
    "VBLoRAConfig": {"r": 2, "num_vectors": 8, "vector_length": 8, "topk": 2},
    "TrainableTokensConfig": {"token_indices": [11, 12]},
}
PROMPTS: dict[str, dict[str, Any]] = {
    "PromptTuningConfig": {"num_virtual_tokens": 4},
    "PrefixTuningConfig": {"num_virtual_tokens": 4},
    "PrefixTuningConfig projected": {"num_virtual_tokens": 4, "prefix_projection": True},
    "PromptEncoderConfig": {"num_virtual_tokens": 4, "encoder_hidden_size": 16},
}
# Architecture, its class, the task in peft's words.
MODELS = (
    ("llama", AutoModelForCausalLM, "CAUSAL_LM"),
    ("opt", AutoModelForCausalLM, "CAUSAL_LM"),
    ("gpt2", AutoModelForCausalLM, "CAUSAL_LM"),
    ("t5", AutoModelForSeq2SeqLM, "SEQ_2_SEQ_LM"),
)
UNMERGED = frozenset({"PromptTuningConfig", "PrefixTuningConfig", "PromptEncoderConfig"})


def _base(architecture: str, make: Any, place: str) -> Any:
    seed(3)
    return make.from_config(configurations.without_dropout(configurations.tiny(architecture))).to(place)


def _ends(model: Any, place: str) -> torch.Tensor:
    model.eval()
    seed(5)
    given = moved(words(), place)
    with torch.no_grad():
        return model(input_ids=given, labels=given).logits  # type: ignore[no-any-return]


def adapted(architecture: str, make: Any, task: str, kind: str, options: dict[str, Any]) -> Case:
    """Trained, saved and loaded beside a fresh model, and merged where it can be."""
    name = kind.split()[0]

    def check(place: str) -> Any:
        config = getattr(peft, name)(task_type=task, **options)
        base = _base(architecture, make, place)
        seed(4)
        model = peft.get_peft_model(base, config).train()
        optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
        losses = []
        for step in range(3):
            seed(7 + step)
            given = moved(words(), place)
            seed(7 + step)
            optimizer.zero_grad()
            loss = model(input_ids=given, labels=given).loss
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        trained = [p for p in model.parameters() if p.requires_grad]
        ends = [_ends(model, place)]
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            loaded = peft.PeftModel.from_pretrained(_base(architecture, make, place), folder)
            ends.append(_ends(loaded, place))
        if name not in UNMERGED:
            ends.append(_ends(model.merge_and_unload(), place))
        return losses, trained, ends

    return check


def switched(place: str) -> Any:
    """Two adapters on one model: chosen, weighed together, switched off, deleted."""
    base = _base("llama", AutoModelForCausalLM, place)
    seed(4)
    first = peft.LoraConfig(task_type="CAUSAL_LM", r=4, init_lora_weights=False)
    model = peft.get_peft_model(base, first, adapter_name="a")
    model.add_adapter("b", peft.LoraConfig(task_type="CAUSAL_LM", r=2, init_lora_weights=False))
    ends = [_ends(model, place)]
    model.set_adapter("b")
    ends.append(_ends(model, place))
    model.add_weighted_adapter(["a", "b"], [0.3, 0.7], "both", combination_type="svd")
    model.set_adapter("both")
    ends.append(_ends(model, place))
    with model.disable_adapter():
        ends.append(_ends(model, place))
    model.delete_adapter("a")
    model.set_adapter("b")
    return [*ends, _ends(model, place)]


def suite(tally: Tally, only: str) -> None:
    """Run the adapters whose name holds `only`; of so many, one."""
    for architecture, make, task in MODELS:
        for kind, options in {**BESIDE_LAYERS, **PROMPTS}.items():
            name = f"{kind} on {architecture}"
            if only in name and tally.is_due():
                tally.compare(name, adapted(architecture, make, task, kind, options))
    if only in "switched" and tally.is_due():
        tally.compare("switched", switched)
