"""The S3-compatible address: what is asked at its host name is checked by its signature, done, and answered."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import get_language_from_request, override
from django.utils.translation import gettext as _

from apps.kernel.planes import in_public
from apps.storage.services.access_keys import KeyHolder, access_key_holder, key_schema
from apps.tenancy.selectors import tenant_find
from portal.s3 import buckets, files, multiparts
from portal.s3.answers import Answer, error_answer
from portal.s3.bodies import Body
from portal.s3.calls import Call
from portal.s3.errors import S3Error, not_taken
from portal.s3.requests import S3Request, Scope, request_read
from portal.s3.signature import Signed, is_right, signed_read, signing_key
from portal.s3.threads import in_tenant_thread, in_thread
from portal.serving.files import passage_send

log = logging.getLogger(__name__)
# So many requests at a time hold a piece of a body each; who comes after is told to come again. Of one tenant fewer:
# whoever sends a byte a minute keeps nobody else's files from him.
_AT_ONCE, _OF_TENANT = 48, 32
_READERS = 8
Operation = Callable[[Call], Awaitable[Answer]]
_BUCKET: dict[tuple[str, str], Operation] = {
    ("GET", ""): buckets.objects,
    ("GET", "location"): buckets.bucket_location,
    ("GET", "versioning"): buckets.bucket_versioning,
    ("GET", "uploads"): multiparts.begun,
    ("HEAD", ""): buckets.bucket_look,
    ("PUT", ""): buckets.bucket_make,
    ("POST", "delete"): files.remove_many,
}
_KEY: dict[tuple[str, str], Operation] = {
    ("GET", ""): files.read,
    ("GET", "uploadId"): multiparts.parts,
    ("HEAD", ""): files.look,
    ("PUT", ""): files.keep,
    ("PUT", "uploadId"): multiparts.part,
    ("POST", "uploads"): multiparts.begin,
    ("POST", "uploadId"): multiparts.finish,
    ("DELETE", ""): files.remove,
    ("DELETE", "uploadId"): multiparts.end,
}
# Parameters that choose an operation, and those that operations read or that change nothing here.
_CHOOSING = ("location", "versioning", "uploads", "uploadId", "delete")
_READ = frozenset(
    {
        "list-type", "prefix", "delimiter", "marker", "max-keys", "continuation-token", "start-after",
        "encoding-type", "fetch-owner", "partNumber", "max-parts", "part-number-marker", "max-uploads",
        "key-marker", "upload-id-marker", "x-id", "max-buckets", "X-Amz-Algorithm", "X-Amz-Credential",
        "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders", "X-Amz-Signature",
    }
)  # fmt: skip


class Objects:
    """ASGI middleware: what is asked at the host name of this address is its own; all else goes on."""

    def __init__(self, portal: Any) -> None:
        self._portal = portal
        self._free = asyncio.Semaphore(_AT_ONCE)
        self._of_tenant: Counter[str] = Counter()
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="objects-read")

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        host = _host(scope) if scope["type"] in ("http", "websocket") else ""
        if host != settings.WEIR_S3_HOST and not host.endswith(f".{settings.WEIR_S3_HOST}"):
            await self._portal(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._answer(scope, receive, send, is_by_path=host == settings.WEIR_S3_HOST)

    async def _answer(self, scope: Scope, receive: Any, send: Any, *, is_by_path: bool) -> None:
        request_id, language = uuid.uuid4().hex, _language(scope)
        call: Call | None = None
        try:
            if not is_by_path:
                raise _by_host(language)
            if self._free.locked():
                raise _too_many(language)
            async with self._free:
                call = await _admitted(scope, receive, request_id, language)
                with override(language), self._one_more(call):
                    answer = await _operation(call.request)(call)
        except S3Error as error:
            answer = error_answer(error, scope["path"], request_id)
        except Exception:
            log.exception("%s %s", scope["method"], scope["path"])
            answer = error_answer(_broken(language), scope["path"], request_id)
        is_read = call.body.is_read if call else scope["method"] in ("GET", "HEAD", "DELETE")
        await self._send(scope, receive, send, answer, request_id, closes=not is_read)

    @contextmanager
    def _one_more(self, call: Call) -> Iterator[None]:
        """Count a request of its tenant while it is carried out. Raises S3Error where that has too many."""
        tenant = call.actor.tenant
        if self._of_tenant[tenant] >= _OF_TENANT:
            raise _too_many(call.language)
        self._of_tenant[tenant] += 1
        try:
            yield
        finally:
            self._of_tenant[tenant] -= 1
            if not self._of_tenant[tenant]:
                del self._of_tenant[tenant]

    async def _send(
        self, scope: Scope, receive: Any, send: Any, answer: Answer, request_id: str, *, closes: bool
    ) -> None:
        headers = {"content-length": str(len(answer.body)), **answer.headers}
        headers |= {"x-amz-request-id": request_id, "cache-control": "private, no-cache"}
        if closes:
            # What is left of the body is not waited for.
            headers["connection"] = "close"
        if answer.status in (204, 304):
            headers.pop("content-length")
        told = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
        try:
            await send({"type": "http.response.start", "status": answer.status, "headers": told})
            if scope["method"] != "HEAD" and answer.passage is not None:
                await passage_send(answer.passage, receive, send, self._readers)
            is_shown = scope["method"] != "HEAD" and answer.status not in (204, 304)
            await send({"type": "http.response.body", "body": answer.body if is_shown else b""})
        finally:
            if answer.passage is not None:
                answer.passage.close()


async def _admitted(scope: Scope, receive: Any, request_id: str, language: str) -> Call:
    """The call of a request that is signed as it should be. Raises S3Error."""
    with override(language):
        request = request_read(scope)
        signed = signed_read(request, datetime.now(UTC))
    holder = await _holder(signed, request_id, language)
    with override(language):
        key = signing_key(holder.secret, signed.scope)
        if not is_right(request, signed, key):
            raise S3Error(
                "SignatureDoesNotMatch",
                403,
                _("The request is not as it was signed, or the secret is not this key's."),
            )
        return Call(request, holder.actor, Body(request, signed, key, receive), language)


async def _holder(signed: Signed, request_id: str, language: str) -> KeyHolder:
    schema = key_schema(signed.key_id)
    state = await in_thread(_tenant_state, schema)
    with override(language):
        if state == "suspended":
            raise S3Error("AccessDenied", 403, _("This portal is suspended."))
        unknown = S3Error("InvalidAccessKeyId", 403, _("The access key is unknown, revoked or expired."))
    if state != "active":
        raise unknown
    found = await in_tenant_thread(
        schema, language, lambda: access_key_holder(signed.key_id, request_id=request_id)
    )
    if found is None:
        raise unknown
    return found


def _tenant_state(schema: str) -> str:
    with in_public():
        return next((str(row.state) for row in tenant_find() if row.schema_name == schema), "")


def _operation(request: S3Request) -> Operation:
    if not request.bucket:
        if request.method != "GET":
            raise _no_method()
        return buckets.bucket_list
    for name, value in request.query:
        is_known = name in _READ or name in _CHOOSING or name.startswith("response-")
        if not is_known and not (name == "versionId" and value == "null"):
            raise not_taken(name)
    chosen = next((name for name in _CHOOSING if request.has(name)), "")
    if request.method == "PUT" and not chosen and request.header("x-amz-copy-source"):
        return files.copy
    found = (_KEY if request.key else _BUCKET).get((request.method, chosen))
    if found is None:
        raise _no_method()
    return found


def _no_method() -> S3Error:
    return S3Error(
        "MethodNotAllowed", 405, _("This is not done here: files of volumes are listed, read and written.")
    )


def _by_host(language: str) -> S3Error:
    with override(language):
        return S3Error(
            "InvalidRequest", 400, _("Name the bucket in the path (path-style), not in the host name.")
        )


def _too_many(language: str) -> S3Error:
    with override(language):
        return S3Error("SlowDown", 503, _("Too many requests at once: try again."), retry_after_s=1)


def _broken(language: str) -> S3Error:
    with override(language):
        return S3Error("InternalError", 500, _("The server made a mistake."))


def _host(scope: Scope) -> str:
    given: bytes = dict(scope["headers"]).get(b"host", b"")
    return given.decode("latin-1").rsplit(":", 1)[0].lower()


def _language(scope: Scope) -> str:
    asked = HttpRequest()
    asked.META["HTTP_ACCEPT_LANGUAGE"] = dict(scope["headers"]).get(b"accept-language", b"").decode("latin-1")
    return get_language_from_request(asked)
