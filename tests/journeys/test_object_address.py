"""The S3-compatible address of a running portal, by the clients that people have: boto3 and rclone."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from portal.devstack.demo_order import Journey
from portal.devstack.stack import Stack
from tests.harness.object_clients import ObjectAddress

pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("portal"), pytest.mark.req("PLAT-ASSET-7")]
MIB = 2**20


@pytest.fixture
def portal(stack: Stack) -> str:
    return f"http://127.0.0.1:{stack.options.port}"


def keyed(journey: Journey, portal: str, name: str, **options: Any) -> ObjectAddress:
    made = journey.person(name).access_key_make(f"test {uuid4().hex[:8]}", **options)
    address = made["address"].partition("://")[2].partition(":")[0]
    return ObjectAddress(
        f"http://{address}:{portal.rpartition(':')[2]}", portal, made["key_id"], made["secret"]
    )


@pytest.fixture
def address(journey: Journey, portal: str) -> Iterator[ObjectAddress]:
    yield keyed(journey, portal, "alice")
    alice = journey.person("alice")
    for row in alice.access_keys():
        alice.access_key_revoke(row["uid"])


@pytest.fixture
def bucket(journey: Journey) -> Iterator[str]:
    """A volume of alice's, of 64 MiB."""
    alice, name = journey.person("alice"), f"s3-{uuid4().hex[:8]}"
    made = alice.volume_make(name, 64)
    yield name
    alice.volume_delete(made["uid"])


def code_of(caught: pytest.ExceptionInfo[ClientError]) -> str:
    return str(caught.value.response["Error"]["Code"])


def test_files_are_kept_listed_read_copied_and_removed(address: ObjectAddress, bucket: str) -> None:
    s3 = address.boto()
    assert bucket in [row["Name"] for row in s3.list_buckets()["Buckets"]]
    s3.head_bucket(Bucket=bucket)
    keys = ["a.txt", "a/b c+ü&<>.txt", "a/d.txt", "b/c/d/e.bin", "%41.txt", "z"]
    for key in keys:
        put = s3.put_object(Bucket=bucket, Key=key, Body=key.encode(), ChecksumAlgorithm="CRC64NVME")
        assert s3.head_object(Bucket=bucket, Key=key)["ETag"] == put["ETag"]
        assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == key.encode()
    listed = [row["Key"] for row in s3.list_objects_v2(Bucket=bucket)["Contents"]]
    assert listed == sorted(keys, key=str.encode)
    assert [row["Key"] for row in s3.list_objects(Bucket=bucket)["Contents"]] == listed
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, PaginationConfig={"PageSize": 1})
    assert [row["Key"] for page in pages for row in page["Contents"]] == listed
    top = s3.list_objects_v2(Bucket=bucket, Delimiter="/")
    assert [row["Prefix"] for row in top["CommonPrefixes"]] == ["a/", "b/"]
    assert [row["Key"] for row in top["Contents"]] == ["%41.txt", "a.txt", "z"]
    within = s3.list_objects_v2(Bucket=bucket, Prefix="a/", Delimiter="/")
    assert [row["Key"] for row in within["Contents"]] == ["a/b c+ü&<>.txt", "a/d.txt"]
    part = s3.get_object(Bucket=bucket, Key="b/c/d/e.bin", Range="bytes=2-4")
    assert (part["Body"].read(), part["ContentRange"]) == (b"c/d", "bytes 2-4/11")
    s3.copy_object(Bucket=bucket, Key="copies/z", CopySource={"Bucket": bucket, "Key": "a/b c+ü&<>.txt"})
    assert s3.get_object(Bucket=bucket, Key="copies/z")["Body"].read() == "a/b c+ü&<>.txt".encode()
    gone = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": key} for key in [*keys, "none"]]})
    assert len(gone["Deleted"]) == len(keys) + 1
    # Folders stay, as they do for people; an empty one is a key.
    assert [row["Key"] for row in s3.list_objects_v2(Bucket=bucket)["Contents"]] == [
        "a/",
        "b/c/d/",
        "copies/z",
    ]
    s3.delete_object(Bucket=bucket, Key="a/")
    assert "a/" not in [row["Key"] for row in s3.list_objects_v2(Bucket=bucket)["Contents"]]
    with pytest.raises(ClientError) as caught:
        s3.get_object(Bucket=bucket, Key="z")
    assert code_of(caught) == "NoSuchKey"


