"""The whole state of a session as bytes: for a move to another worker, bit for bit (POOL-12.23)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from node_agent.sessions.execution import tensors
from node_agent.sessions.execution.core import Session
from node_agent.sessions.execution.handle_table import Poison
from node_agent.sessions.execution.memory import OutOfMemory
from node_agent.sessions.execution.reply import Reply
from node_agent.sessions.execution.rng import rng_get, rng_set
from node_agent.sessions.execution.template import dtype_of, name_of
from weir_wire import wire
from weir_wire.wire import Fault, WireError

_LARGEST_HEADER = 256 << 20
Kept = tuple[int, Reply]


@dataclass(slots=True)
class Course:
    """How far the conversation has come: the session's id, frames run, replies that may be asked for again."""

    session: str
    processed: int
    kept: list[Kept]


def state_stream(session: Session, course: Course) -> Iterator[memoryview]:
    """The state, in pieces of at most wire.CHUNK_BYTES. The session must not run meanwhile."""
    storages: dict[int, tuple[int, torch.UntypedStorage]] = {}
    rows = [_row(handle, row, storages) for handle, row in session.table.rows.items()]
    held = [storage for _index, storage in storages.values()]
    replies = [memoryview(b"".join(map(bytes, reply.body))) for _number, reply in course.kept]
    header = wire.dump_json(
        {
            "rows": rows,
            "sizes": [storage.nbytes() for storage in held],
            "templates": [template.source for template in session.templates.values()],
            "random": rng_get(session.torch_device).hex(),
            "faults": _faults_pack(session.table.faults),
            "uploads": list(session.uploads.items()),
            "operators": session.operators,
            "session": course.session,
            "processed": course.processed,
            "kept": [
                [number, len(body), _faults_pack(reply.faults), reply.bulk]
                for (number, reply), body in zip(course.kept, replies, strict=True)
            ],
        }
    )
    yield memoryview(wire.NUMBER.pack(len(header)))
    yield from _pieces(memoryview(header))
    for storage in held:
        yield from _pieces(tensors.storage_bytes(storage))
    for body in replies:
        yield from _pieces(body)


def _pieces(data: memoryview) -> Iterator[memoryview]:
    for at in range(0, len(data), wire.CHUNK_BYTES):
        yield data[at : at + wire.CHUNK_BYTES]


def _row(handle: int, row: torch.Tensor | Poison, storages: dict[int, Any]) -> list[Any]:
    if isinstance(row, Poison):
        return [handle, _faults_pack([row.fault])[0]]
    storage = row.untyped_storage()
    index, _storage = storages.setdefault(storage._cdata, (len(storages), storage))
    flags = [row.is_conj(), row.is_neg()]
    return [
        handle,
        index,
        name_of(row.dtype),
        list(row.shape),
        list(row.stride()),
        row.storage_offset(),
        *flags,
    ]


def _faults_pack(faults: list[Fault]) -> list[list[str]]:
    return [[fault.code, fault.op, fault.message] for fault in faults]


class Arena:
    """Memory laid out, and touched, before a state arrives: taking it over then does not wait for the kernel.

    Storages cut from it are storages of their own; it goes when the last of them does.
    """

    def __init__(self, device: torch.device, nbytes: int) -> None:
        self._device = device
        self._memory = bytearray(nbytes) if device.type == "cpu" else bytearray()
        for at in range(0, len(self._memory), 4096):
            self._memory[at] = 0
        self._at = 0

    def cut(self, size: int) -> torch.Tensor:
        """A flat tensor of so many bytes."""
        begin = -(-self._at // 64) * 64
        if not size or begin + size > len(self._memory):
            return torch.empty(size, dtype=torch.uint8, device=self._device)
        self._at = begin + size
        return torch.frombuffer(self._memory, dtype=torch.uint8, count=size, offset=begin)


class Pieces:
    """Reads a state from the pieces of a stream."""

    def __init__(self, pieces: Iterator[memoryview]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def some(self, limit: int) -> memoryview:
        """At most so many bytes, at least one; valid until the next call. Raises what the stream raises."""
        while not len(self._rest):
            self._rest = next(self._pieces)
        taken, self._rest = self._rest[:limit], self._rest[limit:]
        return taken

    def exactly(self, size: int) -> bytes:
        """So many bytes."""
        data = bytearray()
        while len(data) < size:
            data += self.some(size - len(data))
        return bytes(data)


def state_load(session: Session, pieces: Iterator[memoryview], arena: Arena) -> Course:
    """Fill an empty session. Raises WireError for what is no state or needs more memory than the quota."""
    stream = Pieces(pieces)
    (length,) = wire.NUMBER.unpack(stream.exactly(wire.NUMBER.size))
    if length > _LARGEST_HEADER:
        raise WireError("a state of impossible size")
    header = wire.load_json(stream.exactly(length))
    try:
        with torch.inference_mode():
            return _load(session, header, stream, arena)
    except (KeyError, TypeError, IndexError, RuntimeError, OutOfMemory) as error:
        raise WireError(f"the state cannot be taken over: {error}") from error


def _load(session: Session, header: dict[str, Any], stream: Pieces, arena: Arena) -> Course:
    session.memory.need(sum(header["sizes"]))
    flats = [_storage_load(arena.cut(size), stream) for size in header["sizes"]]
    for source in header["templates"]:
        session.template_add(source)
    for handle, *row in header["rows"]:
        if len(row) == 1:
            session.table.poison([handle], Fault(*row[0]))
        else:
            session.table.put(handle, _tensor(flats[row[0]], *row[1:]))
    session.table.faults = [Fault(*row) for row in header["faults"]]
    session.uploads.update(dict(header["uploads"]))
    session.operators = header["operators"]
    kept = [
        (number, Reply([stream.exactly(size)] if size else [], [Fault(*row) for row in faults], bulk))
        for number, size, faults, bulk in header["kept"]
    ]
    rng_set(session.torch_device, bytes.fromhex(header["random"]))
    return Course(str(header["session"]), int(header["processed"]), kept)


def _storage_load(flat: torch.Tensor, stream: Pieces) -> torch.Tensor:
    done = 0
    while done < len(flat):
        piece = stream.some(len(flat) - done)
        tensors.write_at(flat, done, piece)
        done += len(piece)
    return flat


def _tensor(
    flat: torch.Tensor, dtype: str, shape: list[int], stride: list[int], offset: int, conj: bool, neg: bool
) -> torch.Tensor:
    made = torch.empty(0, dtype=dtype_of(dtype), device=flat.device)
    made.set_(flat.untyped_storage(), offset, shape, stride)
    if conj:
        made = torch._conj(made)
    return torch._neg_view(made) if neg else made
