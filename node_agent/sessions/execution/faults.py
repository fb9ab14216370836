"""What a client is told of an exception: a code, and the first line of why (ELA-1407)."""

from __future__ import annotations

import torch

from node_agent.sessions.execution.memory import OutOfMemory
from node_agent.sessions.execution.operator_allowlist import NotAllowed
from node_agent.sessions.execution.results import Mismatch
from weir_wire.wire import Fault, WireError


def fault_of(op: str, error: Exception) -> Fault:
    """The fault of an operator ("" where none was run)."""
    lines = str(error).splitlines()
    text = lines[0] if lines else type(error).__name__
    if isinstance(error, WireError):
        return Fault(error.code, op, text)
    if isinstance(error, NotAllowed):
        return Fault("not_allowed", op, text)
    if isinstance(error, Mismatch):
        return Fault("mismatch", op, text)
    is_memory = isinstance(error, OutOfMemory | MemoryError | torch.OutOfMemoryError)
    if is_memory or "can't allocate memory" in str(error):
        return Fault("out_of_memory", op, text)
    code = (
        "index" if isinstance(error, IndexError) else "value" if isinstance(error, ValueError) else "operator"
    )
    return Fault(code, op, text)
