"""Lightning's Trainer and Fabric, who choose the device by themselves: fitting, validating, testing and predicting with
callbacks, checkpoints, metrics and optimization by hand."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning
import torch
import torchmetrics
from lightning.pytorch import callbacks
from lightning.pytorch.demos import boring_classes
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.libraries.comparing import seed
from tests.sessions.databases.comparing import Tally

ROWS, WIDTH, CLASSES = 24, 8, 4
Case = Callable[[str], Any]
QUIET = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}


def _loader(number: int = 5) -> DataLoader[Any]:
    drawn = torch.Generator().manual_seed(number)
    rows = torch.randn(ROWS, WIDTH, generator=drawn), torch.randint(0, CLASSES, (ROWS,), generator=drawn)
    return DataLoader(TensorDataset(*rows), 6, generator=drawn)


class Classifier(lightning.LightningModule):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.save_hyperparameters()
        seed(3)
        self.net = nn.Sequential(
            nn.Linear(WIDTH, width),
            nn.BatchNorm1d(width),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Linear(width, CLASSES),
        )
        self.right = torchmetrics.Accuracy(task="multiclass", num_classes=CLASSES)
        self.losses: list[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)  # type: ignore[no-any-return]

    def _loss(self, batch: Any) -> torch.Tensor:
        return nn.functional.cross_entropy(self(batch[0]), batch[1])

    def training_step(self, batch: Any, index: int) -> torch.Tensor:
        loss = self._loss(batch)
        self.log("loss", loss)
        self.losses.append(loss.detach())
        return loss

    def validation_step(self, batch: Any, index: int) -> None:
        self.log("val_loss", self._loss(batch), prog_bar=True)
        self.right(self(batch[0]), batch[1])
        self.log("right", self.right, on_epoch=True)

    test_step = validation_step

    def predict_step(self, batch: Any, index: int) -> torch.Tensor:
        return self(batch[0]).argmax(-1)  # type: ignore[no-any-return]

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.AdamW(self.parameters(), lr=0.01)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)}


class ByHand(Classifier):
    """Two optimizers, stepped by the module itself."""

    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False

    def training_step(self, batch: Any, index: int) -> None:
        for optimizer in self.optimizers():
            self.toggle_optimizer(optimizer)
            loss = self._loss(batch)
            optimizer.zero_grad()
            self.manual_backward(loss)
            self.clip_gradients(optimizer, 0.5, "norm")
            optimizer.step()
            self.untoggle_optimizer(optimizer)
            self.losses.append(loss.detach())

    def configure_optimizers(self) -> Any:
        parts = self.net[0].parameters(), self.net[4].parameters()
        return [torch.optim.SGD(part, lr=0.1) for part in parts], []


def _trainer(place: str, **options: Any) -> lightning.Trainer:
    """On the CPU where that is asked for; else Lightning finds the device."""
    where = {"accelerator": "cpu"} if place == "cpu" else {}
    made = lightning.Trainer(**{**QUIET, "max_epochs": 2, "enable_checkpointing": False, **where, **options})
    assert made.strategy.root_device == torch.device(place), f"Lightning chose {made.strategy.root_device}"
    return made


def _found(trainer: lightning.Trainer, model: Any, place: str) -> Any:
    """Everything that a run leaves, said of the place it was at: Lightning takes models back to the CPU."""
    here = torch.device(place)
    figures = {name: float(value) for name, value in sorted(trainer.callback_metrics.items())}
    return [x.to(here) for x in (*model.losses, *model.state_dict().values())], figures, trainer.global_step


def _fitted(place: str, model: Any = None, **options: Any) -> Any:
    trainer = _trainer(place, **options)
    model = model or Classifier()
    seed(7)
    trainer.fit(model, _loader(), _loader(6))
    return _found(trainer, model, place)


def fit(place: str) -> Any:
    return _fitted(place)


def accumulate(place: str) -> Any:
    return _fitted(place, accumulate_grad_batches=2)


def clip(place: str) -> Any:
    return _fitted(place, gradient_clip_val=0.1), _fitted(
        place, gradient_clip_val=0.01, gradient_clip_algorithm="value"
    )


def doubled(place: str) -> Any:
    return _fitted(place, precision="64-true")


def by_hand(place: str) -> Any:
    return _fitted(place, ByHand())


def limited(place: str) -> Any:
    return _fitted(place, overfit_batches=2), _fitted(place, fast_dev_run=True)


def detected(place: str) -> Any:
    return _fitted(place, detect_anomaly=True, max_epochs=1)


def stopped(place: str) -> Any:
    early = callbacks.EarlyStopping("val_loss", patience=1, mode="max")
    return _fitted(place, callbacks=[early], max_epochs=6), early.stopped_epoch


def averaged(place: str) -> Any:
    return _fitted(
        place, callbacks=[callbacks.StochasticWeightAveraging(0.05, swa_epoch_start=1)], max_epochs=3
    )


def ema(place: str) -> Any:
    return _fitted(place, callbacks=[callbacks.EMAWeightAveraging(decay=0.9)], max_epochs=2)


def pruned(place: str) -> Any:
    """Not taken back to the first parameters after each epoch: on the CPU Lightning loses those."""
    pruning = callbacks.ModelPruning("l1_unstructured", amount=0.3, use_lottery_ticket_hypothesis=False)
    return _fitted(place, callbacks=[pruning])


def scheduled(place: str) -> Any:
    return _fitted(place, callbacks=[callbacks.GradientAccumulationScheduler({0: 1, 1: 2})])


class _Frozen(callbacks.BaseFinetuning):
    def freeze_before_training(self, pl_module: Any) -> None:
        self.freeze(pl_module.net[0])

    def finetune_function(self, pl_module: Any, epoch: int, optimizer: Any) -> None:
        if epoch == 1:
            self.unfreeze_and_add_param_group(pl_module.net[0], optimizer)


def tuned(place: str) -> Any:
    return _fitted(place, callbacks=[_Frozen()], max_epochs=3)


def resumed(place: str) -> Any:
    """Ended after one epoch, gone on by another Trainer from the file; and the model read back alone."""
    with tempfile.TemporaryDirectory() as folder:
        saver = callbacks.ModelCheckpoint(folder, monitor="val_loss", save_last=True)
        first = _fitted(place, callbacks=[saver], max_epochs=1, enable_checkpointing=True)
        last = str(Path(folder) / "last.ckpt")
        trainer, model = _trainer(place), Classifier()
        seed(7)
        trainer.fit(model, _loader(), _loader(6), ckpt_path=last, weights_only=False)
        read = Classifier.load_from_checkpoint(last, map_location=place, weights_only=False)
        return first, _found(trainer, model, place), read.state_dict()


def looked_at(place: str) -> Any:
    trainer, model = _trainer(place), Classifier()
    ends = [trainer.validate(model, _loader(), verbose=False), trainer.test(model, _loader(6), verbose=False)]
    return ends, [x.to(place) for x in trainer.predict(model, _loader()) or []]


def boring(place: str) -> Any:
    seed(3)
    model: Any = boring_classes.BoringModel()
    data: Any = boring_classes.RandomDataset(32, 16)
    model.losses = []
    trainer = _trainer(place, max_epochs=1, limit_val_batches=2)
    trainer.fit(model, DataLoader(data, 4), DataLoader(data, 4))
    return _found(trainer, model, place)


def _fabric(place: str, **options: Any) -> lightning.Fabric:
    where = {"accelerator": "cpu"} if place == "cpu" else {}
    made = lightning.Fabric(**where, **options)
    assert made.device == torch.device(place), f"Fabric chose {made.device}"
    return made


def fabric(place: str) -> Any:
    """A loop of one's own, saved and loaded."""
    made = _fabric(place)
    made.launch()
    seed(3)
    net = nn.Linear(WIDTH, CLASSES)
    model, optimizer = made.setup(net, torch.optim.SGD(net.parameters(), lr=0.1))
    losses = []
    for x, y in made.setup_dataloaders(_loader()):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        made.backward(loss)
        made.clip_gradients(model, optimizer, max_norm=0.5)
        optimizer.step()
        losses.append(loss.detach())
    with tempfile.TemporaryDirectory() as folder:
        made.save(Path(folder) / "it", {"model": model, "optimizer": optimizer})
        before = [p.detach().clone() for p in model.parameters()]
        with torch.no_grad():
            for p in model.parameters():
                p.zero_()
        made.load(Path(folder) / "it", {"model": model, "optimizer": optimizer})
    return losses, before, list(model.parameters()), made.all_gather(losses[-1]), made.all_reduce(losses[-1])