def test_conditions_hold(address: ObjectAddress, bucket: str) -> None:
    s3 = address.boto()
    first = s3.put_object(Bucket=bucket, Key="x", Body=b"one", IfNoneMatch="*")["ETag"]
    with pytest.raises(ClientError) as caught:
        s3.put_object(Bucket=bucket, Key="x", Body=b"two", IfNoneMatch="*")
    assert code_of(caught) == "PreconditionFailed"
    second = s3.put_object(Bucket=bucket, Key="x", Body=b"two", IfMatch=first)["ETag"]
    assert second != first
    with pytest.raises(ClientError):
        s3.get_object(Bucket=bucket, Key="x", IfMatch=first)
    with pytest.raises(ClientError) as caught:
        s3.get_object(Bucket=bucket, Key="x", IfNoneMatch=second)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 304
    with pytest.raises(ClientError) as caught:
        s3.get_object(Bucket=bucket, Key="x", Range="bytes=9-")
    assert code_of(caught) == "InvalidRange"


def test_a_file_comes_in_parts_once_and_whole(address: ObjectAddress, bucket: str) -> None:
    s3, key = address.boto(), "big/file.bin"
    begun = s3.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"]
    told = {"Bucket": bucket, "Key": key, "UploadId": begun}
    bodies = [bytes([number]) * (5 * MIB + number) for number in range(3)]
    with ThreadPoolExecutor(3) as pool:
        sent = list(pool.map(lambda n: s3.upload_part(**told, PartNumber=n + 1, Body=bodies[n]), range(3)))
    # Sent again, the later one counts.
    bodies[1] = b"again" * MIB
    sent[1] = s3.upload_part(**told, PartNumber=2, Body=bodies[1])
    assert [row["Size"] for row in s3.list_parts(**told)["Parts"]] == [len(body) for body in bodies]
    parts = [{"PartNumber": n + 1, "ETag": row["ETag"]} for n, row in enumerate(sent)]
    for wrong in (parts[::-1], [{**parts[0], "ETag": '"0"'}], [*parts, {"PartNumber": 9, "ETag": '"1"'}]):
        with pytest.raises(ClientError) as caught:
            s3.complete_multipart_upload(**told, MultipartUpload={"Parts": wrong})
        assert code_of(caught) == "InvalidPart"
    assert "Contents" not in s3.list_objects_v2(Bucket=bucket)
    done = s3.complete_multipart_upload(**told, MultipartUpload={"Parts": parts})
    again = s3.complete_multipart_upload(**told, MultipartUpload={"Parts": parts})
    assert done["ETag"] == again["ETag"]
    assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == b"".join(bodies)
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)


def test_an_aborted_one_gives_its_room_back(address: ObjectAddress, bucket: str, journey: Journey) -> None:
    s3 = address.boto()
    begun = s3.create_multipart_upload(Bucket=bucket, Key="x")["UploadId"]
    told = {"Bucket": bucket, "Key": "x", "UploadId": begun}
    s3.upload_part(**told, PartNumber=1, Body=b"x" * 9 * MIB)
    alice = journey.person("alice")
    free = next(row for row in alice.volumes() if row["name"] == bucket)["free_bytes"]
    assert free == 55 * MIB
    s3.abort_multipart_upload(**told)
    assert next(row for row in alice.volumes() if row["name"] == bucket)["free_bytes"] == 64 * MIB
    with pytest.raises(ClientError) as caught:
        s3.upload_part(**told, PartNumber=2, Body=b"x")
    assert code_of(caught) == "NoSuchUpload"


def test_more_than_there_is_room_for_is_refused_and_keeps_nothing(
    address: ObjectAddress, bucket: str
) -> None:
    s3 = address.boto()
    with pytest.raises(ClientError) as caught:
        s3.put_object(Bucket=bucket, Key="x", Body=b"x" * 65 * MIB)
    assert code_of(caught) == "QuotaExceeded"
    assert "Contents" not in s3.list_objects_v2(Bucket=bucket)


REFUSED_KEYS = {
    "a/b/c": "InvalidArgument",
    "a": "ExistingObjectIsDirectory",
    "/x": "InvalidArgument",
    "a//b": "InvalidArgument",
    "a/\x01": "InvalidArgument",
}


