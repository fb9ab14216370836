"""Operators that are not simply sent to the session: made from nothing, decided here, or put together of others."""

from __future__ import annotations

import torch

from weir.torch.kernels import attention, autocast, factories, into, recurrent, sparse, special, splitting


def register(aten: torch.library.Library, everything: torch.library.Library) -> None:
    """Put all of them in place, once."""
    special.register_in_place_views()
    factories.register(aten)
    attention.register(aten)
    autocast.register(aten, everything)
    sparse.register(aten)
    splitting.register(aten)
    into.register(aten)
    recurrent.register(aten)
