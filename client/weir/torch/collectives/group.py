"""A process group whose collectives the sessions carry out: how they find each other, and what they are asked."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

import torch

from weir.torch import devices
from weir.torch.device import Device, Handle, handle_of
from weir_wire import wire
from weir_wire.wire import Kind

_MS = 1e-3


class Group:
    """Rank `rank` of `size`. Its session is that of the first tensor it is given, and stays so. `is_known`: the process
    group of torch.distributed that it belongs to has been seen."""

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta) -> None:
        self.rank, self.size = rank, size
        self._store, self._timeout_s = store, timeout.total_seconds()
        self._lock = threading.Lock()
        self._device: Device | None = None
        self._id = ""
        self.is_known = False

    def ask(
        self,
        op: str,
        ins: Sequence[torch.Tensor],
        outs: Sequence[torch.Tensor],
        timeout_ms: int = -1,
        **more: Any,
    ) -> Device:
        """Have the session take part in a collective, after all that was recorded before. Returns at once.

        Raises RuntimeError for tensors of several devices, and where the sessions cannot meet.
        """
        sent, received = [handle_of(one) for one in ins], [handle_of(one) for one in outs]
        device = self._met(sent + received)
        timeout_s = timeout_ms * _MS if timeout_ms > 0 else self._timeout_s
        asked = {
            "group": self._id,
            "op": op,
            "in": [handle.id for handle in sent],
            "out": [handle.id for handle in received],
            "timeout_s": timeout_s,
            **more,
        }
        device.send(Kind.COLLECTIVE, wire.dump_json(asked))
        if device.is_blocking:
            device.synchronize()
        return device

    def leave(self) -> None:
        """The other ranks' sessions are told; does nothing where the session has ended, or never met them."""
        device, self._device = self._device, None
        if device is not None and device in devices.attached():
            # The session may end meanwhile, and has left then.
            with contextlib.suppress(ConnectionError):
                device.send(Kind.LEAVE, wire.dump_json({"group": self._id}))

    def _met(self, handles: Iterable[Handle]) -> Device:
        """The device of these tensors, which belongs to the group from now on."""
        used = {handle.device for handle in handles} or {self._device or devices.get()}
        if self._device is not None:
            used.add(self._device)
        if len(used) > 1:
            names = ", ".join(sorted(str(device.torch_device) for device in used))
            raise RuntimeError(f"a rank of a process group has its tensors on one device, not on {names}")
        (device,) = used
        with self._lock:
            if self._device is None:
                self._meet(device)
                self._device = device
        return device

    def _meet(self, device: Device) -> None:
        """Tell the others, by the group's store, where this rank's session is; have it connect to theirs."""
        asked = wire.dump_json({"rank": self.rank, "size": self.size})
        here = wire.load_json(device.request(Kind.MEET, asked))
        host = here["host"] or device.link.host
        place = {
            "group": here["group"],
            "host": host,
            "port": here["port"],
            "fingerprint": here["fingerprint"],
        }
        self._store.set(f"rank-{self.rank}", wire.dump_json({**place, "secrets": here["secrets"]}))
        peers = [None if rank == self.rank else self._place_of(rank) for rank in range(self.size)]
        joined = {"group": here["group"], "timeout_s": self._timeout_s, "peers": peers}
        self._id = here["group"]
        device.send(Kind.JOIN, wire.dump_json(joined))
        # What kept them apart is said here, not at some later line.
        device.synchronize()

    def _place_of(self, rank: int) -> dict[str, Any]:
        """Where a rank's session is, and the secret that lets this one in there. Waits for that rank to say so."""
        told = wire.load_json(self._store.get(f"rank-{rank}"))
        return {**told, "secrets": None, "secret": told["secrets"][self.rank]}
