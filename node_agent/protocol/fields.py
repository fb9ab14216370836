"""The vocabulary of the node protocol: its version and its bounded field types (PLAT-OPS-22)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

PROTOCOL_VERSION = 1
SUPPORTED = (1,)

JOIN_PATH = "/api/agent/v1/join"
SYNC_PATH = "/api/agent/v1/sync"

USAGE_PER_SYNC = 500
LOGS_PER_SYNC = 100
EVENTS_PER_SYNC = 200
LOG_CHUNK_BYTES = 64 * 1024
SLICES_PER_NODE = 2_000
DEVICES_PER_NODE = 256
GRACE_MAX_S = 3600
RUN_TIMEOUT_MAX_S = 366 * 24 * 3600

_NO_NUL = r"^[^\x00]*$"


class Message(BaseModel):
    """A frozen message; a field it does not know is refused rather than dropped."""

    # What was sent may hold a secret: an error says where it is wrong, and not what it was.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)


# A uid names a folder on the node, so it can never climb out of one or look like an option.
Uid = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_NO_NUL)]
Word = Annotated[str, StringConstraints(max_length=64, pattern=_NO_NUL)]
Sentence = Annotated[str, StringConstraints(max_length=500, pattern=_NO_NUL)]
LabelKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$")]
LabelValue = Annotated[str, StringConstraints(max_length=255, pattern=_NO_NUL)]
EnvKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")]
Argument = Annotated[str, StringConstraints(max_length=32_768, pattern=_NO_NUL)]
Secret = Annotated[str, StringConstraints(min_length=8, max_length=512, pattern=r"^[\x21-\x7e]+$")]

# The SHA-256 of a certificate or a file, in hexadecimal.
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Port = Annotated[int, Field(ge=1, le=65_535)]
Mebibytes = Annotated[int, Field(ge=0, le=2**40)]
# 0: no share of a device at all, work on the host alone.
SharePercent = Annotated[int, Field(ge=0, le=100)]
MeasuredPercent = Annotated[float, Field(ge=0, le=100_000)]
Seconds = Annotated[float, Field(ge=0, le=1e9)]
SyncPeriod = Annotated[float, Field(ge=0.05, le=3600)]
Sequence = Annotated[int, Field(ge=1, le=2**53)]
Counter = Annotated[int, Field(ge=0, le=2**53)]

Labels = Annotated[dict[LabelKey, LabelValue], Field(max_length=64)]

Health = Literal["ok", "degraded", "failed"]
DesiredState = Literal["running", "stopped"]
SliceState = Literal["starting", "running", "stopping", "exited", "failed", "refused"]
ReasonCode = Literal[
    "",
    "completed",
    "run_timeout",
    "idle_timeout",
    "stopped",
    "migrated",
    "preempted",
    "memory_exceeded",
    "disk_exceeded",
    "volume_exceeded",
    "packages_failed",
    "crashed",
    "refused",
    "lost",
]
# Signals by which a program may want to be asked to save itself.
CheckpointSignal = Literal["", "USR1", "USR2", "HUP", "INT"]
# A signal by its name without SIG, as the node's own `signal` has it.
SignalName = Annotated[str, StringConstraints(pattern=r"^[A-Z0-9+]{2,12}$")]
WorkKind = Literal["program", "session"]
# The slice driver of work on the host alone. A node whose devices name it understands what is asked of the host.
HOST_DRIVER = "host"
MoveState = Literal["", "sending", "sent", "done", "failed"]
# What keeps work apart on a node: namespaces of its own, a user of its own, nothing (then programs are refused), or
# nothing although an operator lets programs run. "": the agent does not tell.
IsolationLevel = Literal["", "namespaces", "user", "refused", "unsafe"]
# Which network work has on a node: each its own, which leads outside (private) or nowhere (none); the node's; or no
# program runs, as it would have the node's. "": the agent does not tell.
NetworkLevel = Literal["", "private", "none", "node", "refused"]
PowerSource = Literal["", "measured", "modelled"]
Level = Literal["debug", "info", "warning", "error", "critical"]

TERMINAL_STATES: frozenset[str] = frozenset({"exited", "failed", "refused"})
