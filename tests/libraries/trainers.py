"""The Trainer of transformers, which finds the device by itself: its defaults, saving, going on, and its callbacks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from accelerate.state import AcceleratorState, GradientState, PartialState
from torch.utils.data import Dataset
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    EarlyStoppingCallback,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    Trainer,
    TrainingArguments,
)
from transformers.trainer_utils import get_last_checkpoint

from tests.libraries import configurations
from tests.libraries.comparing import seed
from tests.sessions.databases.comparing import Tally

ROWS, WORDS = 12, 8
Case = Callable[[str], Any]


class Rows(Dataset[dict[str, torch.Tensor]]):
    """Sentences of words at random; `kind` says what is learned from them."""

    def __init__(self, kind: str = "next") -> None:
        drawn = torch.Generator().manual_seed(5)
        self.words = torch.randint(10, 100, (ROWS, WORDS), generator=drawn)
        self.kind = kind

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, place: int) -> dict[str, torch.Tensor]:
        words = self.words[place]
        if self.kind == "class":
            return {"input_ids": words, "attention_mask": torch.ones_like(words), "labels": words[0] % 2}
        return {"input_ids": words, "attention_mask": torch.ones_like(words), "labels": words}


MAKERS = {
    "next": AutoModelForCausalLM,
    "class": AutoModelForSequenceClassification,
    "pairs": AutoModelForSeq2SeqLM,
}


def _model(architecture: str, kind: str) -> Any:
    seed(3)
    config = configurations.without_dropout(configurations.tiny(architecture))
    config.pad_token_id = 0
    return MAKERS[kind].from_config(config)


def _options(place: str, folder: str, **options: Any) -> dict[str, Any]:
    """Everything else is as it is by default, in a process that `weir run` has started."""
    os.environ["ACCELERATE_TORCH_DEVICE"] = place
    for state in (AcceleratorState, PartialState):
        state._reset_state()
    GradientState._reset_state()
    where = {"use_cpu": True} if place == "cpu" else {}
    return {
        "output_dir": folder,
        "num_train_epochs": 2,
        "per_device_train_batch_size": 5,
        "report_to": "none",
        "disable_tqdm": True,
        "logging_steps": 1,
        "log_level": "error",
        "save_strategy": "no",
        **where,
        **options,
    }


class Trained:
    """A Trainer with a small model, after `train()`."""

    def __init__(
        self, place: str, folder: str, architecture: str = "llama", kind: str = "next", **options: Any
    ) -> None:
        given = {name: options.pop(name) for name in ("callbacks", "compute_metrics") if name in options}
        again = options.pop("again", None)
        self.trainer = Trainer(
            model=_model(architecture, kind),
            args=TrainingArguments(**_options(place, folder, **options)),
            train_dataset=Rows(kind),
            eval_dataset=Rows(kind),
            **given,
        )
        assert self.trainer.args.device == torch.device(place), f"Trainer chose {self.trainer.args.device}"
        self.trainer.train(resume_from_checkpoint=again)

    def found(self) -> Any:
        """Losses, norms and the model."""
        rows = [
            [row[name] for name in ("loss", "grad_norm", "learning_rate", "eval_loss") if name in row]
            for row in self.trainer.state.log_history
        ]
        return rows, list(self.trainer.model.parameters())


def _run(architecture: str = "llama", kind: str = "next", **options: Any) -> Case:
    def check(place: str) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            return Trained(place, folder, architecture, kind, **options).found()

    return check


def saved(place: str) -> Any:
    """Saved, read back, and what it says then."""
    with tempfile.TemporaryDirectory() as folder:
        made = Trained(place, folder)
        made.trainer.save_model(folder)
        made.trainer.save_state()
        assert (Path(folder) / "model.safetensors").exists()
        read = AutoModelForCausalLM.from_pretrained(folder).to(place).eval()
        with torch.no_grad():
            return list(read.parameters()), read(Rows().words.to(place)).logits


def mapped(place: str) -> Any:
    """Read back to where `device_map` says."""
    with tempfile.TemporaryDirectory() as folder:
        Trained(place, folder).trainer.save_model(folder)
        return list(AutoModelForCausalLM.from_pretrained(folder, device_map=place).parameters())


def resumed(place: str) -> Any:
    """Gone on from a checkpoint by a Trainer of another run."""
    options: dict[str, Any] = {"save_strategy": "steps", "save_steps": 2, "max_steps": 4}
    with tempfile.TemporaryDirectory() as folder:
        first = Trained(place, folder, **options).found()
        last = get_last_checkpoint(folder)
        assert last is not None
        options["max_steps"] = 6
        return first, Trained(place, folder, again=last, **options).found()


def predicted(place: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        made = Trained(place, folder, "bert", "class", max_steps=2)
        found = made.trainer.predict(Rows("class"))
        scores = [float(x) for x in found.predictions.reshape(-1)]
        return scores, made.trainer.evaluate()["eval_loss"]


def measured(place: str) -> Any:
    """With figures of one's own, the best model kept, and an end where it gets no better."""

    def figures(found: Any) -> dict[str, float]:
        return {"right": float((found.predictions.argmax(-1) == found.label_ids).mean())}

    options = {
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
        "load_best_model_at_end": True,
        "metric_for_best_model": "eval_loss",
        "num_train_epochs": 3,
        "callbacks": [EarlyStoppingCallback(1)],
        "compute_metrics": figures,
    }
    with tempfile.TemporaryDirectory() as folder:
        made = Trained(place, folder, "bert", "class", **options)
        return made.found(), made.trainer.state.best_metric, made.trainer.evaluate()["eval_right"]


def written(place: str) -> Any:
    """A Seq2SeqTrainer that writes what it predicts."""
    with tempfile.TemporaryDirectory() as folder:
        options = _options(place, folder, predict_with_generate=True, generation_max_length=6, max_steps=2)
        trainer = Seq2SeqTrainer(
            model=_model("t5", "pairs"),
            args=Seq2SeqTrainingArguments(**options),
            train_dataset=Rows(),
        )
        trainer.train()
        return trainer.predict(Rows()).predictions.tolist(), list(trainer.model.parameters())


PROGRAMS: dict[str, Case] = {
    "defaults": _run(),
    "another model": _run("opt"),
    "classes": _run("bert", "class", max_steps=2),
    "accumulated": _run(gradient_accumulation_steps=2),
    "checkpointed activations": _run(gradient_checkpointing=True),
    "clipped": _run(max_grad_norm=0.01),
    "smoothed": _run(label_smoothing_factor=0.1),
    "adafactor": _run(optim="adafactor"),
    "sgd": _run(optim="sgd", learning_rate=0.1),
    "fused": _run(optim="adamw_torch_fused"),
    "adagrad": _run(optim="adagrad"),
    "cosine": _run(lr_scheduler_type="cosine_with_restarts", warmup_steps=2),
    "workers": _run(dataloader_num_workers=1),
    "by length": _run(train_sampling_strategy="group_by_length"),
    "found batch size": _run(auto_find_batch_size=True),
    "evaluated": _run(eval_strategy="steps", eval_steps=2),
    "evaluated each epoch": _run(eval_strategy="epoch"),
    "saved": saved,
    "mapped": mapped,
    "resumed": resumed,
    "predicted": predicted,
    "measured": measured,
    "written": written,
}


def suite(tally: Tally, only: str) -> None:
    """Run the programs whose name holds `only`; of so many, one."""
    for name, program in PROGRAMS.items():
        if only in name and tally.is_due():
            tally.compare(name, program)
