"""The one repeated exchange: the node tells all it observes, the server tells all it wants (PLAT-OPS-22)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    AwareDatetime,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
)

from node_agent.protocol.containers import ContainerSave
from node_agent.protocol.fields import (
    EVENTS_PER_SYNC,
    LOGS_PER_SYNC,
    SLICES_PER_NODE,
    USAGE_PER_SYNC,
    Counter,
    Digest,
    Labels,
    Level,
    Message,
    Name,
    Sentence,
    Sequence,
    SyncPeriod,
    Uid,
    Word,
)
from node_agent.protocol.folders import FolderSend
from node_agent.protocol.join import Devices, NodeInfo
from node_agent.protocol.metrics import METRICS_PER_SYNC, MetricBatch
from node_agent.protocol.slices import DesiredSlice, LogChunk, SliceReport, UsageReport


class EventReport(Message):
    """One line of a component's log (POOL-12.18); `seq` is contiguous from 1 within a boot."""

    seq: Sequence
    at: AwareDatetime
    level: Level
    component: Word
    slice_uid: Uid | None = None
    text: Sentence


class AgentConfig(Message):
    """What an operator sets on a node; a higher `generation` replaces a lower one. None: the agent's own."""

    generation: Sequence
    meter_s: SyncPeriod | None = None
    log_level: Level | None = None
    log_limit_mib: Annotated[int, Field(ge=1, le=4096)] | None = None
    labels: Labels | None = None


class DesiredRelease(Message):
    """The release to run: fetched from the portal, refused unless digest and Ed25519 signature hold."""

    version: Word
    path: Name
    sha256: Digest
    signature: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{128}$")]


class SyncRequest(Message):
    """All that a node observes. `boot_id` is new per agent process; `seq` rises within it.

    `folders`: the work folders that lie here and that no slice uses; None: this agent knows none. `saves`:
    it can bring what work has changed over its image.
    """

    protocol: Counter
    boot_id: Uid
    seq: Sequence
    sent_at: AwareDatetime
    node: NodeInfo
    devices: Devices
    slices: Annotated[tuple[SliceReport, ...], Field(max_length=SLICES_PER_NODE)] = ()
    usage: Annotated[tuple[UsageReport, ...], Field(max_length=USAGE_PER_SYNC)] = ()
    logs: Annotated[tuple[LogChunk, ...], Field(max_length=LOGS_PER_SYNC)] = ()
    events: Annotated[tuple[EventReport, ...], Field(max_length=EVENTS_PER_SYNC)] = ()
    metrics: Annotated[tuple[MetricBatch, ...], Field(max_length=METRICS_PER_SYNC)] = ()
    folders: Annotated[tuple[Uid, ...], Field(max_length=SLICES_PER_NODE)] | None = None
    saves: bool = False


Acks = Annotated[dict[Uid, Counter], Field(max_length=SLICES_PER_NODE)]
Uids = Annotated[tuple[Uid, ...], Field(max_length=SLICES_PER_NODE)]


class SyncReply(Message):
    """All that the server wants.

    `usage_acks`: highest contiguous usage seq stored per slice. `log_acks`: next byte wanted.
    `metric_acks`: the last batch taken of those that were sent.
    `forget`: finished and fully acknowledged, the node may delete them. `unknown`: stop them.
    `event_ack`: the last event of this boot that was stored. `folders_over`: work folders that nothing goes on in any
    more, to be deleted; `folders_send`: those that are wanted on another node; `containers_save`: what work has changed
    over its image and is wanted as a layer of a new one.
    """

    protocol: Counter
    server_time: AwareDatetime
    next_sync_s: SyncPeriod
    desired: Annotated[tuple[DesiredSlice, ...], Field(max_length=SLICES_PER_NODE)] = ()
    usage_acks: Acks = {}
    log_acks: Acks = {}
    metric_acks: Acks = {}
    forget: Uids = ()
    unknown: Uids = ()
    event_ack: Counter = 0
    config: AgentConfig | None = None
    release: DesiredRelease | None = None
    folders_over: Uids = ()
    folders_send: Annotated[tuple[FolderSend, ...], Field(max_length=SLICES_PER_NODE)] = ()
    containers_save: Annotated[tuple[ContainerSave, ...], Field(max_length=SLICES_PER_NODE)] = ()

    @model_serializer(mode="wrap")
    def _without_nothing(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """An agent that knows no folders, no metrics or no containers is told of none."""
        told: dict[str, Any] = dump(self)
        later = ("folders_over", "folders_send", "containers_save", "metric_acks")
        return {key: told[key] for key in told if key not in later or told[key]}
