"""torch.Generator(device="weir"): random numbers of its own, drawn at the session beside the device's own.

A session has one state of random numbers. A generator's is put in its place for one operator, and taken back: five
messages, none of which waits.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from weir.torch import devices, rng
from weir.torch.interfaces import choosing

# What a generator begins with that nobody seeded, as on every other device.
DEFAULT_SEED = 67280421310721


# By where PyTorch has the plain one within: operators get that one, not the object of Python.
_made: weakref.WeakValueDictionary[int, Generator] = weakref.WeakValueDictionary()


class Generator(torch._C.Generator):
    """A generator of the device weir."""

    _place: torch.device
    _state: torch.Tensor | None
    _seed: int

    def __new__(cls, device: Any = "weir") -> Generator:
        made: Generator = super().__new__(cls, "cpu")  # type: ignore[call-arg]
        named = torch.device(device)
        made._place = torch.device("weir", devices.index_of(named))
        made._state, made._seed = None, DEFAULT_SEED
        _made[made._cdata] = made  # type: ignore[attr-defined]
        return made

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return self._place

    def manual_seed(self, seed: int) -> Generator:
        """Begin anew from this seed; the numbers are those of torch.manual_seed with it."""
        super().manual_seed(seed)
        self._state, self._seed = None, seed
        return self

    def seed(self) -> int:
        """Begin anew from a seed that nobody knows; that seed."""
        found = super().seed()
        self._state, self._seed = None, found
        return found

    def initial_seed(self) -> int:
        """The seed it began from."""
        return self._seed

    def get_state(self) -> torch.Tensor:
        """The state, to be given to `set_state`: read from the session, so it waits."""
        with self.drawing():
            pass
        assert self._state is not None
        return self._state.cpu()

    def set_state(self, new_state: torch.Tensor) -> Generator:
        """Go on from a state that `get_state` gave."""
        self._state = new_state.to(self._place)
        return self

    def clone_state(self) -> Generator:
        """Another generator that draws what this one would."""
        made = Generator(self._place)
        made._seed = self._seed
        made.set_state(self.get_state())
        return made

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """The device draws from this generator's state, and this generator goes on from where that ends."""
        place = devices.get(self._place)
        with place.lock:
            before = rng.get_rng_state(place.index)
            if self._state is None:
                place.seed(self._seed)
            else:
                rng.set_rng_state(self._state, place.index)
            try:
                yield
                self._state = rng.get_rng_state(place.index)
            finally:
                rng.set_rng_state(before, place.index)


def drawn(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an operator whose random numbers come from the generator among its keywords.

    Raises RuntimeError for a generator of another device.
    """
    generator = kwargs["generator"]
    named = next((value.device for value in args if isinstance(value, torch.Tensor)), kwargs.get("device"))
    place = torch.device("weir", devices.index_of(named))
    ours = _made.get(generator._cdata)
    if ours is None or ours.device != place:
        found = generator.device if ours is None else ours.device
        raise RuntimeError(
            f"Expected a generator of '{place}', found one of '{found}': make it by"
            f" torch.Generator(device='{place}')"
        )
    others = {name: value for name, value in kwargs.items() if name != "generator"}
    with ours.drawing():
        return func.overloadpacket(*args, **others)


def register() -> None:
    choosing.stand_in("Generator", Generator)