def test_a_key_is_a_file_or_a_folder(address: ObjectAddress, bucket: str) -> None:
    s3 = address.boto()
    s3.put_object(Bucket=bucket, Key="a/b", Body=b"x")
    for key, code in REFUSED_KEYS.items():
        with pytest.raises(ClientError) as caught:
            s3.put_object(Bucket=bucket, Key=key, Body=b"y")
        assert code_of(caught) == code, key
        with pytest.raises(ClientError):
            s3.get_object(Bucket=bucket, Key=key)
    up = "a/../../x"
    with pytest.raises(ClientError) as caught:
        s3.copy_object(Bucket=bucket, Key="z", CopySource={"Bucket": bucket, "Key": up})
    assert code_of(caught) == "NoSuchKey"
    assert "Contents" not in s3.list_objects_v2(Bucket=bucket, Prefix="../")
    s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": up}]})
    assert [row["Key"] for row in s3.list_objects_v2(Bucket=bucket)["Contents"]] == ["a/b"]
    s3.put_object(Bucket=bucket, Key="empty/", Body=b"")
    s3.head_object(Bucket=bucket, Key="empty/")


def test_two_at_once_leave_one_of_the_two_whole(address: ObjectAddress, bucket: str) -> None:
    s3, bodies = address.boto(), [bytes([n]) * 6 * MIB for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda body: s3.put_object(Bucket=bucket, Key="x", Body=body), bodies))
    assert s3.get_object(Bucket=bucket, Key="x")["Body"].read() in bodies


def test_who_may_only_read_only_reads_and_others_see_nothing(
    address: ObjectAddress, bucket: str, journey: Journey, portal: str
) -> None:
    address.boto().put_object(Bucket=bucket, Key="x", Body=b"x")
    reader = keyed(journey, portal, "alice", is_read_only=True).boto()
    assert reader.get_object(Bucket=bucket, Key="x")["Body"].read() == b"x"
    for act in (reader.put_object, reader.delete_object, reader.create_multipart_upload):
        with pytest.raises(ClientError) as caught:
            act(Bucket=bucket, Key="x")
        assert code_of(caught) == "AccessDenied"
    stranger = keyed(journey, portal, "gina").boto()
    uid = next(row for row in journey.person("alice").volumes() if row["name"] == bucket)["uid"]
    for name in (bucket, uid):
        with pytest.raises(ClientError) as caught:
            stranger.get_object(Bucket=name, Key="x")
        assert code_of(caught) == "NoSuchBucket"
    for what in ({"ACL": "public-read"}, {"Tagging": "a=b"}, {"ServerSideEncryption": "AES256"}):
        with pytest.raises(ClientError) as caught:
            address.boto().put_object(Bucket=bucket, Key="y", Body=b"", **what)
        assert code_of(caught) == "NotImplemented"
    with pytest.raises(ClientError) as caught:
        address.boto().create_bucket(Bucket="another")
    assert code_of(caught) == "AccessDenied"


