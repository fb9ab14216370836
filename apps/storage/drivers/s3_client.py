"""One bucket of an S3 server, spoken to so that what it refuses, breaks off or tells wrongly is said in the product's
words."""

from __future__ import annotations

import socket
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, Any
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from apps.kernel.errors import WeirError
from apps.kernel.network_addresses import is_local
from apps.storage.errors import AddressRefused, NoSuchFile, StorageAway, StorageFull

_BLOCK_BYTES = 1024 * 1024
_CHECKED_S, _LEFT_ALONE_S = 60.0, 5.0
_GONE = frozenset({"404", "NoSuchKey", "NoSuchUpload", "NotFound"})
_REFUSED = frozenset({
    "401", "403", "AccessDenied", "ExpiredToken", "Forbidden", "InvalidAccessKeyId", "SignatureDoesNotMatch",
})  # fmt: skip
_UNHEARD = frozenset({"ConnectTimeoutError", "EndpointConnectionError", "ReadTimeoutError"})
_FULL = frozenset({"507", "EntityTooLarge", "InsufficientCapacity", "QuotaExceeded", "XMinioStorageFull"})


@dataclass(frozen=True, slots=True)
class Bucket:
    """Where it is, and the key by which it is opened; all names stand below `prefix`, "" or with a slash at its end."""

    endpoint: str
    name: str
    access_key: str
    secret: str = field(repr=False)
    prefix: str = ""
    region: str = "us-east-1"


@dataclass(frozen=True, slots=True)
class Stored:
    """An object as the server tells of it: `key` below the prefix; `modified` by the server's clock; `tag` is another
    when its bytes are."""

    key: str
    size_bytes: int
    modified: Any
    metadata: dict[str, str] = field(default_factory=dict)
    tag: str = ""


def address_check(endpoint: str) -> None:
    """AddressRefused for what is no address of a server of its own: this machine and its neighbours without a router
    (link-local, where clouds tell machines their secrets), unless `WEIR_STORAGE_LOCAL_S3` allows them."""
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        raise AddressRefused(
            _("Write an address such as https://s3.example.org, without a name or password in it.")
        )
    if settings.WEIR_STORAGE_LOCAL_S3:
        return
    try:
        found = socket.getaddrinfo(parts.hostname, parts.port or 443, type=socket.SOCK_STREAM)
    except OSError as error:
        raise StorageAway(cure=_("Nobody knows the address %(host)s.") % {"host": parts.hostname}) from error
    for one in {str(row[4][0]).partition("%")[0] for row in found}:
        if is_local(one):
            raise AddressRefused(
                _("%(host)s is this machine or its network's own (%(address)s).")
                % {"host": parts.hostname, "address": one}
            )


