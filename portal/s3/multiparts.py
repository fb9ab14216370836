"""Objects that come in parts."""

from __future__ import annotations

import asyncio
import os
import re

from django.utils.translation import gettext as _

from apps.storage.models import Multipart, Upload
from apps.storage.services.objects import object_entry
from apps.storage.services.parts import (
    PARTS_MOST,
    multipart_finish,
    multipart_get,
    multipart_list,
    multipart_make,
    multipart_remove,
    part_finish,
    part_list,
)
from apps.storage.types import Entry
from portal.s3.answers import Answer, Node, document, etag_of
from portal.s3.calls import Call
from portal.s3.errors import S3Error
from portal.s3.files import (
    file_pieces,
    forgotten,
    headers_check,
    modified_at,
    received,
    source_open,
    xml_read,
)

_DOCUMENT_MOST = 4 * 2**20
_RANGE = re.compile(r"bytes=(\d{1,18})-(\d{1,18})")
_LISTED_MOST = 1000


async def begin(call: Call) -> Answer:
    headers_check(call)
    async for _piece in call.body.pieces():
        pass

    def make() -> Multipart:
        return multipart_make(
            actor=call.actor,
            volume_uid=call.volume().uid,
            path=call.request.key,
            modified_at=modified_at(call),
        )

    row = await call.do(make)
    return document(
        "InitiateMultipartUploadResult",
        ("Bucket", call.request.bucket),
        ("Key", call.request.key),
        ("UploadId", row.uid.hex),
    )


def _found(call: Call) -> Multipart:
    """Which is meant; inside `do`."""
    return multipart_get(
        actor=call.actor, volume=call.volume(), path=call.request.key, uid=call.request.asked("uploadId")
    )


def _number(call: Call) -> int:
    given = call.request.asked("partNumber")
    if not (given.isascii() and given.isdigit() and len(given) < 10 and 1 <= int(given) <= PARTS_MOST):
        raise S3Error("InvalidArgument", 400, _("Parts are numbered 1 to %(most)s.") % {"most": PARTS_MOST})
    return int(given)


async def part(call: Call) -> Answer:
    """A part from the body, or from another file."""
    number, row = _number(call), await call.do(lambda: _found(call))
    if call.request.header("x-amz-copy-source"):
        return await _part_copied(call, row, number)
    upload = await received(call, call.body.pieces(), call.body.length, (row, number))
    await _part_done(call, row, upload, call.body.md5)
    return Answer(headers={"etag": f'"{call.body.md5}"'})


async def _part_copied(call: Call, row: Multipart, number: int) -> Answer:
    file = await source_open(call)
    try:
        begin, end = _copied(call, file.size_bytes)
        upload = await received(call, file_pieces(file, begin, end), end - begin, (row, number))
    finally:
        os.close(file.fd)
    # No digest of bytes that nobody sent: it is known by what it is.
    digest = upload.uid.hex
    await _part_done(call, row, upload, digest)
    return document("CopyPartResult", ("LastModified", upload.created_at), ("ETag", f'"{digest}"'))


def _copied(call: Call, size: int) -> tuple[int, int]:
    given = call.request.header("x-amz-copy-source-range")
    found = _RANGE.fullmatch(given)
    if not given:
        return 0, size
    if found is None or not int(found[1]) <= int(found[2]) < size:
        raise S3Error("InvalidArgument", 400, _("The file has no such bytes."))
    return int(found[1]), int(found[2]) + 1


async def _part_done(call: Call, row: Multipart, upload: Upload, digest: str) -> None:
    try:
        await call.do(lambda: part_finish(actor=call.actor, uid=row.uid, part=upload.uid, digest=digest))
    except BaseException:
        await forgotten(call, upload)
        raise


async def finish(call: Call) -> Answer:
    asked = xml_read(await call.body.small(_DOCUMENT_MOST))
    chosen = []
    for found in asked.iterfind("{*}Part"):
        number, digest = (found.findtext(f"{{*}}{name}") or "" for name in ("PartNumber", "ETag"))
        if not (number.strip().isascii() and number.strip().isdigit() and len(number.strip()) < 10):
            raise S3Error("MalformedXML", 400, _("The document cannot be read."))
        chosen.append((int(number), digest.strip().strip('"')))

    def make() -> Entry:
        row = _found(call)
        multipart_finish(actor=call.actor, uid=row.uid, chosen=chosen)
        return object_entry(actor=call.actor, volume=row.volume, key=row.path)

    # Once begun it comes to its end, also where the caller does not wait for it.
    entry = await asyncio.shield(asyncio.ensure_future(call.do(make, is_long=True)))
    return document(
        "CompleteMultipartUploadResult",
        ("Bucket", call.request.bucket),
        ("Key", call.request.key),
        ("ETag", etag_of(entry)),
    )


async def end(call: Call) -> Answer:
    await call.do(lambda: multipart_remove(actor=call.actor, uid=_found(call).uid))
    return Answer(204)


async def parts(call: Call) -> Answer:
    after = call.request.asked("part-number-marker", "0")
    if not (after.isascii() and after.isdigit() and len(after) < 7):
        raise S3Error("InvalidArgument", 400, _("Parts are numbered 1 to %(most)s.") % {"most": PARTS_MOST})

    def listed() -> list[Upload]:
        return list(part_list(_found(call)).filter(part_no__gt=int(after))[: _LISTED_MOST + 1])

    found = await call.do(listed)
    shown, is_more = found[:_LISTED_MOST], len(found) > _LISTED_MOST
    nodes: list[Node] = [
        ("Bucket", call.request.bucket),
        ("Key", call.request.key),
        ("UploadId", call.request.asked("uploadId")),
        ("PartNumberMarker", int(after)),
        ("MaxParts", _LISTED_MOST),
        ("IsTruncated", is_more),
    ]
    nodes += [("NextPartNumberMarker", int(shown[-1].part_no or 0))] if is_more else []
    nodes += [
        (
            "Part",
            [
                ("PartNumber", int(row.part_no or 0)),
                ("LastModified", row.moved_at),
                ("ETag", f'"{row.digest}"'),
                ("Size", int(row.size_bytes)),
            ],
        )
        for row in shown
    ]
    return document("ListPartsResult", *nodes)


async def begun(call: Call) -> Answer:
    """The uploads in parts that are under way, the caller's own."""
    prefix = call.request.asked("prefix")

    def listed() -> list[Multipart]:
        rows = multipart_list(actor=call.actor, volume=call.volume())
        return list(rows.filter(path__startswith=prefix)[:_LISTED_MOST])

    rows = await call.do(listed)
    nodes: list[Node] = [
        ("Upload", [("Key", row.path), ("UploadId", row.uid.hex), ("Initiated", row.created_at)])
        for row in rows
    ]
    return document(
        "ListMultipartUploadsResult",
        ("Bucket", call.request.bucket),
        ("Prefix", prefix),
        ("MaxUploads", _LISTED_MOST),
        ("IsTruncated", False),
        *nodes,
    )
