"""Metrics as TensorBoard writes them: records of protocol buffers, of which the scalars are read.

A record is its length in eight bytes, a checksum of four, that many bytes, and another checksum. What is no scalar
(graphs, images, histograms) is passed over unread.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from node_agent.runtime.metrics.points import Point, point_make

RECORD_BYTES = 64 * 1024
_HEAD, _TAIL_BYTES = struct.Struct("<Q4x"), 4
_LENGTH_MAX = 2**40
_FLOAT, _DOUBLE = 1, 2
_FIELD = descriptor_pb2.FieldDescriptorProto
# TensorBoard's own numbers and types; fields that are not named here are passed over by the parser.
_MESSAGES: dict[str, list[tuple[str, int, Any, str]]] = {
    "Tensor": [
        ("dtype", 1, _FIELD.TYPE_INT32, ""),
        ("tensor_content", 4, _FIELD.TYPE_BYTES, ""),
        ("float_val", 5, _FIELD.TYPE_FLOAT, "repeated"),
        ("double_val", 6, _FIELD.TYPE_DOUBLE, "repeated"),
    ],
    "Value": [
        ("tag", 1, _FIELD.TYPE_STRING, ""),
        ("simple_value", 2, _FIELD.TYPE_FLOAT, "optional"),
        ("tensor", 8, _FIELD.TYPE_MESSAGE, "Tensor"),
    ],
    "Summary": [("value", 1, _FIELD.TYPE_MESSAGE, "Value repeated")],
    "Event": [
        ("wall_time", 1, _FIELD.TYPE_DOUBLE, ""),
        ("step", 2, _FIELD.TYPE_INT64, ""),
        ("summary", 5, _FIELD.TYPE_MESSAGE, "Summary"),
    ],
}


class NoEventFile(Exception):
    """What stands there is no record of TensorBoard's."""


def _event_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name="weir_events.proto", package="weir_events", syntax="proto2"
    )
    for name, declared in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, more in declared:
            is_repeated = "repeated" in more
            label = _FIELD.LABEL_REPEATED if is_repeated else _FIELD.LABEL_OPTIONAL
            added = message.field.add(name=field, number=number, type=kind, label=label)
            if kind == _FIELD.TYPE_MESSAGE:
                added.type_name = f".weir_events.{more.split()[0]}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("weir_events.Event"))


_Event = _event_class()


def records_read(data: bytes, left: int) -> tuple[list[Point], int]:
    """The points of the whole records at the beginning of `data`, and how many bytes those records are; `left` is how
    much there is in the file, of which `data` may be but a part. Raises NoEventFile."""
    found: list[Point] = []
    place = 0
    while place + _HEAD.size <= len(data):
        (length,) = _HEAD.unpack_from(data, place)
        if length > _LENGTH_MAX:
            raise NoEventFile
        begin, end = place + _HEAD.size, place + _HEAD.size + length
        if end + _TAIL_BYTES > (len(data) if length <= RECORD_BYTES else left):
            # Half of it: the rest is yet to come, or stands in the next piece.
            break
        if length <= RECORD_BYTES:
            found.extend(_points(data[begin:end]))
        place = end + _TAIL_BYTES
    return found, place


def _points(record: bytes) -> Iterator[Point]:
    """Of a record in which a name is no text, those before it."""
    event = _Event()
    try:
        event.ParseFromString(record)
        for entry in event.summary.value:
            value = _scalar(entry)
            point = point_make(entry.tag, event.step, value, event.wall_time) if value is not None else None
            if point is not None:
                yield point
    except DecodeError as error:
        raise NoEventFile from error
    except ValueError:
        return


def _scalar(entry: Any) -> float | None:
    """The one number of a value; None where it is something else."""
    if entry.HasField("simple_value"):
        return float(entry.simple_value)
    if not entry.HasField("tensor") or entry.tensor.dtype not in (_FLOAT, _DOUBLE):
        return None
    is_float = entry.tensor.dtype == _FLOAT
    values = entry.tensor.float_val if is_float else entry.tensor.double_val
    if len(values) == 1:
        return float(values[0])
    content, shape = entry.tensor.tensor_content, struct.Struct("<f" if is_float else "<d")
    return float(shape.unpack(content)[0]) if len(content) == shape.size else None