class S3Client:
    """Every method raises NoSuchFile, StorageAway and StorageFull."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._client: Any = None
        self._checked_s = self._away_s = float("-inf")
        self.copies_parts = True
        """Whether the server makes parts of objects that it has; found out by trying."""

    @property
    def client(self) -> Any:
        """The client, made when it is first needed: its library takes its time to load. Its server's address is looked
        up each minute; one that did not answer is left alone for a moment, so that not everybody waits for it."""
        now_s = time.monotonic()
        if now_s - self._away_s < _LEFT_ALONE_S:
            raise StorageAway()
        if now_s - self._checked_s > _CHECKED_S:
            address_check(self._bucket.endpoint)
            self._checked_s = now_s
        if self._client is None:
            import boto3
            from botocore.config import Config

            self._client = boto3.session.Session().client(
                "s3",
                endpoint_url=self._bucket.endpoint,
                region_name=self._bucket.region,
                aws_access_key_id=self._bucket.access_key,
                aws_secret_access_key=self._bucket.secret,
                config=Config(
                    signature_version="s3v4",
                    connect_timeout=5,
                    read_timeout=30,
                    retries={"total_max_attempts": 2, "mode": "standard"},
                    s3={"addressing_style": "path", "payload_signing_enabled": True},
                    request_checksum_calculation="when_required",
                    response_checksum_validation="when_required",
                ),
            )
        return self._client

    @contextmanager
    def asked(self, key: str) -> Iterator[None]:
        """What the server refuses, in the product's words."""
        from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

        try:
            yield
        except ClientError as error:
            raise _refusal(key, error.response.get("Error", {})) from error
        except (BotoCoreError, HTTPClientError, OSError, KeyError, ValueError) as error:
            # What it answered was broken off, late, or no answer of S3.
            if type(error).__name__ in _UNHEARD:
                self._away_s = time.monotonic()
            raise StorageAway(cure=type(error).__name__) from error

    def _at(self, key: str) -> dict[str, str]:
        return {"Bucket": self._bucket.name, "Key": f"{self._bucket.prefix}{key}"}

    def put(self, key: str, data: bytes, metadata: dict[str, str] | None = None) -> None:
        """Keep an object; when this returns the server has it."""
        with self.asked(key):
            self.client.put_object(**self._at(key), Body=data, Metadata=metadata or {})

    def head(self, key: str) -> Stored | None:
        """What the server tells of an object; None for none."""
        try:
            with self.asked(key):
                found = self.client.head_object(**self._at(key))
        except NoSuchFile:
            return None
        # Some servers write the names of what they are told with a capital.
        metadata = {name.lower(): text for name, text in (found.get("Metadata") or {}).items()}
        return Stored(
            key, int(found["ContentLength"]), found["LastModified"], metadata, str(found.get("ETag") or "")
        )

    def small(self, key: str) -> bytes | None:
        """What stands in a small object of our own; None for none."""
        held = self.head(key)
        if held is None:
            return None
        with tempfile.TemporaryFile() as text:
            self.read(key, text, held.size_bytes)
            text.seek(0)
            return text.read(4096)

    def read(
        self, key: str, into: IO[bytes], size_bytes: int, begin: int | None = None, *, tag: str = ""
    ) -> None:
        """Fetch all of an object, or so many bytes from `begin` on; with a `tag` only while it still has that.
        StorageAway where it is not as long as the server said."""
        asked = {"IfMatch": tag} if tag else {}
        if begin is not None:
            asked["Range"] = f"bytes={begin}-{begin + size_bytes - 1}"
        with self.asked(key):
            body, done = self.client.get_object(**self._at(key), **asked)["Body"], 0
            try:
                while done <= size_bytes and (block := body.read(_BLOCK_BYTES)):
                    into.write(block)
                    done += len(block)
            finally:
                body.close()
        if done != size_bytes:
            raise StorageAway(
                cure=_("The storage said %(size)s bytes and sent %(sent)s: try again.")
                % {"size": size_bytes, "sent": done}
            )

    def list(self, prefix: str, *, is_grouped: bool = False, most: int = 1000) -> Iterator[Stored | str]:
        """The objects below a prefix; `is_grouped`: of those further down only what they have in common, as text."""
        asked = {"Bucket": self._bucket.name, "Prefix": f"{self._bucket.prefix}{prefix}", "MaxKeys": most}
        if is_grouped:
            asked["Delimiter"] = "/"
        cut, seen = len(self._bucket.prefix), ""
        while True:
            with self.asked(prefix):
                page = self.client.list_objects_v2(**asked)
            for group in page.get("CommonPrefixes") or ():
                yield str(group["Prefix"])[cut:]
            for one in page.get("Contents") or ():
                yield Stored(
                    str(one["Key"])[cut:],
                    int(one["Size"]),
                    one["LastModified"],
                    tag=str(one.get("ETag") or ""),
                )
            token = page.get("NextContinuationToken") or ""
            if not page.get("IsTruncated") or not token:
                return
            if token == seen:
                raise StorageAway(cure=_("The storage tells the same part of its list again and again."))
            seen = asked["ContinuationToken"] = token

    def remove(self, keys: Sequence[str]) -> None:
        """Delete objects; those that are not there are deleted."""
        for begin in range(0, len(keys), 1000):
            named = [{"Key": self._at(key)["Key"]} for key in keys[begin : begin + 1000]]
            with self.asked(keys[begin]):
                answer = self.client.delete_objects(
                    Bucket=self._bucket.name, Delete={"Objects": named, "Quiet": True}
                )
            if failed := [one for one in answer.get("Errors") or () if one.get("Code") not in _GONE]:
                raise StorageAway(cure=str(failed[0].get("Message") or failed[0].get("Code")))

    def copy(self, key: str, to: str, metadata: dict[str, str] | None = None) -> None:
        """Copy an object within the bucket, up to what the server copies at once (5 GiB)."""
        changed = {} if metadata is None else {"MetadataDirective": "REPLACE", "Metadata": metadata}
        with self.asked(key):
            self.client.copy_object(**self._at(to), CopySource=self._at(key), **changed)

    def parts_begin(self, key: str, metadata: dict[str, str]) -> Parts:
        """Begin an object that is made of parts."""
        with self.asked(key):
            begun = self.client.create_multipart_upload(**self._at(key), Metadata=metadata)
        return Parts(self, self._at(key), begun["UploadId"])

    def parts_of(self, key: str, number: str) -> Parts:
        """An object that was begun, by the number that it got."""
        return Parts(self, self._at(key), number)

    def part_copy(
        self, at: dict[str, str], number: str, part: int, of: Stored, cut: tuple[int, int] | None
    ) -> str:
        """Make a part of an object, all or so many bytes from one on; its mark, "" where the server cannot."""
        asked = {"CopySourceIfMatch": of.tag} if of.tag else {}
        if cut is not None:
            asked["CopySourceRange"] = f"bytes={cut[0]}-{cut[0] + cut[1] - 1}"
        with self.asked(of.key):
            answer = self.client.upload_part_copy(
                **at, UploadId=number, PartNumber=part, CopySource=self._at(of.key), **asked
            )
        return str((answer.get("CopyPartResult") or {}).get("ETag") or "")


