"""The session protocol: frames, payloads and their bounds. Standard library only, no torch, no pickle.

A frame is `u32 length | u8 kind | payload`, little-endian, over TLS. Frames from the client of a *counted*
kind are numbered 1, 2, 3 … by both ends (the number is never sent): acknowledgements, resume and replies
name it. What each payload holds stands at its kind. `docs/session-protocol.md` tells the whole story.

Ids: a handle is an int64 above 0 chosen by the client, never used twice in a session. A template's id is an
int from 0 up, chosen by the client. Dtypes are named as torch names them, without `torch.` ("float32").
"""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

PROTOCOL = 1
HEADER = struct.Struct("<IB")

CHUNK_BYTES = 1 << 20
"""Most tensor bytes in one UPLOAD or PART frame."""
MAX_PAYLOAD = 4 << 20
MAX_TEMPLATES = 8192
MAX_TEMPLATE_BYTES = 256 << 10
MAX_HANDLES = 1 << 22
MAX_ROOM = 1 << 16
"""Most outputs of one CALL."""
MAX_DEPTH = 6
"""How deep an argument or result may nest."""
MAX_ELEMENTS = 1 << 58
"""A tensor of so many fits no machine."""
CREDIT_FRAMES = 256
CREDIT_BYTES = 64 << 20
"""What the client may have sent without acknowledgement; it keeps exactly that much for sending again."""

DTYPE_BYTES = {
    "float32": 4,
    "float64": 8,
    "float16": 2,
    "bfloat16": 2,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "bool": 1,
    "complex32": 4,
    "complex64": 8,
    "complex128": 16,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float8_e4m3fnuz": 1,
    "float8_e5m2fnuz": 1,
}


