"""The one repeated exchange: the node tells all it observes, the server tells all it wants (PLAT-OPS-22)."""

from __future__ import annotations

from typing import Annotated

from pydantic import AwareDatetime, Field

from node_agent.protocol.fields import (
    LOGS_PER_SYNC,
    SLICES_PER_NODE,
    USAGE_PER_SYNC,
    Counter,
    Message,
    Sequence,
    SyncPeriod,
    Uid,
)
from node_agent.protocol.join import Devices, NodeInfo
from node_agent.protocol.slices import DesiredSlice, LogChunk, SliceReport, UsageReport


class SyncRequest(Message):
    """All that a node observes. `boot_id` is new per agent process; `seq` rises within it."""

    protocol: Counter
    boot_id: Uid
    seq: Sequence
    sent_at: AwareDatetime
    node: NodeInfo
    devices: Devices
    slices: Annotated[tuple[SliceReport, ...], Field(max_length=SLICES_PER_NODE)] = ()
    usage: Annotated[tuple[UsageReport, ...], Field(max_length=USAGE_PER_SYNC)] = ()
    logs: Annotated[tuple[LogChunk, ...], Field(max_length=LOGS_PER_SYNC)] = ()


Acks = Annotated[dict[Uid, Counter], Field(max_length=SLICES_PER_NODE)]
Uids = Annotated[tuple[Uid, ...], Field(max_length=SLICES_PER_NODE)]


class SyncReply(Message):
    """All that the server wants.

    `usage_acks`: highest contiguous usage seq stored per slice. `log_acks`: next byte wanted.
    `forget`: finished and fully acknowledged, the node may delete them. `unknown`: stop them.
    """

    protocol: Counter
    server_time: AwareDatetime
    next_sync_s: SyncPeriod
    desired: Annotated[tuple[DesiredSlice, ...], Field(max_length=SLICES_PER_NODE)] = ()
    usage_acks: Acks = {}
    log_acks: Acks = {}
    forget: Uids = ()
    unknown: Uids = ()
