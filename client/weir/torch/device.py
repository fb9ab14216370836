"""One attached session as a device: records operators, counts memory, sends batches, reads results."""

from __future__ import annotations

import itertools
import os
import threading
import time
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from weir.link.interface import Link
from weir.torch import interrupts
from weir.torch.errors import out_of_memory, torch_error
from weir.torch.metas import Meta
from weir_wire import wire
from weir_wire.wire import Kind

FLUSH_INTS = 2048
FLUSH_S = 0.001
TEMPLATE_BYTES = 1 << 20
# The clock is read once in so many operators.
CLOCK_EVERY = 16


class Handle:
    """A tensor at the worker. Its death is the remote free, told in order with the operators.

    A view holds the handle whose storage it shows (`base`) and takes no memory of its own.
    """

    __slots__ = ("base", "device", "id", "meta", "nbytes")

    def __init__(
        self, device: Device, meta: Meta, nbytes: int, base: Handle | None = None, known_id: int = 0
    ) -> None:
        self.id = known_id or next(device.ids)
        self.device = device
        self.meta = meta
        self.nbytes = nbytes
        self.base = base

    def __del__(self) -> None:
        # The collector may run anywhere, in any thread: appending to a deque takes no lock.
        self.device.freed.append((self.id, self.nbytes))


def handle_of(tensor: torch.Tensor) -> Handle:
    """The remote handle of a tensor of the device."""
    return tensor._remote  # type: ignore[attr-defined]


