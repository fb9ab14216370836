"""Objects: looked at, read, kept, copied, removed."""

from __future__ import annotations

import asyncio
import mimetypes
import os
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from functools import partial
from typing import Any
from urllib.parse import unquote

from django.utils.translation import gettext as _
from lxml import etree

from apps.kernel.errors import WeirError
from apps.storage.errors import NoSuchFile
from apps.storage.file_answers import Passage
from apps.storage.models import Multipart, Upload
from apps.storage.services.files import file_date, file_remove, folder_make, folder_remove_empty
from apps.storage.services.objects import bucket_get, object_entry, object_open
from apps.storage.services.uploads import upload_finish, upload_make, upload_remove, upload_take
from apps.storage.types import Entry, Kind, OpenFile
from portal.s3.answers import Answer, Node, document, etag_of
from portal.s3.bodies import PIECE_BYTES
from portal.s3.calls import Call
from portal.s3.errors import S3Error, malformed, not_taken

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
_MTIME = re.compile(r"-?\d{1,11}(\.\d{1,9})?")
_DOCUMENT_MOST = 2 * 2**20
_DELETED_MOST = 1000
_SHOWN = (
    "content-type",
    "content-disposition",
    "content-language",
    "cache-control",
    "expires",
    "content-encoding",
)
# Headers that ask for what would not be done.
_REFUSED = (
    "x-amz-server-side-encryption", "x-amz-server-side-encryption-customer-algorithm", "x-amz-tagging",
    "x-amz-object-lock-mode", "x-amz-object-lock-legal-hold", "x-amz-website-redirect-location",
    "x-amz-grant-read", "x-amz-grant-full-control", "x-amz-grant-read-acp", "x-amz-grant-write-acp",
    "x-amz-write-offset-bytes",
)  # fmt: skip


# ---- read ----


async def look(call: Call) -> Answer:
    """HEAD: of a file its size, or of a folder that it is one."""
    entry = await call.do(lambda: object_entry(actor=call.actor, volume=call.volume(), key=call.request.key))
    headers = _headers(call, entry)
    _conditions_check(call, entry)
    begin, end, status = _range(call, entry.size_bytes)
    return _ranged(Answer(status, headers), begin, end, entry.size_bytes)


async def read(call: Call) -> Answer:
    request = call.request
    if request.key.endswith("/"):
        found = await look(call)
        return Answer(200, found.headers)
    file = await call.do(lambda: object_open(actor=call.actor, volume=call.volume(), key=request.key))
    try:
        _conditions_check(call, file)
        begin, end, status = _range(call, file.size_bytes)
        headers = _headers(call, file)
    except BaseException:
        os.close(file.fd)
        raise
    return _ranged(Answer(status, headers, passage=Passage(file.fd, begin, end)), begin, end, file.size_bytes)


def _headers(call: Call, seen: Entry | OpenFile) -> dict[str, str]:
    is_folder = isinstance(seen, Entry) and seen.kind == Kind.FOLDER
    guessed = mimetypes.guess_type(call.request.key)[0] or "application/octet-stream"
    headers = {
        "content-type": "application/x-directory" if is_folder else guessed,
        "etag": etag_of(seen),
        "last-modified": format_datetime(seen.modified_at, usegmt=True),
        "x-amz-meta-mtime": f"{seen.modified_at.timestamp():.6f}",
        "accept-ranges": "bytes",
        "x-content-type-options": "nosniff",
        "content-security-policy": "sandbox; default-src 'none'",
    }
    for name in _SHOWN:
        if asked := call.request.asked(f"response-{name}"):
            if not asked.isprintable() or not asked.isascii():
                raise malformed(_("A header of the answer cannot be so."))
            headers[name] = asked
    return headers


def _ranged(answer: Answer, begin: int, end: int, size: int) -> Answer:
    answer.headers["content-length"] = str(end - begin)
    if answer.status == 206:
        answer.headers["content-range"] = f"bytes {begin}-{end - 1}/{size}"
    return answer


def _range(call: Call, size: int) -> tuple[int, int, int]:
    """First byte, the one after the last, and the status; of several ranges the whole."""
    found = _RANGE.fullmatch(call.request.header("range").strip())
    if found is None or not any(found.groups()):
        return 0, size, 200
    first, last = found.groups()
    begin = int(first) if first else max(0, size - int(last))
    end = min(size, int(last) + 1) if first and last else size
    if begin >= end:
        raise S3Error("InvalidRange", 416, _("The file has no such bytes."))
    return begin, end, 206


