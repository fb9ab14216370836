"""What the databases' samples have in common: arguments of their own on either side, results compared, a tally kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

PLACE = "weir:0"
MESSAGE_LENGTH = 400
# Where operators are computed forwards without a session: on what the session's worker computes on.
_reference = "cpu"


def reference() -> str:
    return _reference


def reference_set(place: str) -> None:
    global _reference
    _reference = place


class Tally:
    """How many samples were equal to the reference's, and of each other one what it was and why.

    `every`: of so many samples one is run, so that a sample of the whole is quick and always the same; `first`: which.
    `failed`: [name, "wrong" or "refused", message].
    """

    def __init__(self, every: int = 1, first: int = 0) -> None:
        self.every, self.first = every, first
        self.seen = self.samples = self.equal = 0
        self.failed: list[list[str]] = []

    def is_due(self) -> bool:
        """Whether the next sample is one of those that are run."""
        self.seen += 1
        return (self.seen - 1) % self.every == self.first

    def compare(self, name: str, check: Callable[[str], Any]) -> None:
        """Run `check` on the CPU and on the device and compare what they give. What the CPU refuses is no sample."""
        try:
            expected = check("cpu")
        except Exception:
            return
        self.add(name, lambda: check_equal(check(PLACE), expected))

    def add(self, name: str, check: Callable[[], None]) -> None:
        """Count a sample: an AssertionError says that it is wrong, any other error that it is refused."""
        self.samples += 1
        try:
            check()
            self.equal += 1
        except AssertionError as error:
            self.failed.append([name, "wrong", str(error)[:MESSAGE_LENGTH]])
        except Exception as error:
            self.failed.append([name, "refused", f"{type(error).__name__}: {error}"[:MESSAGE_LENGTH]])

    def as_json(self) -> dict[str, Any]:
        return {"samples": self.samples, "equal": self.equal, "failed": self.failed}


def seed(number: int) -> None:
    """Let both places draw from here on what this number says: torch.manual_seed without its note of who called, which
    takes a millisecond and is kept."""
    torch.default_generator.manual_seed(number)
    if reference() != "cpu":
        torch.cuda.manual_seed(number)
    torch.weir.manual_seed_all(number)  # type: ignore[attr-defined]


def on_device(value: Any) -> Any:
    """An argument with its tensors on the device, leaves that need gradients as leaves."""
    if isinstance(value, torch.Tensor):
        return value.detach().to(PLACE).requires_grad_(value.requires_grad)
    if isinstance(value, torch.device) or value == "cpu":
        return torch.device(PLACE)
    return value


def clone(value: Any) -> Any:
    """An argument of its own for the local run: operators may write to theirs."""
    return (
        value.detach().clone().requires_grad_(value.requires_grad)
        if isinstance(value, torch.Tensor)
        else value
    )


def moved(value: Any, place: str) -> Any:
    """An argument of its own at this place."""
    if place == PLACE:
        return on_device(value)
    return clone(value) if place == "cpu" else _on_card(value, place)


def _on_card(value: Any, place: str) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().to(place).requires_grad_(value.requires_grad)
    return torch.device(place) if isinstance(value, torch.device) or value == "cpu" else value


def read(value: Any) -> Any:
    return value.detach().cpu() if isinstance(value, torch.Tensor) else value


def check_equal(mine: Any, theirs: Any, *, has_values: bool = True) -> None:
    """Raises AssertionError where results differ in number, place, layout, type or value."""
    found, wanted = tree_flatten(mine)[0], tree_flatten(theirs)[0]
    assert len(found) == len(wanted), f"{len(found)} results, not {len(wanted)}"
    for one, other in zip(found, wanted, strict=True):
        if not isinstance(other, torch.Tensor):
            assert one == other or one != one, f"{one} is not {other}"
            continue
        assert one.device.type == torch.device(PLACE).type, f"a result on {one.device}"
        assert one.shape == other.shape, f"shape {one.shape}, not {other.shape}"
        assert one.dtype == other.dtype, f"dtype {one.dtype}, not {other.dtype}"
        if has_values:
            torch.testing.assert_close(read(one), read(other), equal_nan=True)


def tensors_of(value: Any) -> list[torch.Tensor]:
    return [x for x in tree_flatten(value)[0] if isinstance(x, torch.Tensor)]


def total(result: Any) -> torch.Tensor:
    """A fixed sum over all that a result holds and that has a gradient."""
    summed = [x for x in tensors_of(result) if x.requires_grad]
    return sum((x.abs() if x.is_complex() else x).sum() * (1 + 0.1 * k) for k, x in enumerate(summed))  # type: ignore[return-value]


def gradients(result: Any, leaves: list[torch.Tensor], *, again: bool = False) -> list[torch.Tensor | None]:
    """Of `total` with respect to the leaves that need one; `again`: so that they can be derived once more."""
    wanted = [x for x in leaves if x.requires_grad]
    return list(torch.autograd.grad(total(result), wanted, allow_unused=True, create_graph=again))
