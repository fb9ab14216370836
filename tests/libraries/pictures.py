"""Of every family of models in timm the smallest ones: forward, backward and steps of SGD, in training and not; its own
optimizers, schedules, losses and averages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import timm
import timm.loss
import timm.optim
import timm.scheduler
import torch
from timm.models import _registry
from timm.utils import ModelEmaV3

from tests.libraries.comparing import Programs, seed
from tests.sessions.databases.comparing import moved, total

SIDES = (64, 96, 224)
MOST_PARAMETERS = 12_000_000
# Families have dozens of models: those whose names say that they are small are tried first.
SMALL = (
    "test_",
    "pico",
    "atto",
    "femto",
    "nano",
    "_xxs",
    "_xs",
    "tiny",
    "zero",
    "_s",
    "small",
    "18",
    "b0",
    "050",
)
OF_EACH = 2
Case = Callable[[str], Any]


def _rank(name: str) -> tuple[int, str]:
    return next((rank for rank, sign in enumerate(SMALL) if sign in name), len(SMALL)), name


def _families() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in sorted(timm.list_models(), key=_rank):
        found.setdefault(_registry._model_to_module[name], []).append(name)
    return found


def _make(name: str, side: int) -> Any:
    """The model for pictures of this size, where it can be told."""
    try:
        return timm.create_model(name, num_classes=10, img_size=side)
    except TypeError:
        return timm.create_model(name, num_classes=10)


def _fits(name: str, side: int) -> bool:
    """Whether the model is small and takes pictures of this size: asked without memory."""
    try:
        with torch.device("meta"):
            model = _make(name, side)
            if sum(one.numel() for one in model.parameters()) > MOST_PARAMETERS:
                return False
            model.eval()(torch.empty(2, 3, side, side))
    except Exception:
        return False
    return True


def _chosen(names: list[str]) -> Iterator[tuple[str, int]]:
    found = 0
    for name in names[: 3 * OF_EACH]:
        side = next((one for one in SIDES if _fits(name, one)), None)
        if side is not None:
            yield name, side
            found += 1
        if found == OF_EACH:
            return


def _picture(place: str, side: int) -> torch.Tensor:
    seed(5)
    return moved(torch.randn(2, 3, side, side), place)  # type: ignore[no-any-return]


def trained(name: str, side: int) -> Case:
    """What it says, its gradients, its parameters and its running figures after steps."""

    def check(place: str) -> Any:
        seed(3)
        model = _make(name, side).train().to(place)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        seen = []
        for step in range(2):
            picture = _picture(place, side)
            seed(7 + step)
            found = model(picture)
            optimizer.zero_grad()
            total(found).backward()
            seen.append((found, [p.grad for p in model.parameters()]))
            optimizer.step()
        return seen, list(model.parameters()), list(model.buffers())

    return check


def looked_at(name: str, side: int) -> Case:
    """What it says when it does not train, and the features it finds on the way."""

    def check(place: str) -> Any:
        seed(3)
        model = _make(name, side).eval().to(place)
        with torch.no_grad():
            features = model.forward_features(_picture(place, side))
            return features, model.forward_head(features, pre_logits=True), model(_picture(place, side))

    return check


def _steps(make: Callable[[Any], Any], model: Any, place: str) -> list[torch.Tensor]:
    optimizer = make(model)
    for step in range(3):
        picture = _picture(place, 64)
        seed(7 + step)
        optimizer.zero_grad()
        loss = model(picture).square().mean()
        loss.backward(create_graph=getattr(optimizer, "second_order", False))
        optimizer.step()
    return list(model.parameters())


def optimized(kind: str) -> Case:
    def check(place: str) -> Any:
        seed(3)
        model = _make("test_resnet", 64).to(place)
        return _steps(lambda it: timm.optim.create_optimizer_v2(it, opt=kind, lr=0.01), model, place)

    return check


def averaged(place: str) -> Any:
    seed(3)
    model = _make("test_resnet", 64).to(place)
    average = ModelEmaV3(model, decay=0.9)
    _steps(lambda it: torch.optim.SGD(it.parameters(), lr=0.1), model, place)
    average.update(model)
    return average.module.state_dict()


def lost(kind: type) -> Case:
    def check(place: str) -> Any:
        seed(3)
        scores = moved(torch.randn(6, 10, requires_grad=True), place)
        takes_rows = kind in (
            timm.loss.SoftTargetCrossEntropy,
            timm.loss.BinaryCrossEntropy,
            timm.loss.JsdCrossEntropy,
        )
        target = (
            torch.rand(6, 10) if takes_rows and kind is not timm.loss.JsdCrossEntropy else torch.arange(6)
        )
        if kind is timm.loss.JsdCrossEntropy:
            target = torch.arange(2)
        loss = kind()(scores, moved(target, place))
        loss.backward()
        return loss, scores.grad

    return check


LOSSES = ("LabelSmoothingCrossEntropy", "SoftTargetCrossEntropy", "BinaryCrossEntropy", "JsdCrossEntropy")


def suite(tally: Programs, only: str) -> None:
    """Run the programs whose name holds `only`; of so many families and optimizers, one."""
    for family, names in sorted(_families().items()):
        if only not in family or not tally.is_due_named(family):
            continue
        for name, side in _chosen(names):
            tally.compare(f"{family}: {name} trained", trained(name, side))
            tally.compare(f"{family}: {name} looked at", looked_at(name, side))
    for kind in timm.optim.list_optimizers():
        if only in f"optimizer {kind}" and tally.is_due_named(f"optimizer {kind}"):
            tally.compare(f"optimizer {kind}", optimized(kind))
    if only in "average" and tally.is_due_named("average"):
        tally.compare("average", averaged)
    for name in LOSSES:
        if only in f"loss {name}" and tally.is_due_named(f"loss {name}"):
            tally.compare(f"loss {name}", lost(getattr(timm.loss, name)))
