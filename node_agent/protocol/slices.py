"""Slices: what the server wants, what the node observes, uses and prints (PLAT-OPS-22)."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import (
    AwareDatetime,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
    model_validator,
)

from node_agent.protocol.fields import (
    GRACE_MAX_S,
    LOG_CHUNK_BYTES,
    RUN_TIMEOUT_MAX_S,
    Argument,
    CheckpointSignal,
    Counter,
    DesiredState,
    Digest,
    EnvKey,
    MeasuredPercent,
    Mebibytes,
    Message,
    MoveState,
    Name,
    Port,
    ReasonCode,
    Seconds,
    Secret,
    Sentence,
    Sequence,
    SharePercent,
    SignalName,
    SliceState,
    Uid,
    Word,
    WorkKind,
)
from node_agent.protocol.folders import DesiredFolder
from node_agent.protocol.images import WorkImage
from node_agent.protocol.packages import WorkPackages
from node_agent.protocol.services import ServiceReport, ServiceSpec


class CheckpointHook(Message):
    """How a program is asked to save itself before it is stopped to go on later (ELA-810): by a signal, or by a command
    that runs beside it in its environment and ends with 0 once all is saved."""

    signal: CheckpointSignal = ""
    argv: Annotated[tuple[Argument, ...], Field(max_length=256)] = ()

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if bool(self.signal) == bool(self.argv and self.argv[0]):
            raise ValueError("name a signal or a command, and not both")
        return self


class EndWarning(Message):
    """The signal that a program is sent so many seconds before its run time is over."""

    signal: SignalName
    before_s: Annotated[int, Field(ge=1, le=65_535)]


class VolumeMount(Message):
    """A volume that the work finds at `path`. `key` is its place below the folder of volumes, of tenant and uid;
    `storage` the mark of that folder, "" for the portal's own."""

    key: Annotated[
        str, StringConstraints(pattern=r"^[a-z][a-z0-9]{1,30}/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
    ]
    path: Annotated[str, StringConstraints(pattern=r"^(/[A-Za-z0-9_][A-Za-z0-9._-]{0,99}){1,8}$")]
    read_only: bool = False
    storage: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{32})?$")] = ""

    @model_serializer(mode="wrap")
    def _without_nothing(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """An agent that knows one folder alone is told of no mark."""
        told: dict[str, Any] = dump(self)
        return {key: told[key] for key in told if key != "storage" or told[key]}


class WorkSpec(Message):
    """The work of a slice: a program, or a session that serves the device over the network (POOL-12.3).

    `argv[0] == "python"` means the agent's own interpreter; a session has no argv. `run_timeout_s`: released
    after exactly so many seconds of run; `idle_timeout_s`: after so many without use of the device
    (POOL-12.11, POOL-12.12). `grace_s` is the time between asking the work to end and killing it; where it is asked
    to save itself first (`checkpoint`), the time that it has for that. `warning`: a signal before its run time is
    over. With `web` the program serves web pages on the socket that `WEIR_WEB_SOCKET` names, which the node's tunnel
    opens to the portal. `volumes` are mounted for it. `outputs`: a folder is made for what is to be kept after its end.
    `image`: it runs in a container of this image, and argv names a program in there. `service`: it has an HTTP port, is
    looked at and kept alive, and reached as web pages are. `packages` are installed before it starts.
    """

    kind: WorkKind = "program"
    argv: Annotated[tuple[Argument, ...], Field(max_length=256)] = ()
    env: Annotated[dict[EnvKey, Argument], Field(max_length=256)] = {}
    run_timeout_s: Annotated[int, Field(ge=1, le=RUN_TIMEOUT_MAX_S)] | None = None
    idle_timeout_s: Annotated[int, Field(ge=1, le=RUN_TIMEOUT_MAX_S)] | None = None
    grace_s: Annotated[int, Field(ge=0, le=GRACE_MAX_S)] = 5
    checkpoint: CheckpointHook | None = None
    warning: EndWarning | None = None
    web: bool = False
    volumes: Annotated[tuple[VolumeMount, ...], Field(max_length=16)] = ()
    outputs: bool = False
    image: WorkImage | None = None
    service: ServiceSpec | None = None
    packages: WorkPackages | None = None

    @model_validator(mode="after")
    def _program_named(self) -> Self:
        if self.kind == "program" and not (self.argv and self.argv[0]):
            raise ValueError("argv[0] is empty: name the program to run")
        if self.kind == "session" and self.argv:
            raise ValueError("a session runs no program: leave argv empty")
        if self.kind == "session" and self.checkpoint:
            raise ValueError("a session saves nothing: leave checkpoint empty")
        if self.kind == "session" and self.warning:
            raise ValueError("a session runs no program: leave warning empty")
        if self.kind == "session" and self.web:
            raise ValueError("a session serves no web pages")
        if self.kind == "session" and self.volumes:
            raise ValueError("a session mounts no volumes")
        if self.kind == "session" and self.outputs:
            raise ValueError("a session leaves no outputs")
        if self.kind == "session" and self.image:
            raise ValueError("a session runs in no image")
        if self.kind == "session" and self.service:
            raise ValueError("a session is no service")
        if self.kind == "session" and self.packages:
            raise ValueError("a session runs no program that could use packages")
        return self

    @model_serializer(mode="wrap")
    def _without_nothing(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """An agent is told of nothing that it may not know, where there is none of it."""
        told: dict[str, Any] = dump(self)
        newer = ("checkpoint", "warning", "web", "volumes", "outputs", "image", "service", "packages")
        return {key: told[key] for key in told if key not in newer or told[key]}


class MoveTarget(Message):
    """Where a session goes: the worker that waits for it, and the ticket that opens it once (POOL-12.23)."""

    slice_uid: Uid
    host: Name
    port: Port
    fingerprint: Digest
    ticket: Secret


class DesiredSession(Message):
    """What a session needs beside its share.

    `token`: the key both client and worker hold; it goes along when the session moves. With a `ticket` the
    worker waits for the state of another session instead of beginning empty. `move_to`: stream the state there.
    """

    token: Secret
    ticket: Secret | None = None
    move_to: MoveTarget | None = None


class SessionReport(Message):
    """What a session's worker observes. `fingerprint` is its certificate's; `idle_s` since the last device call.

    `move` is how far sending has come; `pause_ms` is how long the client could not compute meanwhile.
    """

    host: Annotated[str, StringConstraints(max_length=200)] = ""
    port: Port | None = None
    fingerprint: Digest | None = None
    attached: bool = False
    transport: Word = ""
    bandwidth_mib_s: Annotated[float, Field(ge=0, le=1e9)] | None = None
    latency_us: Annotated[float, Field(ge=0, le=1e9)] | None = None
    operators: Counter = 0
    idle_s: Seconds = 0
    move: MoveState = ""
    move_reason: Sentence = ""
    pause_ms: Annotated[float, Field(ge=0, le=1e9)] | None = None


class DesiredSize(Message):
    """Which of how many shares a slice of work that has several is (ELA-906, ELA-505); `step` counts the changes of
    that.

    A `share` that is not below `shares` is leaving: it is stopped once the others go on without it. Each
    `shares_per_replica` shares, counted from the first, are a replica and on one node. Its programs find each other
    where the first share is, at `master_addr` and `master_port`; "" and 0: nothing was said. `gang` names the work to
    its nodes: its shares on one machine share a network.
    """

    share: Annotated[int, Field(ge=0, le=65_535)]
    shares: Annotated[int, Field(ge=1, le=65_535)]
    step: Sequence
    shares_per_replica: Annotated[int, Field(ge=1, le=65_535)] = 1
    master_addr: Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00]*$")] = ""
    master_port: Annotated[int, Field(ge=0, le=65_535)] = 0
    gang: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{0,64}$")] = ""

    @model_serializer(mode="wrap")
    def _without_gang(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """An agent that gives work no network of its own is told no gang."""
        told: dict[str, Any] = dump(self)
        return {key: told[key] for key in told if key != "gang" or told[key]}


_LATER = frozenset(
    {"size", "saves", "host_cpu_milli", "host_memory_mib", "scratch_disk_mib", "folder", "secrets"}
)


class DesiredSlice(Message):
    """What the server wants of one slice; a higher `generation` replaces a lower one.

    `device_percent` and `device_memory_mib` are how much of the device may be held by all slices together
    (over-subscription, POOL-12.5); None: what the device has. `driver` names the slice driver asked for. `saves`: it
    is stopped to go on later, and saves itself first if it can. `folder`: where its program keeps what outlives
    the slice; None: in a folder that goes with it. `secrets`: more of its environment, told until it runs and written
    down nowhere but for that.

    `host_cpu_milli` and `host_memory_mib`: what the work may use of the host's processor, in thousandths of a core,
    and of its main memory, beside its share of the device; 0: nothing was said. With a share of 0 percent and 0 MiB
    the work runs on the host alone: the device only says where, and nothing of it is used. `scratch_disk_mib`: what is
    kept for it of what the node offers of its disk; 0: nothing was said, and it has what the node allows.
    """

    slice_uid: Uid
    generation: Sequence
    device_uid: Uid
    compute_percent: SharePercent
    memory_mib: Mebibytes
    state: DesiredState
    work: WorkSpec
    session: DesiredSession | None = None
    driver: Word = ""
    device_percent: Annotated[int, Field(ge=1, le=10_000)] = 100
    device_memory_mib: Annotated[int, Field(ge=1, le=2**40)] | None = None
    size: DesiredSize | None = None
    saves: bool = False
    host_cpu_milli: Annotated[int, Field(ge=0, le=2**31)] = 0
    host_memory_mib: Mebibytes = 0
    scratch_disk_mib: Annotated[int, Field(ge=0, lt=2**31)] = 0
    folder: DesiredFolder | None = None
    secrets: Annotated[dict[EnvKey, Argument], Field(max_length=64, repr=False)] = {}

    @property
    def is_on_host(self) -> bool:
        """Whether it runs on the host alone, without a share of the device."""
        return not self.compute_percent

    @model_validator(mode="after")
    def _share_named(self) -> Self:
        if bool(self.compute_percent) != bool(self.memory_mib):
            raise ValueError("name compute and memory of the device, or neither")
        if self.is_on_host and not self.host_cpu_milli:
            raise ValueError("name a share of the device, or the processor it needs of the host")
        if self.is_on_host and self.work.kind == "session":
            raise ValueError("a session serves a share of a device: name one")
        return self

    @model_serializer(mode="wrap")
    def _without_nothing(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """An agent that knows no sizes, no checkpoints, no folders and nothing of the host is told none."""
        told: dict[str, Any] = dump(self)
        return {key: told[key] for key in told if key not in _LATER or told[key]}


class SliceReport(Message):
    """What the node observes of one slice, repeated in every sync until the server says forget.

    `compute_percent` and `memory_mib`: the share it is held to now, which a refused resize leaves as it was.
    `size_step`: the last change of its work's size that the work has confirmed; 0: it never confirmed one.
    `checkpoint_at`: when its work last said that it had saved itself. `disk_used_mib`: what it keeps on the node's disk
    beside its volumes, of `disk_limit_mib`; None: that is not watched. `host_cpu_used_milli` and
    `host_memory_used_mib`: what it uses of what was asked of its host beside its share; None: nothing was asked for, or
    it is not measured. `host_enforced_by`: what holds that, "" where it is held as one with the share.
    """

    slice_uid: Uid
    generation: Sequence
    state: SliceState
    reason: Sentence = ""
    reason_code: ReasonCode = ""
    exit_code: Annotated[int, Field(ge=-(2**31), le=2**31)] | None = None
    started_at: AwareDatetime | None = None
    ended_at: AwareDatetime | None = None
    memory_enforced_by: Word = ""
    compute_enforced_by: Word = ""
    compute_percent: SharePercent | None = None
    memory_mib: Mebibytes | None = None
    delivered_percent: MeasuredPercent | None = None
    memory_used_mib: Mebibytes | None = None
    disk_used_mib: Mebibytes | None = None
    disk_limit_mib: Mebibytes | None = None
    host_cpu_used_milli: Counter | None = None
    host_memory_used_mib: Mebibytes | None = None
    host_enforced_by: Word = ""
    last_usage_seq: Counter = 0
    # False until the work really uses the device: held, and not mounted (POOL-7.6c).
    mounted: bool = False
    driver: Word = ""
    session: SessionReport | None = None
    service: ServiceReport | None = None
    size_step: Counter = 0
    checkpoint_at: AwareDatetime | None = None


class UsageReport(Message):
    """One vouched interval of whole seconds; `seq` is contiguous from 1 within a slice.

    `compute_percent` and `memory_mib` are held; `cpu_seconds` and `memory_peak_mib` are measured.
    """

    slice_uid: Uid
    seq: Sequence
    start_at: AwareDatetime
    end_at: AwareDatetime
    compute_percent: SharePercent
    memory_mib: Mebibytes
    cpu_seconds: Seconds
    memory_peak_mib: Mebibytes
    final: bool = False

    @model_validator(mode="after")
    def _whole_seconds(self) -> Self:
        length = self.end_at - self.start_at
        if length.total_seconds() <= 0:
            raise ValueError("end_at must be later than start_at")
        if length.microseconds:
            raise ValueError("start_at and end_at must be a whole number of seconds apart")
        return self


class LogChunk(Message):
    """A piece of the work's output. `offset` and the text's length count UTF-8 bytes."""

    slice_uid: Uid
    offset: Counter
    text: Annotated[str, StringConstraints(min_length=1, max_length=LOG_CHUNK_BYTES, pattern=r"^[^\x00]*$")]

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if len(self.text.encode()) > LOG_CHUNK_BYTES:
            raise ValueError(f"text is longer than {LOG_CHUNK_BYTES} bytes in UTF-8")
        return self