class Parts:
    """The parts of an object that is being made: it is there, whole, when it is completed, and before nothing of it."""

    def __init__(self, client: S3Client, at: dict[str, str], number: str) -> None:
        self._client, self._at, self.number = client, at, number
        self._made: list[dict[str, Any]] = []

    def found(self) -> dict[int, tuple[str, int]]:
        """The mark and the size of each part that the server has. NoSuchFile where it has forgotten all."""
        found: dict[int, tuple[str, int]] = {}
        asked: dict[str, Any] = {**self._at, "UploadId": self.number}
        while True:
            with self._client.asked(self._at["Key"]):
                page = self._client.client.list_parts(**asked)
            for one in page.get("Parts") or ():
                found[int(one["PartNumber"])] = str(one["ETag"]), int(one["Size"])
            after = int(page.get("NextPartNumberMarker") or 0)
            if not page.get("IsTruncated") or after <= int(asked.get("PartNumberMarker", 0)):
                return found
            asked["PartNumberMarker"] = after

    def send(self, number: int, data: IO[bytes]) -> None:
        with self._client.asked(self._at["Key"]):
            answer = self._client.client.upload_part(
                **self._at, UploadId=self.number, PartNumber=number, Body=data
            )
        self.add(number, answer["ETag"])

    def copy(self, number: int, of: Stored, cut: tuple[int, int] | None = None) -> bool:
        """Make a part of an object of the bucket; False where the server does not do that."""
        mark = self._client.part_copy(self._at, self.number, number, of, cut)
        if mark:
            self.add(number, mark)
        return bool(mark)

    def add(self, number: int, mark: str) -> None:
        """A part that the server has."""
        self._made.append({"ETag": mark, "PartNumber": number})

    def complete(self) -> None:
        """Put the object in its place."""
        with self._client.asked(self._at["Key"]):
            self._client.client.complete_multipart_upload(
                **self._at, UploadId=self.number, MultipartUpload={"Parts": self._made}
            )

    def give_up(self) -> None:
        """Nothing is made of it; what the server does not hear of it forgets by itself."""
        with suppress(Exception):
            self._client.client.abort_multipart_upload(**self._at, UploadId=self.number)


def _refusal(key: str, answer: Mapping[str, Any]) -> WeirError:
    """An error of the server, by its code."""
    code = str(answer.get("Code", ""))
    if code in _GONE:
        return NoSuchFile(_("There is no %(path)s in the volume.") % {"path": key})
    if code in _REFUSED:
        return StorageAway(
            cure=_(
                "The S3 server refuses the centre's key: the operators can renew it on the page of storage."
            )
        )
    if code in _FULL:
        return StorageFull()
    return StorageAway(cure=f"{code}: {answer.get('Message', '')}"[:300])
