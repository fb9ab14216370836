"""Everything a peer of the agent needs, importable from one place."""

from __future__ import annotations

from node_agent.protocol.containers import ContainerSave, ContainerSaved
from node_agent.protocol.errors import ErrorDetail, ErrorReply
from node_agent.protocol.fields import JOIN_PATH, PROTOCOL_VERSION, SUPPORTED, SYNC_PATH, TERMINAL_STATES
from node_agent.protocol.folders import DesiredFolder, FolderArchive, FolderSend, FolderSent, FolderTaken
from node_agent.protocol.join import DeviceReport, JoinReply, JoinRequest, NodeInfo
from node_agent.protocol.metrics import MetricBatch, MetricSeries
from node_agent.protocol.slices import (
    DesiredSession,
    DesiredSize,
    DesiredSlice,
    LogChunk,
    MoveTarget,
    SessionReport,
    SliceReport,
    UsageReport,
    WorkSpec,
)
from node_agent.protocol.sync import AgentConfig, DesiredRelease, EventReport, SyncReply, SyncRequest

__all__ = [
    "JOIN_PATH",
    "PROTOCOL_VERSION",
    "SUPPORTED",
    "SYNC_PATH",
    "TERMINAL_STATES",
    "AgentConfig",
    "ContainerSave",
    "ContainerSaved",
    "DesiredFolder",
    "DesiredRelease",
    "DesiredSession",
    "DesiredSize",
    "DesiredSlice",
    "DeviceReport",
    "ErrorDetail",
    "ErrorReply",
    "EventReport",
    "FolderArchive",
    "FolderSend",
    "FolderSent",
    "FolderTaken",
    "JoinReply",
    "JoinRequest",
    "LogChunk",
    "MetricBatch",
    "MetricSeries",
    "MoveTarget",
    "NodeInfo",
    "SessionReport",
    "SliceReport",
    "SyncReply",
    "SyncRequest",
    "UsageReport",
    "WorkSpec",
]
