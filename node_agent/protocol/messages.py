"""Everything a peer of the agent needs, importable from one place."""

from __future__ import annotations

from node_agent.protocol.errors import ErrorDetail, ErrorReply
from node_agent.protocol.fields import JOIN_PATH, PROTOCOL_VERSION, SUPPORTED, SYNC_PATH, TERMINAL_STATES
from node_agent.protocol.join import DeviceReport, JoinReply, JoinRequest, NodeInfo
from node_agent.protocol.slices import (
    DesiredSlice,
    LogChunk,
    MoveTarget,
    SessionReport,
    SessionWish,
    SizeWish,
    SliceReport,
    UsageReport,
    WorkSpec,
)
from node_agent.protocol.sync import AgentConfig, EventReport, ReleaseWish, SyncReply, SyncRequest

__all__ = [
    "JOIN_PATH",
    "PROTOCOL_VERSION",
    "SUPPORTED",
    "SYNC_PATH",
    "TERMINAL_STATES",
    "AgentConfig",
    "DesiredSlice",
    "DeviceReport",
    "ErrorDetail",
    "ErrorReply",
    "EventReport",
    "JoinReply",
    "JoinRequest",
    "LogChunk",
    "MoveTarget",
    "NodeInfo",
    "ReleaseWish",
    "SessionReport",
    "SessionWish",
    "SizeWish",
    "SliceReport",
    "SyncReply",
    "SyncRequest",
    "UsageReport",
    "WorkSpec",
]
