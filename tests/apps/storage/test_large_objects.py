"""Files larger than an S3 server copies at once, with limits so small that it takes no time: against a real server."""

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from apps.storage.drivers import s3_assembly
from apps.storage.drivers.s3 import S3
from apps.storage.drivers.s3_assembly import Limits
from apps.storage.drivers.s3_client import Bucket, Parts
from apps.storage.errors import StorageAway
from tests.apps.storage.buckets import bucket_served

pytestmark = pytest.mark.req("PLAT-ASSET-6")
KEPT = f"acme/{UUID(int=7)}"
KIB = 1024
SMALL = Limits(
    copy_most=256 * KIB,
    part_least=16 * KIB,
    parts_most=40,
    copied=128 * KIB,
    sent=64 * KIB,
    noted=200 * KIB,
)


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    with bucket_served(tmp_path_factory.mktemp("s3")) as served:
        yield served


@pytest.fixture
def made(bucket: Bucket, settings, tmp_path: Path) -> Callable[[], S3]:
    """A driver of one volume, as each process of the portal has its own."""
    settings.WEIR_FOLDERS_DIR = tmp_path / "folders"
    settings.WEIR_STORAGE_LOCAL_S3 = True
    prefix = f"{uuid4().hex}/"

    def one() -> S3:
        store = S3(Bucket(bucket.endpoint, bucket.name, bucket.access_key, bucket.secret, prefix), SMALL)
        # What this server answers to a copy of a part is known; each test would find out anew.
        store._s3.copies_parts = False
        return store

    one().volume_make(KEPT)
    return one


def counted(store: S3) -> list[int]:
    """The parts that the server was sent, and those that it was to copy, as they come."""
    numbers: list[int] = []
    for call in ("UploadPart", "UploadPartCopy"):
        store._s3.client.meta.events.register(
            f"provide-client-params.s3.{call}", lambda params, **_more: numbers.append(params["PartNumber"])
        )
    return numbers


def put(store: S3, path: str, data: bytes, piece: int) -> None:
    upload = uuid4()
    store.upload_make(KEPT, upload)
    for begin in range(0, len(data), piece):
        store.upload_write(KEPT, upload, begin, data[begin : begin + piece])
    store.upload_place(KEPT, upload, tuple(path.split("/")), replaces=False)


def read(store: S3, path: str) -> bytes:
    file = store.file_open(KEPT, tuple(path.split("/")))
    try:
        return os.pread(file.fd, file.size_bytes + 1, 0)
    finally:
        os.close(file.fd)


def left(store: S3) -> list[str]:
    """What the server still keeps of files that were not finished, and our notes of them."""
    uploads = store._s3.client.list_multipart_uploads(Bucket=store._s3._bucket.name).get("Uploads") or []
    ours = [one["Key"] for one in uploads if one["Key"].startswith(store._s3._bucket.prefix)]
    return ours + [one.key for one in store._objects(f"{KEPT}/parts/")]


def test_a_file_beyond_one_copy_is_moved_and_dated_in_parts(made) -> None:
    store, data = made(), os.urandom(1000 * KIB + 7)
    put(store, "model", data, 100 * KIB)
    parts = counted(store)
    store.move(KEPT, ("model",), ("kept",))
    assert parts == list(range(1, 17))
    assert store.entry(KEPT, ("model",)) is None
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    store.date(KEPT, ("kept",), at)
    assert len(parts) == 32
    found = store.entry(KEPT, ("kept",))
    assert found is not None
    assert (found.size_bytes, found.modified_at) == (len(data), at)
    assert read(store, "kept") == data
    store.folder_make(KEPT, ("models",))
    store.move(KEPT, ("kept",), ("models", "kept"))
    store.move(KEPT, ("models",), ("other",))
    found = store.entry(KEPT, ("other", "kept"))
    assert found is not None
    assert found.modified_at == at, "it keeps its time"
    assert (read(store, "other/kept"), left(store)) == (data, [])


def test_a_file_up_to_one_copy_goes_in_one(made) -> None:
    store, data = made(), os.urandom(SMALL.copy_most)
    put(store, "model", data, SMALL.copy_most)
    parts = counted(store)
    store.move(KEPT, ("model",), ("kept",))
    assert (parts, read(store, "kept")) == ([], data)