class Signer:
    """Requests signed by botocore and then changed."""

    def __init__(self, address: ObjectAddress) -> None:
        self._given = address
        self.http = httpx.Client(base_url=address.portal, timeout=30)

    def headers(self, method: str, path: str, body: bytes = b"", **more: str) -> dict[str, str]:
        request = AWSRequest(
            method, f"{self._given.address}{path}", {k.replace("_", "-"): v for k, v in more.items()}, body
        )
        credentials = Credentials(self._given.key_id, self._given.secret)
        S3SigV4Auth(credentials, "s3", "us-east-1").add_auth(request)
        return {**dict(request.headers.items()), "host": self._given.address.partition("://")[2]}

    def code(self, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> str:
        answer = self.http.request(method, path, headers=headers, content=body)
        text = answer.text
        return (
            text.partition("<Code>")[2].partition("</Code>")[0]
            if "<Code>" in text
            else str(answer.status_code)
        )


def test_what_is_not_as_it_was_signed_is_refused(
    address: ObjectAddress, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    signer, path = Signer(address), f"/{bucket}/x"
    good = signer.headers("PUT", path, b"body")
    assert signer.code("PUT", path, good, b"body") == "200"
    assert signer.code("PUT", path, good, b"BODY") == "XAmzContentSHA256Mismatch"
    assert signer.code("DELETE", path, good) == "SignatureDoesNotMatch"
    assert signer.code("PUT", f"{path}y", good, b"body") == "SignatureDoesNotMatch"
    assert signer.code("PUT", path, {**good, "x-amz-acl": "private"}, b"body") == "AccessDenied"
    assert signer.code("GET", path, {"host": good["host"]}) == "AccessDenied"
    assert signer.code("GET", path, {"host": f"{bucket}.{good['host']}"}) == "InvalidRequest"
    other = Signer(ObjectAddress(address.address, address.portal, address.key_id, "wrong"))
    assert other.code("GET", path, other.headers("GET", path)) == "SignatureDoesNotMatch"
    unknown = Signer(ObjectAddress(address.address, address.portal, "acme_NONE", address.secret))
    assert unknown.code("GET", path, unknown.headers("GET", path)) == "InvalidAccessKeyId"
    for away in (timedelta(minutes=-16), timedelta(minutes=16)):
        monkeypatch.setattr("botocore.auth.get_current_datetime", lambda away=away: datetime.now(UTC) + away)
        assert signer.code("GET", path, signer.headers("GET", path)) == "RequestTimeTooSkewed"
    monkeypatch.undo()
    assert signer.code("GET", path, signer.headers("GET", path)) == "200"


def test_an_address_that_is_signed_opens_what_it_says_for_its_time(
    address: ObjectAddress, bucket: str
) -> None:
    s3, host = address.boto(signature_version="s3v4"), address.address.partition("://")[2]
    told = {"Bucket": bucket, "Key": "a b/ü+.txt"}
    with httpx.Client(base_url=address.portal, headers={"host": host}) as http:

        def ask(method: str, url: str, **more: Any) -> httpx.Response:
            return http.request(method, url.removeprefix(address.address), **more)

        assert ask("PUT", s3.generate_presigned_url("put_object", told), content=b"hello").status_code == 200
        url = s3.generate_presigned_url("get_object", told, ExpiresIn=2)
        assert ask("GET", url).text == "hello"
        assert ask("DELETE", url).status_code == 403
        assert ask("GET", url.replace("X-Amz-Expires=2", "X-Amz-Expires=9999")).status_code == 403
        time.sleep(3)
        assert "expired" in ask("GET", url, headers={"accept-language": "en"}).text
        assert not http.cookies


def test_half_a_body_leaves_nothing(address: ObjectAddress, bucket: str, journey: Journey) -> None:
    """Its room is free again, and no file stands there."""
    signer, path = Signer(address), f"/{bucket}/half"
    headers = signer.headers("PUT", path, b"", x_amz_content_sha256="UNSIGNED-PAYLOAD")
    headers["content-length"] = str(20 * MIB)
    cut = threading.Event()

    def body() -> Iterator[bytes]:
        for _ in range(9):
            yield b"x" * MIB
        cut.wait(1)
        raise ConnectionError("cut")

    with pytest.raises(ConnectionError):
        signer.http.put(path, headers=headers, content=body())
    signer.http.close()
    alice = journey.person("alice")
    journey.wait(
        "its room", lambda: next(r for r in alice.volumes() if r["name"] == bucket)["free_bytes"] == 64 * MIB
    )
    assert "Contents" not in address.boto().list_objects_v2(Bucket=bucket)


def test_rclone_mirrors_a_folder_both_ways(
    address: ObjectAddress, bucket: str, journey: Journey, tmp_path: Path
) -> None:
    here, back = tmp_path / "here", tmp_path / "back"
    (here / "deep" / "er").mkdir(parents=True)
    (here / "deep" / "er" / "x y.txt").write_text("hello")
    (here / "big.bin").write_bytes(b"0123456789" * MIB)
    there = f"weir:{bucket}/mirror"
    address.rclone(tmp_path, "sync", "--s3-upload-cutoff=5Mi", "--s3-chunk-size=5Mi", str(here), there)
    # Times are kept, so that nothing is sent again.
    assert address.rclone(tmp_path, "sync", "--dry-run", "--stats-one-line", str(here), there) == ""
    address.rclone(tmp_path, "check", "--download", str(here), there)
    address.rclone(tmp_path, "sync", there, str(back))
    assert (back / "big.bin").read_bytes() == (here / "big.bin").read_bytes()
    alice = journey.person("alice")
    uid = next(row for row in alice.volumes() if row["name"] == bucket)["uid"]
    assert b"".join(alice.file_read(uid, "mirror/deep/er/x y.txt")) == b"hello"
    address.rclone(tmp_path, "delete", there)
    assert address.rclone(tmp_path, "ls", there) == ""
