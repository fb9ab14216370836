"""Buckets: listed, looked at, and the keys in them."""

from __future__ import annotations

import base64
import binascii

from django.utils.translation import gettext as _

from apps.storage.models import Volume
from apps.storage.services.objects import Seen, buckets, objects_list
from apps.storage.types import Kind
from portal.s3.answers import Answer, Node, coded, document, etag_of
from portal.s3.calls import Call
from portal.s3.errors import S3Error, malformed, not_taken

_MOST = 1000


async def bucket_list(call: Call) -> Answer:
    rows = await call.do(lambda: buckets(actor=call.actor))
    named: list[Node] = [("Bucket", [("Name", name), ("CreationDate", row.created_at)]) for name, row in rows]
    owner: list[Node] = [("ID", call.actor.tenant), ("DisplayName", call.actor.tenant)]
    return document("ListAllMyBucketsResult", ("Owner", owner), ("Buckets", named))


async def bucket_look(call: Call) -> Answer:
    await call.do(call.volume)
    return Answer(headers={"x-amz-bucket-region": "us-east-1"})


async def bucket_location(call: Call) -> Answer:
    await call.do(call.volume)
    return document("LocationConstraint")


async def bucket_versioning(call: Call) -> Answer:
    """Files have one version: versioning was never switched on."""
    await call.do(call.volume)
    return document("VersioningConfiguration")


async def bucket_make(call: Call) -> Answer:
    """A volume has a size, which is held of a quota: it is made in the portal."""
    try:
        await call.do(call.volume)
    except S3Error as error:
        if error.code != "NoSuchBucket":
            raise
        raise S3Error(
            "AccessDenied",
            403,
            _("Buckets are volumes: make one in the portal, or by weir volume make."),
        ) from error
    raise S3Error("BucketAlreadyOwnedByYou", 409, _("The volume is there."))


async def objects(call: Call) -> Answer:
    request = call.request
    is_second = request.asked("list-type") == "2"
    encoding, delimiter, prefix = (request.asked(name) for name in ("encoding-type", "delimiter", "prefix"))
    if delimiter not in ("", "/"):
        raise not_taken(f"delimiter={delimiter}")
    if encoding not in ("", "url"):
        raise malformed(_("encoding-type is url, or is left out."))
    most, after = _most(request.asked("max-keys", str(_MOST))), _after(call, is_second=is_second)

    def listed() -> tuple[Volume, list[Seen], bool]:
        volume = call.volume()
        if not most:
            return volume, [], False
        return volume, *objects_list(
            actor=call.actor, volume=volume, prefix=prefix, after=after, is_grouped=bool(delimiter), most=most
        )

    _volume, found, is_more = await call.do(listed)
    nodes: list[Node] = [("Name", request.bucket), ("Prefix", coded(prefix, encoding))]
    if is_second:
        nodes += [("KeyCount", len(found))]
        nodes += [(name, _echoed(call, given, encoding)) for given, name in _SECOND if request.has(given)]
        nodes += [("NextContinuationToken", _token(found[-1].key))] if is_more else []
    else:
        nodes += [("Marker", coded(request.asked("marker"), encoding))]
        nodes += [("NextMarker", coded(found[-1].key, encoding))] if is_more else []
    nodes += [("MaxKeys", most), ("IsTruncated", is_more)]
    nodes += [("Delimiter", delimiter)] if delimiter else []
    nodes += [("EncodingType", encoding)] if encoding else []
    nodes += [_seen(one, encoding) for one in found]
    return document("ListBucketResult", *nodes)


_SECOND = (("continuation-token", "ContinuationToken"), ("start-after", "StartAfter"))


def _echoed(call: Call, name: str, encoding: str) -> str:
    given = call.request.asked(name)
    return coded(given, encoding) if name == "start-after" else given


def _seen(one: Seen, encoding: str) -> Node:
    key = coded(one.key, encoding)
    if one.entry is None:
        return ("CommonPrefixes", [("Prefix", key)])
    size = one.entry.size_bytes if one.entry.kind == Kind.FILE else 0
    return (
        "Contents",
        [
            ("Key", key),
            ("LastModified", one.entry.modified_at),
            ("ETag", etag_of(one.entry)),
            ("Size", size),
            ("StorageClass", "STANDARD"),
        ],
    )


def _most(given: str) -> int:
    if not (given.isascii() and given.isdigit() and len(given) < 10):
        raise S3Error("InvalidArgument", 400, _("max-keys is a whole number."))
    return min(_MOST, int(given))


def _after(call: Call, *, is_second: bool) -> str:
    """The key behind which the list begins."""
    request = call.request
    if not is_second:
        return request.asked("marker")
    token = request.asked("continuation-token")
    if not token:
        return request.asked("start-after")
    try:
        return base64.urlsafe_b64decode(token.encode()).decode()
    except (binascii.Error, ValueError) as error:
        raise S3Error("InvalidArgument", 400, _("The continuation token is none of this address.")) from error


def _token(key: str) -> str:
    return base64.urlsafe_b64encode(key.encode()).decode()