class Kind(IntEnum):
    """Below 16: control of the connection. 16 to 63: counted frames of the client. From 64: the worker's."""

    HELLO = 1
    """JSON {"protocol", "torch" (version, without "+…"), "nonce" (hex), "purpose" "client"|"state"|"peer:…"}."""
    PROOF = 2
    """JSON {"mac" (hex), "resume" (the session's id, or ""), "received" (number of the last reply got)}."""
    GOT = 3
    """u64: all replies up to the request of this number have arrived."""
    PING = 4
    """Anything up to MAX_PAYLOAD; answered by PONG with the first 8 bytes."""
    REPORT = 5
    """JSON {"latency_us", "bandwidth_mib_s"} as the client measured them."""
    BYE = 6
    """The client has finished: the session ends. JSON {"is_kept": true}: another client may come, and begins afresh."""
    STATE = 7
    """Migration only: bytes of the session's state, in order; empty afterwards: the source takes the session back."""

    TEMPLATE = 16
    """JSON {"add": [template], "drop": [template id]}; see `Template nodes` below."""
    BATCH = 17
    """`u32 n_ints | u32 n_floats | int64[n_ints] | float64[n_floats]`. The ints are records in order:
    `template id, inputs…, int slots…, outputs…` (counts as the template says; it takes `n_floats` floats from
    the float64 array), or `-n, id × n`: free these n handles."""
    UPLOAD = 18
    """`upload_header`, then the bytes from `offset` on; chunks of a tensor come in order, without holes."""
    READ = 19
    """Request. `i64 id | u64 nbytes`: the tensor's bytes, contiguous, come as PART frames, then an empty VALUE.
    nbytes must be the tensor's numel × item size."""
    CALL = 20
    """Request: an operator whose outputs only running it tells (dynamic shapes, bool or scalar results).
    JSON {"template": template without "outs", "inputs": [id], "ints": [int], "floats": [node],
    "base": first free id, "room": how many ids may be taken from there}.
    VALUE: JSON node of the result; a tensor is ["t", id, shape, stride, storage offset, dtype]; ids are taken
    from base upwards in order of appearance. A result that shares storage with an input is a real view."""
    RNG = 21
    """`u8 what`: 0 seed (`u64 seed`, no reply); 1 get (request; VALUE is the state); 2 set (state, no reply);
    3 keep (`i64 id`, no reply): the state becomes a uint8 tensor under this new handle; 4 restore (`i64 id`, no
    reply) from such a tensor: so that checkpointing and fork_rng wait for nothing."""
    STAT = 22
    """Request, empty. VALUE: JSON {"used_bytes", "peak_bytes", "quota_mib", "handles", "templates",
    "operators", "busy_s", "device", "torch", "compute_percent"}. Also the way to synchronise: all before it
    has run."""
    CACHED = 23
    """Request. `i64 id | 32 bytes SHA-256 | JSON [dtype, shape]`: make the handle of bytes the session remembers.
    VALUE, never with faults: u8, 1 made (or poisoned: no room), 0 not remembered (then upload)."""
    REMEMBER = 24
    """`i64 id`: keep this tensor's bytes as they are now, for CACHED; they may be forgotten any time."""
    MEET = 25
    """Request. JSON {"rank", "size"}: begin a process group with other sessions. VALUE: JSON {"group" (its id at this
    worker), "host" ("" where the client knows better), "port", "fingerprint", "secrets" (one for each rank, each lets
    its rank in once; "" for the own)}."""
    JOIN = 26
    """JSON {"group", "timeout_s", "peers": [null for the own rank, else what MEET said there, as {"group", "host",
    "port", "fingerprint", "secret"}]}: connect to the lower ranks, wait for the higher ones."""
    COLLECTIVE = 27
    """JSON {"group", "op", "in": [id], "out": [id], "timeout_s", …}: an operation with the other sessions of a group,
    in order with all other frames; `Collectives` below tells the rest."""
    LEAVE = 28
    """JSON {"group"}: the other sessions are told, the connections are closed."""

    CHALLENGE = 64
    """JSON {"protocol", "torch", "nonce" (hex)}."""
    WELCOME = 65
    """JSON {"mac" (hex), "session" (id), "processed" (number of the last frame run), "quota_mib", "device",
    "compute_percent", "local": null or {"address", "key"} of the listener in shared memory}."""
    REFUSED = 66
    """JSON {"code", "message"}; the connection closes."""
    VALUE = 67
    """Reply: `u64 number of the request | u32 n | n bytes JSON faults | body`."""
    PART = 68
    """Part of a READ's reply: `u64 number of the request | u64 offset | bytes`."""
    ACK = 69
    """u64: frames up to this number have been run."""
    PONG = 70
    NOTICE = 71
    """JSON {"code", "text"}: what the user's terminal should say; the session ends soon."""
    MOVED = 72
    """JSON {"host", "port", "fingerprint"}: connect there, resume, go on."""
    SHARE = 73
    """JSON {"quota_mib", "compute_percent"}: the share changed while running."""
    TAKEN = 74
    """Migration only: empty, the target has the whole state; once more: it has the client, too."""

    PEER_BEGIN = 80
    """Between the workers of a group: JSON of what the sender begins, which the receiver compares with its own."""
    PEER_DATA = 81
    """Bytes of a tensor, in order."""
    PEER_END = 82
    """JSON {"reason"}: the sender takes part no more."""


FIRST_COUNTED, LAST_COUNTED = 16, 63
REQUESTS = frozenset({Kind.READ, Kind.CALL, Kind.STAT, Kind.CACHED, Kind.MEET})

# Template nodes: how an operator's arguments are written down, as JSON lists.
#   ["t", k]           the k-th input handle of the record
#   ["f", k] ["i", k]  the k-th float or int slot of the record
#   ["c", v]           None, a bool, an int or a string
#   ["x", h]           a float by float.hex() ("nan", "inf", "-inf" as they are)
#   ["z", h, h]        a complex number, both parts as for "x"
#   ["l", [node, …]]   a list
#   ["d", name]        a dtype
#   ["m", name]        a memory format ("contiguous_format", …)
#   ["y", name]        a layout ("strided")
#   ["dev"]            the session's device, whatever it is there
# A template: {"id": int, "op": "aten::add.Tensor" (overload "default" where it has no name), "args": [node],
# "kwargs": {name: node}, "n_inputs", "n_ints", "n_floats",
# "outs": [[shape, stride, dtype] or null for an output that is None]} with outs flattened in order; the record
# holds one output id for each that is not null. An operator that writes in place or to `out` has outs [].


# Collectives: "in" and "out" are handles; what is both is in "out" alone. With N ranks:
#   all_reduce      out any number of tensors, one after the other; "reduce"
#   broadcast       out any number, one after the other; "root"
#   reduce          out one, written at "root"; "reduce", "root"
#   all_gather      in one; out one of N times its elements, or N
#   reduce_scatter  out one; in one of N times its elements, or N; "reduce"
#   gather          in one; out N at "root", else none
#   scatter         out one; in N at "root", else none
#   all_to_all      in and out N, or one each, split as "in_splits" and "out_splits" say (elements; [] is evenly)
#   barrier         neither
#   send, recv      in or out one; "root" is the other rank, "tag" a number
REDUCTIONS = ("sum", "avg", "product", "min", "max", "band", "bor", "bxor")
MAX_RANKS = 256
MAX_GROUPS = 64


