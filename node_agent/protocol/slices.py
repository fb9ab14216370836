"""Slices: what the server wants, what the node observes, uses and prints (PLAT-OPS-22)."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AwareDatetime, Field, StringConstraints, model_validator

from node_agent.protocol.fields import (
    LOG_CHUNK_BYTES,
    RUN_TIMEOUT_MAX_S,
    Argument,
    Counter,
    DesiredState,
    EnvKey,
    MeasuredPercent,
    Mebibytes,
    Message,
    Percent,
    ReasonCode,
    Seconds,
    Sentence,
    Sequence,
    SliceState,
    Uid,
    Word,
)


class WorkSpec(Message):
    """The program of a slice. `run_timeout_s`: released after exactly so many seconds of run.

    `argv[0] == "python"` means the agent's own interpreter. `grace_s` is the time between
    asking the work to end and killing it.
    """

    argv: Annotated[tuple[Argument, ...], Field(min_length=1, max_length=256)]
    env: Annotated[dict[EnvKey, Argument], Field(max_length=256)] = {}
    run_timeout_s: Annotated[int, Field(ge=1, le=RUN_TIMEOUT_MAX_S)] | None = None
    grace_s: Annotated[int, Field(ge=0, le=3600)] = 5

    @model_validator(mode="after")
    def _program_named(self) -> Self:
        if not self.argv[0]:
            raise ValueError("argv[0] is empty: name the program to run")
        return self


class DesiredSlice(Message):
    """What the server wants of one slice; a higher `generation` replaces a lower one."""

    slice_uid: Uid
    generation: Sequence
    device_uid: Uid
    compute_percent: Percent
    memory_mib: Annotated[int, Field(ge=1, le=2**40)]
    state: DesiredState
    work: WorkSpec


class SliceReport(Message):
    """What the node observes of one slice, repeated in every sync until the server says forget."""

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
    delivered_percent: MeasuredPercent | None = None
    memory_used_mib: Mebibytes | None = None
    last_usage_seq: Counter = 0


class UsageReport(Message):
    """One vouched interval of whole seconds; `seq` is contiguous from 1 within a slice.

    `compute_percent` and `memory_mib` are held; `cpu_seconds` and `memory_peak_mib` are measured.
    """

    slice_uid: Uid
    seq: Sequence
    start_at: AwareDatetime
    end_at: AwareDatetime
    compute_percent: Percent
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
