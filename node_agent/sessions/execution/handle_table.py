"""The handles of a session: tensors, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from node_agent.sessions.execution.memory import MemoryQuota
from weir_wire import wire
from weir_wire.wire import Fault, WireError

_FAULTS_KEPT = 32
_MESSAGE_LENGTH = 500


class Poison:
    """Stands for a tensor that could not be made; whatever needs it fails for the same reason."""

    __slots__ = ("fault",)

    def __init__(self, fault: Fault) -> None:
        self.fault = fault


class Poisoned(Exception):
    """An operator needs a poisoned handle."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


class Table:
    """Handle to tensor. `faults` are the root causes nobody has been told yet."""

    def __init__(self, memory: MemoryQuota) -> None:
        self.memory = memory
        self.rows: dict[int, torch.Tensor | Poison] = {}
        self.faults: list[Fault] = []
        self._poisons = 0

    def tensors(self, handles: Iterable[int]) -> list[torch.Tensor]:
        """The tensors of these handles. Raises WireError for one unknown, Poisoned for a poisoned one."""
        rows = self.rows
        try:
            found = [rows[handle] for handle in handles]
        except KeyError as error:
            raise WireError(
                f"handle {error.args[0]} is not known: freed or never made", "bad_handle"
            ) from None
        if self._poisons:
            for row in found:
                if isinstance(row, Poison):
                    raise Poisoned(row.fault)
        return found  # type: ignore[return-value]

    def check_free(self, handles: Iterable[int]) -> None:
        """Raises WireError unless these may become new handles."""
        rows = self.rows
        for handle in handles:
            if handle <= 0 or handle in rows:
                raise WireError(f"handle {handle} cannot be made: it is in use or no handle", "bad_handle")
        if len(rows) >= wire.MAX_HANDLES:
            raise WireError(f"a session holds at most {wire.MAX_HANDLES} handles", "bad_handle")

    def put(self, handle: int, tensor: torch.Tensor) -> None:
        """A new handle. Raises OutOfMemory, then the handle stays unknown."""
        self.memory.hold(tensor)
        self.rows[handle] = tensor

    def free(self, handle: int) -> None:
        """Forget a handle. Raises WireError for one unknown (ELA-1306)."""
        row = self.rows.pop(handle, None)
        if row is None:
            raise WireError(f"handle {handle} cannot be freed: it is not known", "bad_handle")
        if row.__class__ is Poison:
            self._poisons -= 1
        else:
            self.memory.drop(row)  # type: ignore[arg-type]

    def poison(self, handles: Iterable[int], fault: Fault) -> None:
        """These handles, and whatever shares storage with them, stand for the fault from now on."""
        poison = Poison(fault)
        for handle in self._with_aliases(handles):
            row = self.rows.get(handle)
            if isinstance(row, Poison):
                continue
            if row is not None:
                self.memory.drop(row)
            elif handle <= 0 or len(self.rows) >= wire.MAX_HANDLES:
                continue
            self.rows[handle] = poison
            self._poisons += 1

    def blame(self, fault: Fault) -> None:
        """Keep a root cause for the next reply; the first ones count."""
        if len(self.faults) < _FAULTS_KEPT:
            self.faults.append(Fault(fault.code, fault.op[:200], fault.message[:_MESSAGE_LENGTH]))

    def faults_take(self) -> list[Fault]:
        """What has been kept, once."""
        taken, self.faults = self.faults, []
        return taken

    def _with_aliases(self, handles: Iterable[int]) -> list[int]:
        wanted = list(handles)
        tensors = (self.rows.get(handle) for handle in wanted)
        storages = {row.untyped_storage()._cdata for row in tensors if isinstance(row, torch.Tensor)}
        if not storages:
            return wanted
        others = [
            handle
            for handle, row in self.rows.items()
            if isinstance(row, torch.Tensor) and row.untyped_storage()._cdata in storages
        ]
        return wanted + others