def _conditions_check(call: Call, seen: Entry | OpenFile, prefix: str = "") -> None:
    """Raises S3Error where the file is not as the caller knows it, or just as he knows it."""
    request, etag = call.request, etag_of(seen)
    at = seen.modified_at.replace(microsecond=0)
    is_match, none_match = (request.header(f"{prefix}{name}") for name in ("if-match", "if-none-match"))
    unmodified = _instant(request.header(f"{prefix}if-unmodified-since"))
    modified = _instant(request.header(f"{prefix}if-modified-since"))
    failed = not _names(is_match, etag) if is_match else unmodified is not None and at > unmodified
    if failed:
        raise _precondition()
    known = _names(none_match, etag) if none_match else modified is not None and at <= modified
    if known:
        raise _precondition() if prefix else S3Error("NotModified", 304, "")


def _names(given: str, etag: str) -> bool:
    tags = [tag.strip().removeprefix("W/").strip('"') for tag in given.split(",")]
    return "*" in tags or etag.strip('"') in tags


def _instant(given: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(given) if given else None
    except (TypeError, ValueError):
        return None
    return found.replace(tzinfo=UTC) if found is not None and found.tzinfo is None else found


def _precondition() -> S3Error:
    return S3Error("PreconditionFailed", 412, _("The file is not as the condition says."))


# ---- keep ----


def headers_check(call: Call) -> None:
    """Refuse what would be left undone in silence, such as a file that everybody may read."""
    for name in _REFUSED:
        if call.request.header(name):
            raise not_taken(name)
    if call.request.header("x-amz-acl") not in ("", "private", "bucket-owner-full-control"):
        raise not_taken("x-amz-acl")
    if call.request.header("x-amz-storage-class") not in ("", "STANDARD"):
        raise S3Error("InvalidStorageClass", 400, _("The storage class is STANDARD."))


def modified_at(call: Call) -> datetime | None:
    """When the file was last changed, as rclone and s3fs send it; None where it was not said."""
    given = call.request.header("x-amz-meta-mtime")
    if not _MTIME.fullmatch(given):
        return None
    with suppress(OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(float(given), UTC)
    return None


async def keep(call: Call) -> Answer:
    """PUT: a whole file in its place, or a folder."""
    key = call.request.key
    headers_check(call)
    if key.endswith("/"):
        return await _folder(call)
    await _there_check(call)
    entry = await file_keep(call, call.body.pieces(), call.body.length, modified_at(call))
    return Answer(headers={"etag": etag_of(entry)})


async def _there_check(call: Call) -> None:
    """`If-None-Match: *` keeps a file that is there, `If-Match` one that is another."""
    request = call.request
    if not request.header("if-match") and not request.header("if-none-match"):
        return

    def seen() -> Entry | None:
        try:
            return object_entry(actor=call.actor, volume=call.volume(), key=request.key)
        except NoSuchFile:
            return None

    entry = await call.do(seen)
    wanted, unwanted = request.header("if-match"), request.header("if-none-match")
    if wanted and (entry is None or not _names(wanted, etag_of(entry))):
        raise _precondition()
    if unwanted and entry is not None and _names(unwanted, etag_of(entry)):
        raise _precondition()


async def _folder(call: Call) -> Answer:
    if call.body.length:
        raise malformed(_("A key with a slash at its end is a folder, and holds nothing itself."))
    async for _piece in call.body.pieces():
        pass

    def make() -> Entry:
        volume = call.volume()
        with suppress(NoSuchFile):
            return object_entry(actor=call.actor, volume=volume, key=call.request.key)
        folder_make(actor=call.actor, volume_uid=volume.uid, path=call.request.key)
        return object_entry(actor=call.actor, volume=volume, key=call.request.key)

    return Answer(headers={"etag": etag_of(await call.do(make))})


async def file_keep(call: Call, pieces: AsyncIterator[bytes], length: int, changed: datetime | None) -> Entry:
    """Keep a file whole or not at all: what breaks off is forgotten."""
    key = call.request.key
    row = await received(call, pieces, length)

    def place() -> Entry:
        volume = call.volume()
        upload_finish(actor=call.actor, uid=row.uid)
        if changed is not None:
            file_date(actor=call.actor, volume_uid=volume.uid, path=key, at=changed)
        return object_entry(actor=call.actor, volume=volume, key=key)

    try:
        return await call.do(place)
    except BaseException:
        await forgotten(call, row)
        raise


async def received(
    call: Call, pieces: AsyncIterator[bytes], length: int, part: tuple[Multipart, int] | None = None
) -> Upload:
    """An upload of all these pieces, whole on disk and in no place yet; none where they break off."""

    def begin() -> Upload:
        return upload_make(
            actor=call.actor,
            volume_uid=call.volume().uid,
            path=call.request.key,
            size_bytes=length,
            replaces=True,
            resumed=False,
            part=part,
        )

    row, offset = await call.do(begin), 0
    try:
        async for piece in pieces:
            await call.do(partial(upload_take, actor=call.actor, uid=row.uid, offset=offset, piece=piece))
            offset += len(piece)
    except BaseException:
        await forgotten(call, row)
        raise
    return row


async def forgotten(call: Call, row: Upload) -> None:
    """End an upload that did not come to its place; what cannot be ended now is ended by the clock."""

    def remove() -> None:
        with suppress(WeirError):
            upload_remove(actor=call.actor, uid=row.uid)

    # Also where the caller is gone and this is being cancelled.
    await asyncio.shield(asyncio.ensure_future(call.do(remove)))


# ---- copy ----


async def source_open(call: Call) -> OpenFile:
    """The file that is to be copied, held open."""
    given = unquote(call.request.header("x-amz-copy-source")).removeprefix("/")
    bucket, _slash, key = given.partition("/")
    key, _mark, version = key.partition("?versionId=")
    if version not in ("", "null"):
        raise not_taken("versionId")

    def opened() -> OpenFile:
        return object_open(actor=call.actor, volume=bucket_get(actor=call.actor, name=bucket), key=key)

    file = await call.do(opened)
    try:
        _conditions_check(call, file, "x-amz-copy-source-")
    except S3Error:
        os.close(file.fd)
        raise
    return file


def is_itself(call: Call) -> bool:
    given = unquote(call.request.header("x-amz-copy-source")).removeprefix("/")
    return given == f"{call.request.bucket}/{call.request.key}"


async def copy(call: Call) -> Answer:
    """A file from another, which may be in another volume; onto itself it is given a time alone."""
    headers_check(call)
    is_replaced = call.request.header("x-amz-metadata-directive").upper() == "REPLACE"
    file = await source_open(call)
    try:
        if is_itself(call):
            entry = await _dated(call, is_replaced=is_replaced)
        else:
            changed = modified_at(call) if is_replaced else file.modified_at
            entry = await file_keep(call, file_pieces(file, 0, file.size_bytes), file.size_bytes, changed)
    finally:
        os.close(file.fd)
    return document("CopyObjectResult", ("LastModified", entry.modified_at), ("ETag", etag_of(entry)))


async def _dated(call: Call, *, is_replaced: bool) -> Entry:
    changed = modified_at(call)
    if not is_replaced:
        raise malformed(_("The file is copied onto itself, and nothing of it is changed."))

    def date() -> Entry:
        volume = call.volume()
        if changed is not None:
            file_date(actor=call.actor, volume_uid=volume.uid, path=call.request.key, at=changed)
        return object_entry(actor=call.actor, volume=volume, key=call.request.key)

    return await call.do(date)


async def file_pieces(file: OpenFile, begin: int, end: int) -> AsyncIterator[bytes]:
    while begin < end:
        piece = await asyncio.to_thread(os.pread, file.fd, min(PIECE_BYTES, end - begin), begin)
        if not piece:
            raise S3Error("OperationAborted", 409, _("The file was changed while it was copied."))
        begin += len(piece)
        yield piece


# ---- remove ----


async def remove(call: Call) -> Answer:
    """What is not there is removed already."""
    await call.do(lambda: _remove(call, call.request.key))
    return Answer(204)


def _remove(call: Call, key: str) -> None:
    volume = call.volume()
    with suppress(NoSuchFile):
        object_entry(actor=call.actor, volume=volume, key=key)
        if key.endswith("/"):
            folder_remove_empty(actor=call.actor, volume_uid=volume.uid, path=key)
        else:
            file_remove(actor=call.actor, volume_uid=volume.uid, path=key)
    # Who may not write hears so of what is not there, too.
    call.actor.require("storage.use")


async def remove_many(call: Call) -> Answer:
    asked = xml_read(await call.body.small(_DOCUMENT_MOST))
    is_quiet = (asked.findtext("{*}Quiet") or "").strip().lower() == "true"
    keys = [found.findtext("{*}Key") or "" for found in asked.iterfind("{*}Object")]
    if not 1 <= len(keys) <= _DELETED_MOST:
        raise S3Error("MalformedXML", 400, _("Name 1 to %(most)s keys.") % {"most": _DELETED_MOST})
    await call.do(call.volume)
    nodes: list[Node] = []
    for key in keys:
        try:
            await call.do(partial(_remove, call, key))
        except S3Error as error:
            nodes.append(("Error", [("Key", key), ("Code", error.code), ("Message", error.message)]))
        else:
            nodes += [] if is_quiet else [("Deleted", [("Key", key)])]
    return document("DeleteResult", *nodes)


def xml_read(body: bytes) -> Any:
    """A document from outside: without entities, DTDs, or a way to the network."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        found = etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise S3Error("MalformedXML", 400, _("The document cannot be read.")) from error
    if found.getroottree().docinfo.doctype:
        raise S3Error("MalformedXML", 400, _("The document has a DOCTYPE, which is not taken."))
    return found
