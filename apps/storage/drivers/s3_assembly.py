"""One object of a bucket made of others, or of parts of them, whatever its size.

A server copies 5 GiB at once and makes an object of 10,000 parts at the most, of which all but the last have 5 MiB.
Parts are copied by the server where it does that, else they are read and sent through this machine. Of a large object a
note is kept beside it while it is made: what was broken off is gone on with, part by part, as long as it is to be made
of the very same.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from apps.storage.drivers.s3_client import Parts, S3Client, Stored
from apps.storage.errors import NoSuchFile, StorageAway


@dataclass(frozen=True, slots=True)
class Limits:
    """What servers of S3 set, and how large the parts are that are `copied` by them and `sent` by us. From `noted` on
    an object has a note."""

    copy_most: int = 5 * 2**30
    part_least: int = 5 * 2**20
    parts_most: int = 10_000
    copied: int = 2**30
    sent: int = 16 * 2**20
    noted: int = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some bytes of an object."""

    of: Stored
    begin: int
    size: int

    @property
    def is_all(self) -> bool:
        return self.size == self.of.size_bytes


Plan = list[list[Stretch]]


def assemble(
    s3: S3Client,
    sources: Sequence[Stored],
    target: str,
    metadata: Mapping[str, str],
    note: str,
    limits: Limits,
) -> None:
    """Make an object of others, in this order; it takes its place whole. `note`: where its note is kept."""
    full = [one for one in sources if one.size_bytes] or list(sources[:1])
    total = sum(one.size_bytes for one in full)
    if len(full) == 1 and total <= limits.copy_most:
        s3.copy(full[0].key, target, dict(metadata))
        return
    plan = _copied(full, total, limits) if s3.copies_parts else None
    if plan is not None:
        try:
            _make(s3, plan, target, metadata, note if total >= limits.noted else "")
            return
        except _NotCopied:
            s3.copies_parts = False
    _make(s3, _sent(full, total, limits), target, metadata, note if total >= limits.noted else "")


def given_up(s3: S3Client, note: str) -> None:
    """Forget an object that was not finished, and its note."""
    said = _note_read(s3, note)
    if said is not None:
        with suppress(StorageAway, NoSuchFile):
            s3.parts_of(said["target"], said["number"]).give_up()
    s3.remove([note])


class _NotCopied(Exception):
    """The server makes no parts of what it has."""


def _make(s3: S3Client, plan: Plan, target: str, metadata: Mapping[str, str], note: str) -> None:
    parts = _begun(s3, plan, target, metadata, note)
    try:
        done = parts.found() if note else {}
        for number, stretches in enumerate(plan, 1):
            size = sum(one.size for one in stretches)
            if done.get(number, ("", -1))[1] == size:
                parts.add(number, done[number][0])
            elif len(stretches) == 1 and s3.copies_parts:
                one = stretches[0]
                if not parts.copy(number, one.of, None if one.is_all else (one.begin, one.size)):
                    raise _NotCopied
            else:
                _send(s3, parts, number, stretches)
        parts.complete()
    except BaseException as error:
        # One with a note is gone on with by whoever tries again.
        if not note or isinstance(error, _NotCopied):
            parts.give_up()
        raise
    if note:
        s3.remove([note])


def _begun(s3: S3Client, plan: Plan, target: str, metadata: Mapping[str, str], note: str) -> Parts:
    """A new one, or that of which the note tells, where it was to be made of the same."""
    if not note:
        return s3.parts_begin(target, dict(metadata))
    digest = _digest(plan, metadata)
    said = _note_read(s3, note)
    if said is not None and (said["target"], said["digest"]) == (target, digest):
        parts = s3.parts_of(target, said["number"])
        with suppress(NoSuchFile):
            parts.found()
            return parts
    if said is not None:
        given_up(s3, note)
    parts = s3.parts_begin(target, dict(metadata))
    s3.put(note, json.dumps({"target": target, "digest": digest, "number": parts.number}).encode())
    return parts


def _send(s3: S3Client, parts: Parts, number: int, stretches: Sequence[Stretch]) -> None:
    with tempfile.TemporaryFile() as held:
        for one in stretches:
            s3.read(one.of.key, held, one.size, None if one.is_all else one.begin, tag=one.of.tag)
        held.seek(0)
        parts.send(number, held)


def _note_read(s3: S3Client, note: str) -> dict[str, str] | None:
    text = s3.small(note) if note else None
    if text is None:
        return None
    try:
        said = json.loads(text)
        return {name: str(said[name]) for name in ("target", "digest", "number")}
    except (ValueError, KeyError, TypeError):
        return None


def _digest(plan: Plan, metadata: Mapping[str, str]) -> str:
    said: list[Any] = [[[one.of.key, one.of.tag, one.begin, one.size] for one in part] for part in plan]
    return hashlib.sha256(json.dumps([said, sorted(metadata.items())]).encode()).hexdigest()


def _copied(sources: Sequence[Stored], total: int, limits: Limits) -> Plan | None:
    """Parts that the server may copy, each of one object; None where they would be too small or too many."""
    if any(one.size_bytes < limits.part_least for one in sources[:-1]):
        return None
    most = max(limits.copied, -(-total // (limits.parts_most // 2 or 1)))
    plan = [[stretch] for one in sources for stretch in _cut(one, most)]
    return plan if len(plan) <= limits.parts_most else None


def _cut(one: Stored, most: int) -> Iterator[Stretch]:
    """An object in pieces of like sizes."""
    count = max(1, -(-one.size_bytes // most))
    size = -(-one.size_bytes // count)
    for begin in range(0, max(one.size_bytes, 1), max(size, 1)):
        yield Stretch(one, begin, min(size, one.size_bytes - begin))


def _sent(sources: Sequence[Stored], total: int, limits: Limits) -> Plan:
    """Parts of one size, each of as many objects as it takes."""
    size = max(limits.sent, limits.part_least, -(-total // limits.parts_most))
    plan: Plan = [[]]
    room = size
    for one in sources:
        begin = 0
        while begin < one.size_bytes:
            taken = min(room, one.size_bytes - begin)
            plan[-1].append(Stretch(one, begin, taken))
            begin, room = begin + taken, room - taken
            if not room:
                plan.append([])
                room = size
    return [part for part in plan if part]
