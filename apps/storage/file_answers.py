"""Answers that are a file, whole or from a byte on: no thread of the portal waits while somebody reads them.

Where the portal is served, the file is handed on, open, with the request (`HANDED_ON` in its ASGI scope), and sent by
`portal.serving.files`; without that server it is read here.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext_lazy as _

from apps.kernel.errors import WeirError
from apps.storage.types import OpenFile

HANDED_ON = "weir.file"
_BLOCK = 1024 * 1024
_RANGE = re.compile(r"bytes=(\d{0,19})-(\d{0,19})")


class RangeRefused(WeirError):
    code = "range_refused"
    status = 416
    default_message = _("The file has no such bytes.")


@dataclass(slots=True)
class Passage:
    """Bytes `begin` to before `end` of an open file; whoever sends them closes it."""

    fd: int
    begin: int
    end: int

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def file_answer(
    request: HttpRequest, file: OpenFile, *, name: str, content_type: str = ""
) -> HttpResponseBase:
    """The file as a download, or with a `content_type` as something that is shown."""
    etag = f'"{file.size_bytes:x}-{int(file.modified_at.timestamp() * 1000):x}"'
    try:
        begin, end, status = _asked(request, file.size_bytes, etag)
    except RangeRefused:
        os.close(file.fd)
        raise
    headers = {
        "Content-Type": content_type or "application/octet-stream",
        "Content-Length": str(end - begin),
        "Content-Disposition": content_disposition_header(not content_type, name) or "attachment",
        "Accept-Ranges": "bytes",
        "ETag": etag,
        "Last-Modified": formatdate(file.modified_at.timestamp(), usegmt=True),
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-cache",
    }
    if status == 206:
        headers["Content-Range"] = f"bytes {begin}-{end - 1}/{file.size_bytes}"
    passage = Passage(file.fd, begin, end)
    scope: dict[str, Any] | None = request.META.get("asgi.scope")
    if scope is not None and HANDED_ON in scope:
        scope[HANDED_ON] = passage
        return HttpResponse(status=status, headers=headers)
    return StreamingHttpResponse(_blocks(passage), status=status, headers=headers)


def _blocks(passage: Passage) -> Iterator[bytes]:
    try:
        while passage.begin < passage.end:
            block = os.pread(passage.fd, min(_BLOCK, passage.end - passage.begin), passage.begin)
            if not block:
                return
            passage.begin += len(block)
            yield block
    finally:
        passage.close()


def _asked(request: HttpRequest, size: int, etag: str) -> tuple[int, int, int]:
    """First byte, the one after the last, and the status. Of several ranges, and of a file that has changed since,
    the whole is sent."""
    found = _RANGE.fullmatch(request.headers.get("Range", "").strip())
    if found is None or request.headers.get("If-Range", etag) != etag or not any(found.groups()):
        return 0, size, 200
    first, last = found.groups()
    if first:
        begin, end = int(first), min(size, int(last) + 1 if last else size)
    else:
        begin, end = max(0, size - int(last)), size
    if begin >= end:
        raise RangeRefused()
    return begin, end, 206