class Device:
    """The device weir:index over a link. Only reads wait for the worker; `requests` counts them by kind."""

    def __init__(self, index: int, link: Link) -> None:
        self.index, self.link = index, link
        self.lock: Any = threading.RLock()
        self.ids = itertools.count(1)
        self.freed: deque[tuple[int, int]] = deque()
        self.templates: dict[tuple, Any] = {}
        self.template_ids = itertools.count()
        self.used_bytes = self.peak_bytes = self.operators = 0
        self.requests: Counter[str] = Counter()
        self.rng_nbytes: int | None = None
        self.is_blocking = os.environ.get("WEIR_LAUNCH_BLOCKING", "0") not in ("", "0")
        self._ints: list[int] = []
        self._floats: list[float] = []
        self._added: list[bytes] = []
        self._dropped: list[int] = []
        self._flushed_at = 0.0
        link.on_flush = self._flush_tail

    @property
    def torch_device(self) -> torch.device:
        return torch.device("weir", self.index)

    @property
    def kind(self) -> str:
        """What the worker computes on: "cpu", "cuda", "npu" …"""
        return self.link.device.split(":")[0]

    @property
    def quota_bytes(self) -> int:
        """The share's memory; 0 is no limit. It may change while the session runs."""
        return self.link.quota_mib << 20

    # --- recording

    def record(self, template: Any, scan: Any) -> list[Handle | None]:
        """Note one run of a template, to be sent soon. Returns its new handles, None where it makes none.

        `scan` holds the call's `handles`, `ints` and `floats`. Raises torch.OutOfMemoryError where the results
        would not fit the quota; nothing is noted then.
        """
        with self.lock:
            if self.freed:
                self._note_freed()
            if template.nbytes:
                self._charge(template.nbytes)
            handles, noted = scan.handles, self._ints
            if not noted:
                self.link.wake()
            base = (handles[0].base or handles[0]) if template.is_view else None
            made = [meta and Handle(self, meta, nbytes, base) for meta, nbytes in template.outputs]
            noted.append(template.id)
            noted += [handle.id for handle in handles]
            noted += scan.ints
            noted += [handle.id for handle in made if handle is not None]
            self._floats += scan.floats
            self.operators += 1
            if len(noted) > FLUSH_INTS or (not self.operators % CLOCK_EVERY and self._is_late()):
                self.flush()
        if self.is_blocking:
            self.synchronize()
        return made

    def _is_late(self) -> bool:
        return time.perf_counter() - self._flushed_at > FLUSH_S

    def _note_freed(self) -> None:
        freed, ids = self.freed, [0]
        while freed:
            handle, nbytes = freed.popleft()
            self.used_bytes -= nbytes
            ids.append(handle)
        ids[0] = 1 - len(ids)
        self._ints += ids

    def _charge(self, nbytes: int) -> None:
        """Count fresh memory against the quota, asking the worker before refusing."""
        quota, used = self.link.quota_mib << 20, self.used_bytes + nbytes
        if used > quota > 0:
            # The worker counts real storages (an operator may share what its schema does not say): its word decides.
            self.used_bytes = int(self.stat()["used_bytes"])
            used = self.used_bytes + nbytes
            if used > quota:
                raise out_of_memory(self.index, nbytes, self.used_bytes, quota)
        self.used_bytes = used
        if used > self.peak_bytes:
            self.peak_bytes = used

    def template_added(self, key: tuple, template: Any, description: dict[str, Any]) -> None:
        """Remember a template and tell the worker with the next batch; the oldest gives way."""
        with self.lock:
            if len(self.templates) >= wire.MAX_TEMPLATES - 1:
                self.flush()
                oldest = self.templates.pop(next(iter(self.templates)))
                if oldest.id is not None:
                    self._dropped.append(oldest.id)
            self.templates[key] = template
            if template.id is not None:
                self._added.append(wire.dump_json({"id": template.id, **description}))

    # --- sending

    def flush(self) -> None:
        """Send what waits. Returns before it has run."""
        interrupts.defer()
        with self.lock:
            if self.freed:
                self._note_freed()
            if self._added or self._dropped:
                self._send_templates()
            if self._ints:
                noted, floats, self._ints, self._floats = self._ints, self._floats, [], []
                self.link.send(Kind.BATCH, *wire.pack_batch(array("q", noted), array("d", floats)))
            self._flushed_at = time.perf_counter()

    def _send_templates(self) -> None:
        added, dropped, self._added, self._dropped = self._added, self._dropped, [], []
        if dropped:
            self.link.send(Kind.TEMPLATE, wire.dump_json({"add": [], "drop": dropped}))
        # The descriptions are JSON already: joined, never parsed and written again.
        for rows in _grouped(added):
            self.link.send(Kind.TEMPLATE, b'{"add":[' + b",".join(rows) + b'],"drop":[]}')

    def _flush_tail(self) -> None:
        """Called by the link's thread: it never waits for a recording thread, which may wait for the link."""
        if not self.lock.acquire(blocking=False):
            self.link.wake()
            return
        try:
            self.flush()
        finally:
            self.lock.release()

    @interrupts.whole
    def upload(self, data: memoryview, meta: Meta, dtype: str) -> Handle:
        """A new contiguous tensor at the worker from these bytes. Raises torch.OutOfMemoryError."""
        with self.lock:
            self.flush()
            handle = self.allocate(meta)
            self.link.upload(handle.id, dtype, meta.size, data)
        return handle

    def allocate(self, meta: Meta) -> Handle:
        """A handle with memory of its own, counted, that a frame is about to fill. Raises torch.OutOfMemoryError."""
        with self.lock:
            if self.freed:
                self._note_freed()
            self._charge(meta.storage_nbytes)
            return Handle(self, meta, meta.storage_nbytes)

    def adopted(self, number: int, meta: Meta, base: Handle | None) -> Handle:
        """The handle of a tensor that the worker made under this id, counted unless it is a view of `base`."""
        nbytes = 0 if base is not None else meta.storage_nbytes
        with self.lock:
            self.used_bytes += nbytes
        return Handle(self, meta, nbytes, base, number)

    def send(self, kind: Kind, *parts: Any) -> None:
        """A frame after all that waits."""
        with self.lock:
            self.flush()
            self.link.send(kind, *parts)

    def seed(self, seed: int) -> None:
        """Seed the random numbers drawn at the worker."""
        self.send(Kind.RNG, b"\0", wire.NUMBER.pack(seed % (1 << 64)))

    # --- reading

    def request(self, kind: Kind, *parts: Any) -> memoryview:
        """A reply after all that waits has run. Raises RuntimeError or torch.OutOfMemoryError for what failed."""
        return self._asked(kind.name, lambda: self.link.request(kind, *parts))

    def read(self, handle: Handle, nbytes: int, into: memoryview) -> None:
        """The tensor's contiguous bytes."""
        self._asked("READ", lambda: self.link.read(handle.id, nbytes, into))

    def _asked(self, name: str, ask: Callable[[], Any]) -> Any:
        self.flush()
        self.requests[name] += 1
        try:
            return ask()
        except wire.SessionFault as failure:
            raise torch_error(self.index, failure) from None

    @interrupts.whole
    def call(
        self, description: dict[str, Any], inputs: Sequence[Handle], ints: list, floats: list, room: int
    ) -> Any:
        """Run an operator whose outputs only running it tells. Returns the result's node (wire.Kind.CALL)."""
        with self.lock:
            base = next(self.ids)
            self.ids = itertools.count(base + room)
        payload = {
            "template": description,
            "inputs": [handle.id for handle in inputs],
            "ints": list(ints),
            "floats": [wire.float_node(value) for value in floats],
            "base": base,
            "room": room,
        }
        return wire.load_json(self.request(Kind.CALL, wire.dump_json(payload)), list)

    def stat(self) -> dict[str, Any]:
        """The worker's own figures (wire.Kind.STAT) after all that waits has run."""
        return self._asked("STAT", self.link.stat)

    def synchronize(self) -> None:
        """Wait until everything has run; raises what failed."""
        self.stat()

    def memory_allocated(self) -> int:
        """Bytes of live tensors of this process on the device."""
        with self.lock:
            if self.freed:
                self._note_freed()
            return self.used_bytes

    # --- the end

    def close(self) -> None:
        """Send what waits and end the session."""
        try:
            self.flush()
        except ConnectionError:
            return
        finally:
            self.link.close()

    def disown(self) -> None:
        """In a forked child: the session is the parent's, every use says so."""
        self.lock = _Disowned(self.index)


def _grouped(rows: list[bytes]) -> Iterator[list[bytes]]:
    """The rows in groups that each fit a frame."""
    group: list[bytes] = []
    size = 0
    for row in rows:
        if group and size + len(row) > TEMPLATE_BYTES:
            yield group
            group, size = [], 0
        group.append(row)
        size += len(row) + 1
    if group:
        yield group


class _Disowned:
    """Stands where the lock stood, so that the parent's path pays nothing for the check."""

    def __init__(self, index: int) -> None:
        self.index = index

    def __enter__(self) -> None:
        raise RuntimeError(
            f"weir:{self.index} belongs to the parent process. A forked child (a DataLoader worker) cannot use it:"
            " return CPU tensors from the data set and move them in the training loop."
        )

    def __exit__(self, *_: object) -> None: ...

    def acquire(self, blocking: bool = True) -> bool:
        return False