def test_more_pieces_than_parts_are_sent_as_fewer(made) -> None:
    """An upload of 80 GiB has as many pieces as a server takes parts."""
    store, data = made(), os.urandom(101 * 2 * KIB)
    parts = counted(store)
    put(store, "model", data, 2 * KIB)
    assert (len(parts), read(store, "model")) == (4, data)
    assert len(s3_assembly._sent(list(store._objects(f"{KEPT}/files/")), 2**40, SMALL)) <= SMALL.parts_most


def broken_at(store: S3, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """From here on the server is away when so many parts have come."""
    send = Parts.send

    def broken(self: Parts, at: int, data) -> None:
        if at == number:
            raise StorageAway()
        send(self, at, data)

    monkeypatch.setattr(Parts, "send", broken)


def test_a_move_that_was_broken_off_goes_on_at_the_part_where_it_was(made, monkeypatch) -> None:
    store, data = made(), os.urandom(640 * KIB)
    put(store, "model", data, 160 * KIB)
    with monkeypatch.context() as broken:
        broken_at(store, broken, 8)
        with pytest.raises(StorageAway):
            store.move(KEPT, ("model",), ("kept",))
    assert read(store, "model") == data, "it is where it was until it is whole elsewhere"
    assert store.entry(KEPT, ("kept",)) is None
    other = made()
    parts = counted(other)
    other.move(KEPT, ("model",), ("kept",))
    assert parts == [8, 9, 10]
    assert (read(other, "kept"), left(other)) == (data, [])


def test_what_was_changed_meanwhile_is_made_anew(made, monkeypatch) -> None:
    store, data = made(), os.urandom(640 * KIB)
    put(store, "model", os.urandom(640 * KIB), 160 * KIB)
    with monkeypatch.context() as broken:
        broken_at(store, broken, 8)
        with pytest.raises(StorageAway):
            store.move(KEPT, ("model",), ("kept",))
    store.remove(KEPT, ("model",))
    put(store, "model", data, 160 * KIB)
    parts = counted(store)
    store.move(KEPT, ("model",), ("kept",))
    assert parts == list(range(1, 11))
    assert (read(store, "kept"), left(store)) == (data, [])


def test_an_upload_that_was_broken_off_while_it_took_its_place_goes_on(made, monkeypatch) -> None:
    store, data, upload = made(), os.urandom(640 * KIB), uuid4()
    for begin in range(0, len(data), 64 * KIB):
        store.upload_write(KEPT, upload, begin, data[begin : begin + 64 * KIB])
    with monkeypatch.context() as broken:
        broken_at(store, broken, 5)
        with pytest.raises(StorageAway):
            store.upload_place(KEPT, upload, ("model",), replaces=False, modified_ns=5)
    other = made()
    parts = counted(other)
    assert other.upload_place(KEPT, upload, ("model",), replaces=False, modified_ns=5) == len(data)
    assert parts == [5, 6, 7, 8, 9, 10]
    assert (read(other, "model"), left(other)) == (data, [])


@pytest.mark.parametrize("way", ["tidy", "volume_remove"])
def test_what_nobody_goes_on_with_is_forgotten(made, monkeypatch, way) -> None:
    store = made()
    put(store, "model", os.urandom(640 * KIB), 160 * KIB)
    with monkeypatch.context() as broken:
        broken_at(store, broken, 8)
        with pytest.raises(StorageAway):
            store.move(KEPT, ("model",), ("kept",))
    store.tidy(KEPT)
    assert len(left(store)) == 2, "somebody may still go on with it"
    monkeypatch.setattr("apps.storage.drivers.s3._FORGOTTEN", timedelta(days=-1))
    getattr(store, way)(KEPT)
    assert left(store) == []


def test_a_server_that_copies_no_parts_is_found_out_and_sent_them(made) -> None:
    store, data = made(), os.urandom(640 * KIB)
    put(store, "model", data, 160 * KIB)
    store._s3.copies_parts = True
    store.move(KEPT, ("model",), ("kept",))
    assert (store._s3.copies_parts, read(store, "kept"), left(store)) == (False, data, [])