def metrics(place: str) -> Any:
    """Metrics of torchmetrics, fed batch by batch."""
    kinds = {
        "accuracy": torchmetrics.Accuracy(task="multiclass", num_classes=CLASSES),
        "f1": torchmetrics.F1Score(task="multiclass", num_classes=CLASSES, average="macro"),
        "auroc": torchmetrics.AUROC(task="multiclass", num_classes=CLASSES),
        "confusion": torchmetrics.ConfusionMatrix(task="multiclass", num_classes=CLASSES),
        "calibration": torchmetrics.CalibrationError(task="multiclass", num_classes=CLASSES),
    }
    found = []
    for kind in kinds.values():
        metric: Any = kind.to(place)
        for number in (1, 2):
            seed(number)
            scores, right = torch.randn(12, CLASSES).softmax(-1), torch.randint(0, CLASSES, (12,))
            metric.update(scores.to(place), right.to(place))
        found.append(metric.compute())
    return found


def regressions(place: str) -> Any:
    kinds = (
        torchmetrics.MeanSquaredError(),
        torchmetrics.R2Score(),
        torchmetrics.PearsonCorrCoef(),
        torchmetrics.MeanMetric(),
        torchmetrics.MaxMetric(),
    )
    found = []
    for kind in kinds:
        seed(1)
        given = torch.randn(12).to(place), torch.randn(12).to(place)
        metric: Any = kind.to(place)
        metric.update(
            *given[: 1 if isinstance(kind, (torchmetrics.MeanMetric, torchmetrics.MaxMetric)) else 2]
        )
        found.append(metric.compute())
    return found


PROGRAMS: tuple[Case, ...] = (
    fit,
    accumulate,
    clip,
    doubled,
    by_hand,
    limited,
    detected,
    stopped,
    averaged,
    ema,
    pruned,
    scheduled,
    tuned,
    resumed,
    looked_at,
    boring,
    fabric,
    metrics,
    regressions,
)


def suite(tally: Tally, only: str) -> None:
    """Run the programs whose name holds `only`; of so many, one."""
    for name in ("lightning.pytorch", "lightning.fabric", "lightning"):
        logging.getLogger(name).setLevel(logging.ERROR)
    for program in PROGRAMS:
        if only in program.__name__ and tally.is_due():
            tally.compare(program.__name__, program)
