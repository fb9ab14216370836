"""A slice as its records on disk tell it, in the words of the protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from node_agent.files import SliceFolder, read_json
from node_agent.protocol.services import ServiceReport
from node_agent.protocol.slices import DesiredSession, DesiredSize, SessionReport, SliceReport
from node_agent.runtime.records.slice_records import ShimState, SliceSpec
from node_agent.slice_state import LocalSlice

_OWN = {"last_usage_seq", "session", "service"}


def state_read(folder: SliceFolder) -> ShimState | None:
    """What the shim last wrote, or None where that makes no sense."""
    try:
        state = ShimState.from_json(read_json(folder.state) or {})
        local_slice_from(state, 0, None)
    except (TypeError, ValueError):
        return None
    return state


def spec_read(folder: SliceFolder) -> SliceSpec | None:
    """What was to be started, or None where that makes no sense."""
    try:
        return SliceSpec.from_json(read_json(folder.spec) or {})
    except (TypeError, ValueError):
        return None


def session_read(folder: SliceFolder) -> DesiredSession | None:
    """What the session is to be, as last written down for the shim."""
    for path in (folder.control, folder.spec):
        session = (read_json(path) or {}).get("session")
        if session is not None:
            return _desired_session(session)
    return None


def size_read(folder: SliceFolder) -> DesiredSize | None:
    """The size as last written down for the shim."""
    for path in (folder.control, folder.spec):
        size = (read_json(path) or {}).get("size")
        if size is not None:
            return _desired_size(size)
    return None


def local_slice_from(
    state: ShimState, last_seq: int, session: DesiredSession | None, size: DesiredSize | None = None
) -> LocalSlice:
    """Raises ValueError where the state makes no sense. A worker that reports nonsense of itself costs
    only that."""
    facts = {name: getattr(state, name) for name in SliceReport.model_fields if name not in _OWN}
    report = SliceReport.model_validate(
        facts
        | {
            "last_usage_seq": last_seq,
            "session": _session_report(state.session),
            "service": _service_report(state.service),
        }
    )
    return LocalSlice(state.device_uid, state.compute_percent, state.memory_mib, report, session, size)


def local_slice_starting(slice_uid: str, spec: SliceSpec) -> LocalSlice:
    """A slice whose shim has not written anything yet."""
    report = SliceReport(
        slice_uid=slice_uid,
        generation=spec.generation,
        state="starting",
        driver=spec.driver,
        compute_percent=spec.compute_percent,
        memory_mib=spec.memory_mib,
    )
    session, size = _desired_session(spec.session), _desired_size(spec.size)
    return LocalSlice(
        spec.device_uid, spec.compute_percent, spec.memory_mib, report, session, size, spec.folder
    )


def local_slice_failed(slice_uid: str, spec: SliceSpec | None, code: str, reason: str) -> LocalSlice:
    """A slice that never came to run, or whose records are beyond reading."""
    report = SliceReport.model_validate(
        {
            "slice_uid": slice_uid,
            "generation": spec.generation if spec else 1,
            "state": "failed",
            "reason_code": code,
            "reason": reason[:500],
        }
    )
    if spec is None:
        return LocalSlice("", 1, 1, report)
    return LocalSlice(spec.device_uid, spec.compute_percent, spec.memory_mib, report, folder=spec.folder)


def last_line(path: Path) -> str:
    """The last line of a file that says something."""
    try:
        lines = path.read_text(errors="replace").split("\n")
    except OSError:
        return "no message"
    return next((line for line in reversed(lines) if line.strip()), "no message").replace("\0", "")


def _session_report(value: dict[str, Any] | None) -> SessionReport | None:
    if not isinstance(value, dict):
        return None
    try:
        return SessionReport.model_validate(value)
    except ValidationError:
        host = value.get("host")
        return SessionReport(host=host if isinstance(host, str) else "")


def _service_report(value: dict[str, Any] | None) -> ServiceReport | None:
    try:
        return ServiceReport.model_validate(value) if value is not None else None
    except ValidationError:
        return ServiceReport()


def _desired_session(value: Any) -> DesiredSession | None:
    try:
        return DesiredSession.model_validate(value) if value is not None else None
    except ValidationError:
        return None


def _desired_size(value: Any) -> DesiredSize | None:
    try:
        return DesiredSize.model_validate(value) if value is not None else None
    except ValidationError:
        return None
