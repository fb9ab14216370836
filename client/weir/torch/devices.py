"""The table of attached devices: weir:0, weir:1, … and how a share of a session file becomes one."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from weir.link.interface import Link
from weir.torch import session_file
from weir.torch.device import Device
from weir.torch.errors import NotAttached

MAX_DEVICES = 64
Place = torch.device | str | int | None

_devices: dict[int, Device] = {}
_lock = threading.RLock()
_current = threading.local()
_is_child = False
_seed: int | None = None


def attach(link: Link, index: int | None = None) -> torch.device:
    """Make the session behind `link` a device of this process: the next free index, or `index`.

    Raises ValueError where the index is taken or above 63.
    """
    with _lock:
        index = next(i for i in range(MAX_DEVICES + 1) if i not in _devices) if index is None else index
        if index in _devices or not 0 <= index < MAX_DEVICES:
            raise ValueError(
                f"weir:{index} is attached already, or no index of a device (0 to {MAX_DEVICES - 1})"
            )
        _devices[index] = Device(index, link)
        if _seed is not None:
            _devices[index].seed(_seed)
    return torch.device("weir", index)


def detach(place: Place = None) -> None:
    """End a device's session. Its tensors can be dropped, not used."""
    with _lock:
        gone = _devices.pop(index_of(place), None)
    if gone is not None:
        gone.close()


def get(place: Place = None) -> Device:
    """The device of an index, torch.device or string, attached on its first use where a session file names it.

    Raises NotAttached.
    """
    index = index_of(place)
    found = _devices.get(index)
    return found if found is not None else _attach_share(index)


def _attach_share(index: int) -> Device:
    with _lock:
        if index in _devices:
            return _devices[index]
        shares = session_file.shares()
        if not index < len(shares):
            raise NotAttached(
                f"no session stands behind weir:{index}: run the script under `weir run`, open one with"
                " weir.session(…), or call weir.torch.attach(link)"
            )
        if _is_child:
            raise NotAttached("a forked child cannot open its parent's session: use the device in the parent")
        attach(session_file.link_to(shares[index]), index)
        return _devices[index]


def attached() -> list[Device]:
    """The devices in use, in order."""
    return [_devices[index] for index in sorted(_devices)]


def operators() -> int:
    """Operators that all devices have recorded."""
    return sum(device.operators for device in list(_devices.values()))


def index_of(place: Place) -> int:
    """The index a place means; without one, the current device. Raises ValueError for other devices."""
    if place is None:
        return current_index()
    if isinstance(place, int):
        return place if place >= 0 else current_index()
    device = torch.device(place)
    if device.type != "weir":
        raise ValueError(f"expected a weir device, not {device}")
    return current_index() if device.index is None else device.index


def count() -> int:
    """Devices attached, or that the session file names."""
    return max([len(session_file.shares()), *(index + 1 for index in _devices)])


def current_index() -> int:
    """The device that "weir" without a number means in this thread: unless one was chosen, that of this rank where
    torchrun started several, else the first."""
    found = getattr(_current, "index", None)
    return _rank_index() if found is None else found


def _rank_index() -> int:
    rank = os.environ.get("LOCAL_RANK", "")
    return int(rank) if rank.isdecimal() and int(rank) < len(session_file.shares()) else 0


def set_current(place: Place) -> None:
    """Let "weir" mean this device in this thread."""
    _current.index = index_of(place)


@contextmanager
def chosen(place: Place) -> Iterator[None]:
    """`with weir.torch.device(1): …`; a negative index changes nothing."""
    before = current_index()
    set_current(place)
    try:
        yield
    finally:
        _current.index = before


def seed_all(seed: int) -> None:
    """Seed every device, also those attached later: torch.manual_seed calls this."""
    global _seed
    _seed = seed
    if not _is_child:
        for device in attached():
            device.seed(seed)


def pinning_refused() -> RuntimeError:
    """The error for pinned memory, which a device across a network has no use for."""
    return RuntimeError(
        "the device weir has no pinned memory: leave pin_memory out, copies are asynchronous anyway"
    )


def is_forked() -> bool:
    """Whether this process is a child of the one that attached the devices."""
    return _is_child


def _disown() -> None:
    global _is_child
    _is_child = True
    for device in _devices.values():
        device.disown()


def _close_all() -> None:
    if _is_child:
        return
    for device in attached():
        device.close()


os.register_at_fork(after_in_child=_disown)
atexit.register(_close_all)