class WireError(ValueError):
    """A frame or payload that breaks the protocol; `code` is stable."""

    def __init__(self, message: str, code: str = "bad_frame") -> None:
        super().__init__(message)
        self.code = code


class SessionLost(ConnectionError):
    """The session has ended or cannot be reached again; the message says why."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an operator or a frame failed: code "out_of_memory", "operator", "not_allowed", "bad_frame",
    "bad_handle", "mismatch"; `op` names the operator, where there is one."""

    code: str
    op: str
    message: str

    def __str__(self) -> str:
        return f"{self.op}: {self.message}" if self.op else self.message


class SessionFault(RuntimeError):
    """What went wrong at the worker since the last reply, root causes first and only."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(map(str, self.faults)))


def is_counted(kind: int) -> bool:
    """Whether frames of this kind are numbered."""
    return FIRST_COUNTED <= kind <= LAST_COUNTED


def size_of(part: Any) -> int:
    """Bytes in a buffer of any item type."""
    return part.nbytes if isinstance(part, memoryview) else memoryview(part).nbytes


# --- JSON payloads


def dump_json(value: Any) -> bytes:
    """Compact JSON; floats that JSON cannot say are an error here, not a surprise there."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def load_json(payload: bytes | memoryview, kind: type = dict) -> Any:
    """JSON of the expected type. Raises WireError."""
    try:
        value = json.loads(bytes(payload))
    except (ValueError, RecursionError) as error:
        raise WireError("the payload is no JSON") from error
    if not isinstance(value, kind):
        raise WireError(f"the payload should be a JSON {kind.__name__}")
    return value


def float_node(value: float | complex) -> list[Any]:
    """A float or complex constant, bit for bit (but for a NaN's payload)."""
    if isinstance(value, complex):
        return ["z", value.real.hex(), value.imag.hex()]
    return ["x", float(value).hex()]


def float_of(text: Any) -> float:
    """The float of an "x" node's text. Raises WireError."""
    try:
        return float.fromhex(text)
    except (TypeError, ValueError, OverflowError) as error:
        raise WireError("a float constant is malformed") from error


# --- BATCH

_COUNTS = struct.Struct("<II")


def pack_batch(ints: array[int], floats: array[float]) -> tuple[bytes, bytes, bytes]:
    """The parts of a BATCH from array("q") and array("d")."""
    return _COUNTS.pack(len(ints), len(floats)), ints.tobytes(), floats.tobytes()


def unpack_batch(payload: memoryview) -> tuple[list[int], list[float]]:
    """The ints and floats of a BATCH. Raises WireError."""
    if len(payload) < _COUNTS.size:
        raise WireError("a batch without header")
    n_ints, n_floats = _COUNTS.unpack_from(payload)
    if len(payload) != _COUNTS.size + 8 * (n_ints + n_floats):
        raise WireError("a batch of another length than it says")
    middle = _COUNTS.size + 8 * n_ints
    ints, floats = array("q"), array("d")
    ints.frombytes(payload[_COUNTS.size : middle])
    floats.frombytes(payload[middle:])
    return ints.tolist(), floats.tolist()


# --- UPLOAD and READ

_UPLOAD = struct.Struct("<qQI")
HANDLE = struct.Struct("<q")
CACHED_HEADER = struct.Struct("<q32s")
READ_REQUEST = struct.Struct("<qQ")
PART_HEADER = struct.Struct("<QQ")
VALUE_HEADER = struct.Struct("<QI")
NUMBER = struct.Struct("<Q")


def upload_header(handle: int, offset: int, dtype: str, shape: Iterable[int]) -> bytes:
    """`i64 id | u64 offset | u32 n | n bytes JSON [dtype, shape]`; blanks make data start at a multiple of 16."""
    meta = dump_json([dtype, list(shape)])
    meta += b" " * (-(_UPLOAD.size + len(meta)) % 16)
    return _UPLOAD.pack(handle, offset, len(meta)) + meta


