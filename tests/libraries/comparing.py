"""When a program of a library gives on the device what it gives on the CPU.

A model is thousands of operators, and sums come in an order of their own on either side, so figures are close and not
always the same bits: each within 1e-4 of itself, or within 1e-5 of one and of the largest of its tensor. What is
chosen by them (words, counts, names) is the same.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_flatten

from tests.sessions.databases import comparing
from tests.sessions.databases.comparing import PLACE, Tally

RELATIVE, ABSOLUTE = 1e-4, 1e-5


def seed(number: int) -> None:
    """Let both places, and what draws by Python and NumPy, draw from here on what this number says."""
    random.seed(number)
    np.random.seed(number)
    comparing.seed(number)


class Programs(Tally):
    """A tally of programs; `same_bits` of the equal ones agree to the last bit. Each is named as it comes.

    `begin`: what stands before it in the alphabet is left out, and not counted among those of which one is run.
    """

    def __init__(self, every: int = 1, first: int = 0, begin: str = "") -> None:
        super().__init__(every, first)
        self.begin, self.same_bits = begin, 0

    def is_due_named(self, name: str) -> bool:
        """Whether what has this name is one of those that are run."""
        return name >= self.begin and self.is_due()

    def compare(self, name: str, check: Callable[[str], Any]) -> None:
        """Run the program on the CPU and on the device. What does not run on the CPU is no sample."""
        print(name, file=sys.stderr, flush=True)
        try:
            expected = _kept(check("cpu"))
        except Exception as error:
            print(
                f"  not on the CPU: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr, flush=True
            )
            return
        before = len(self.failed)
        self.add(name, lambda: self._check(_kept(check(PLACE)), expected))
        for found in self.failed[before:]:
            print(" ", *found, file=sys.stderr, flush=True)

    def _check(self, mine: list[Any], theirs: list[Any]) -> None:
        assert len(mine) == len(theirs), f"{len(mine)} results, not {len(theirs)}"
        same = sum(_check_one(place, *pair) for place, pair in enumerate(zip(mine, theirs, strict=True)))
        self.same_bits += same == len(theirs)

    def as_json(self) -> dict[str, Any]:
        return {**super().as_json(), "same_bits": self.same_bits}


def _kept(result: Any) -> list[Any]:
    """All that a program gives, as it is now: read from the device, copied on the CPU."""
    return [
        (x.device.type, x.detach().cpu().clone()) if isinstance(x, torch.Tensor) else x
        for x in tree_flatten(result)[0]
    ]


def _check_one(place: int, mine: Any, theirs: Any) -> bool:
    """Whether the bits are the same. Raises AssertionError where the results are not equal."""
    if not isinstance(theirs, tuple):
        if isinstance(theirs, float):
            assert mine == theirs or abs(mine - theirs) <= RELATIVE * abs(theirs) + ABSOLUTE, (
                f"{mine}, not {theirs}"
            )
        else:
            assert mine == theirs, f"result {place} is {mine}, not {theirs}"
        return bool(mine == theirs)
    (found_at, found), (_, wanted) = mine, theirs
    assert found_at == PLACE.partition(":")[0], f"result {place} is on {found_at}"
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), f"{found.dtype} {found.shape}"
    largest = float(wanted.abs().max()) if wanted.is_floating_point() and wanted.numel() else 0.0
    if not wanted.is_floating_point():
        assert found.equal(wanted), f"result {place} differs"
        return True
    margin = ABSOLUTE * (max(largest, 1.0) if largest < float("inf") else 1.0)
    torch.testing.assert_close(
        found, wanted, rtol=RELATIVE, atol=margin, equal_nan=True, msg=lambda text: f"result {place}: {text}"
    )
    return bool(found.equal(wanted))
