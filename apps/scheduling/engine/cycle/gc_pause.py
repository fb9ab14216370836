"""Passes without the search for circles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def unsearched() -> Iterator[None]:
    """Inside, nobody looks for circles of objects: a pass makes rows by the ten thousand and few circles, and looking
    through all that there are each few thousand rows takes up to a quarter of its time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