def upload_frames(
    handle: int, dtype: str, shape: Iterable[int], data: memoryview
) -> Iterator[tuple[bytes, memoryview]]:
    """The parts of the UPLOAD frames of one tensor; `data` are its contiguous bytes, may be empty."""
    dims = list(shape)
    for offset in range(0, max(len(data), 1), CHUNK_BYTES):
        yield upload_header(handle, offset, dtype, dims), data[offset : offset + CHUNK_BYTES]


@dataclass(frozen=True, slots=True)
class Upload:
    """A parsed UPLOAD frame; `total` is the whole tensor's bytes."""

    handle: int
    offset: int
    dtype: str
    shape: list[int]
    total: int
    data: memoryview


def unpack_upload(payload: memoryview) -> Upload:
    """Raises WireError for unknown dtypes, bad shapes and chunks that reach out of the tensor."""
    if len(payload) < _UPLOAD.size:
        raise WireError("an upload without header")
    handle, offset, length = _UPLOAD.unpack_from(payload)
    start = _UPLOAD.size + length
    if start > len(payload):
        raise WireError("an upload whose meta is cut off")
    dtype, shape, total = tensor_meta(payload[_UPLOAD.size : start])
    data = payload[start:]
    if offset + len(data) > total or (not len(data) and total):
        raise WireError("an upload of another length than its shape says")
    return Upload(handle, offset, dtype, shape, total, data)


def tensor_meta(payload: memoryview) -> tuple[str, list[int], int]:
    """dtype, shape and bytes of JSON [dtype, shape]. Raises WireError."""
    meta = load_json(payload, list)
    if len(meta) != 2 or not isinstance(meta[0], str) or meta[0] not in DTYPE_BYTES:
        raise WireError("an upload of an unknown dtype")
    dtype, shape = meta
    return dtype, shape, DTYPE_BYTES[dtype] * numel(shape)


def numel(shape: Any) -> int:
    """Elements of a shape. Raises WireError unless it is a list of at most 64 sizes, together below 2**58."""
    if not isinstance(shape, list) or len(shape) > 64:
        raise WireError("a shape should be a list of at most 64 sizes")
    count = 1
    for size in shape:
        if type(size) is not int or not 0 <= size < 1 << 62:
            raise WireError("a size should be an int from 0 up")
        count *= size
    if count >= MAX_ELEMENTS:
        raise WireError("a tensor of impossible size")
    return count


def extent(shape: Any, stride: Any) -> int:
    """Elements from the first to the last that a tensor of this shape shows with these strides. Raises WireError."""
    count, last = numel(shape), 0
    if not isinstance(stride, list) or len(stride) != len(shape):
        raise WireError("a tensor has as many strides as sizes")
    for size, step in zip(shape, stride, strict=True):
        if type(step) is not int or not 0 <= step < 1 << 62:
            raise WireError("a stride should be an int from 0 up")
        last += (size - 1) * step
    if not count:
        return 0
    if last >= MAX_ELEMENTS:
        raise WireError("a tensor of impossible size")
    return last + 1


# --- replies


def pack_faults(faults: Iterable[Fault]) -> bytes:
    """Faults as JSON, or nothing where there is none."""
    rows = [[fault.code, fault.op, fault.message] for fault in faults]
    return dump_json(rows) if rows else b""


def unpack_value(payload: memoryview) -> tuple[int, list[Fault], memoryview]:
    """Request number, faults and body of a VALUE. Raises WireError."""
    if len(payload) < VALUE_HEADER.size:
        raise WireError("a reply without header")
    number, length = VALUE_HEADER.unpack_from(payload)
    start = VALUE_HEADER.size + length
    if start > len(payload):
        raise WireError("a reply that is cut off")
    rows = load_json(payload[VALUE_HEADER.size : start], list) if length else []
    if not all(isinstance(row, list) and len(row) == 3 for row in rows):
        raise WireError("a reply with malformed faults")
    return number, [Fault(*map(str, row)) for row in rows], payload[start:]


# --- authentication


def mac(key: str, *parts: str) -> str:
    """HMAC-SHA256 over the parts, unambiguously joined, as hexadecimal."""
    message = dump_json(list(parts))
    return hmac.new(key.encode(), message, hashlib.sha256).hexdigest()


def mac_equal(one: Any, other: str) -> bool:
    """Compare in constant time; whatever is no text is unequal."""
    return isinstance(one, str) and hmac.compare_digest(one.encode(), other.encode())
