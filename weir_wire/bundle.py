"""Many small files in one message: a list of their names, sizes and times, then their bytes, one behind the other."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass

MEDIA_TYPE = "application/vnd.weir.bundle"
FILES_MOST = 1000
# What one file in a bundle may hold at most: larger ones go by themselves, and go on where they broke off.
FILE_BYTES_MOST = 1024 * 1024
# Times that every file system keeps: 1970 to 2242.
MODIFIED_NS_MOST = 2**63 - 1
_LENGTH = struct.Struct(">I")
_LIST_BYTES_MOST = 4 * 1024 * 1024


class BundleFault(ValueError):
    """It is no bundle, or one beyond the bounds."""


@dataclass(frozen=True, slots=True)
class BundleFile:
    """A file: its path, its bytes, and when it was last changed, in nanoseconds since 1970."""

    path: str
    data: bytes
    modified_ns: int


def bundle_pack(files: Iterable[BundleFile]) -> bytes:
    """The message for these files."""
    kept = list(files)
    told = json.dumps([[each.path, len(each.data), each.modified_ns] for each in kept]).encode()
    return b"".join((_LENGTH.pack(len(told)), told, *(each.data for each in kept)))


def bundle_unpack(message: bytes) -> list[BundleFile]:
    """The files of a message; BundleFault for what is none, or says other sizes than it has."""
    if len(message) < _LENGTH.size:
        raise BundleFault("it ends before its list")
    (length,) = _LENGTH.unpack_from(message)
    place = _LENGTH.size + length
    if length > _LIST_BYTES_MOST or place > len(message):
        raise BundleFault("it ends within its list")
    try:
        told = json.loads(message[_LENGTH.size : place])
    except (ValueError, RecursionError) as error:
        raise BundleFault("its list is no JSON") from error
    if not isinstance(told, list) or len(told) > FILES_MOST:
        raise BundleFault(f"its list has more than {FILES_MOST} files, or is none")
    found = []
    for line in told:
        path, size, modified_ns = _line(line)
        if place + size > len(message):
            raise BundleFault(f"it ends within {path!r}")
        found.append(BundleFile(path, message[place : place + size], modified_ns))
        place += size
    if place != len(message):
        raise BundleFault("there is more behind its last file")
    return found


def _line(line: object) -> tuple[str, int, int]:
    if not isinstance(line, list) or len(line) != 3:
        raise BundleFault("a line of its list is not a path, a size and a time")
    path, size, modified_ns = line
    if not isinstance(path, str):
        raise BundleFault("a path is no text")
    if not _is_within(size, FILE_BYTES_MOST):
        raise BundleFault(f"{path!r} is larger than {FILE_BYTES_MOST} bytes, or its size is none")
    if not _is_within(modified_ns, MODIFIED_NS_MOST):
        raise BundleFault(f"the time of {path!r} is none")
    return path, size, modified_ns


def _is_within(number: object, most: int) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= most
