"""What every storage driver does alike: a folder, a mounted path, a bucket of a real S3 server."""

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID, uuid4

import pytest

from apps.storage.drivers.base import Driver
from apps.storage.drivers.directory import Directory
from apps.storage.drivers.mounted import Mounted, mount_check
from apps.storage.drivers.s3 import S3
from apps.storage.drivers.s3_assembly import Limits
from apps.storage.drivers.s3_client import Bucket, S3Client, address_check
from apps.storage.errors import (
    AddressRefused,
    AlreadyThere,
    NoSuchFile,
    PathRefused,
    StorageAway,
    StorageFull,
)
from apps.storage.types import Kind
from node_agent.protocol.storage import STORAGE_MARK as MARK
from node_agent.protocol.storage import VOLUME_SIZE
from tests.apps.storage.buckets import KEY, bucket_served

pytestmark = pytest.mark.req("PLAT-ASSET-6")
KEPT = f"acme/{UUID(int=7)}"
MIB = 2**20


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    with bucket_served(tmp_path_factory.mktemp("s3")) as served:
        yield served


@pytest.fixture(params=["directory", "mounted", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path, settings) -> Driver:
    """Each driver, with one empty volume."""
    settings.WEIR_FOLDERS_DIR = tmp_path / "folders"
    settings.WEIR_STORAGE_LOCAL_S3 = True
    made: Driver
    if request.param == "s3":
        served = request.getfixturevalue("bucket")
        made = S3(Bucket(served.endpoint, served.name, served.access_key, served.secret, f"{uuid4().hex}/"))
    elif request.param == "mounted":
        made = Mounted(tmp_path, Directory(tmp_path).mark())
    else:
        made = Directory(tmp_path)
    made.volume_make(KEPT)
    return made


def put(
    store: Driver, path: str, data: bytes, *, replaces: bool = False, modified_ns: int | None = None
) -> int:
    upload = uuid4()
    store.upload_make(KEPT, upload)
    store.upload_write(KEPT, upload, 0, data)
    return store.upload_place(
        KEPT, upload, tuple(path.split("/")), replaces=replaces, modified_ns=modified_ns
    )


def read(store: Driver, path: str) -> bytes:
    file = store.file_open(KEPT, tuple(path.split("/")))
    try:
        data = os.pread(file.fd, file.size_bytes + 1, 0)
        assert len(data) == file.size_bytes
        return data
    finally:
        os.close(file.fd)


def names(store: Driver, *folder: str) -> dict[str, Kind]:
    return {one.name: one.kind for one in store.entries(KEPT, folder)}


def test_a_file_takes_its_place_whole_and_is_read(store: Driver) -> None:
    at = int(datetime(2020, 2, 2, tzinfo=UTC).timestamp() * 1e9)
    assert put(store, "data/in/x.txt", b"hello", modified_ns=at) == 5
    assert read(store, "data/in/x.txt") == b"hello"
    entry = store.entry(KEPT, ("data", "in", "x.txt"))
    assert entry is not None
    assert (entry.kind, entry.size_bytes, entry.modified_at.year) == (Kind.FILE, 5, 2020)
    assert (names(store), names(store, "data")) == ({"data": Kind.FOLDER}, {"in": Kind.FOLDER})
    assert names(store, "data", "in") == {"x.txt": Kind.FILE}
    assert store.used_bytes(KEPT) == 5


def test_what_stands_there_is_replaced_only_where_that_was_said(store: Driver) -> None:
    put(store, "x", b"old one")
    with pytest.raises(AlreadyThere):
        put(store, "x", b"new")
    assert read(store, "x") == b"old one"
    assert put(store, "x", b"new", replaces=True) == -4
    store.folder_make(KEPT, ("folder",))
    with pytest.raises(AlreadyThere):
        put(store, "folder", b"x", replaces=True)


def test_an_upload_goes_on_where_it_was_acknowledged(store: Driver) -> None:
    upload, first = uuid4(), os.urandom(Limits().part_least + 1)
    store.upload_make(KEPT, upload)
    store.upload_write(KEPT, upload, 0, first)
    # Written and never acknowledged: its sender comes again with something else.
    store.upload_write(KEPT, upload, len(first), b"broken off halfway")
    store.upload_write(KEPT, upload, len(first), b"the ")
    store.upload_write(KEPT, upload, len(first) + 4, b"end")
    store.upload_place(KEPT, upload, ("big.bin",), replaces=False)
    assert read(store, "big.bin") == first + b"the end"
    assert store.upload_place(KEPT, upload, ("big.bin",), replaces=True) == 0, "done twice it is done once"
    assert store.used_bytes(KEPT) == len(first) + 7


def test_pieces_of_any_size_make_a_file(store: Driver) -> None:
    upload, whole = uuid4(), os.urandom(3 * MIB + 17)
    store.upload_make(KEPT, upload)
    for offset in range(0, len(whole), MIB):
        store.upload_write(KEPT, upload, offset, whole[offset : offset + MIB])
    store.upload_place(KEPT, upload, ("a", "b"), replaces=False)
    assert read(store, "a/b") == whole


def test_parts_are_joined_in_their_order(store: Driver) -> None:
    whole, parts, sent = uuid4(), [uuid4(), uuid4()], [b"1" * 100, b"2" * 50]
    store.upload_make(KEPT, whole)
    for part, data in zip(parts, sent, strict=True):
        store.upload_make(KEPT, part)
        store.upload_write(KEPT, part, 0, data)
    told = [(part, len(data)) for part, data in zip(parts, sent, strict=True)]
    for _time in range(2):
        store.upload_join(KEPT, whole, told)
    store.upload_place(KEPT, whole, ("joined",), replaces=False)
    assert read(store, "joined") == b"".join(sent)


def test_several_small_files_at_once(store: Driver) -> None:
    uploads = [(uuid4(), f"file {n}".encode()) for n in range(5)]
    store.uploads_write(KEPT, uploads)
    for n, (uid, _data) in enumerate(uploads):
        store.upload_place(KEPT, uid, ("many", f"{n}"), replaces=True, is_synced=False)
    store.sync(KEPT)
    assert [read(store, f"many/{n}") for n in range(5)] == [data for _uid, data in uploads]


def test_an_empty_file_is_a_file(store: Driver) -> None:
    upload = uuid4()
    store.upload_make(KEPT, upload)
    assert store.upload_place(KEPT, upload, ("empty",), replaces=False) == 0
    assert read(store, "empty") == b""


def test_folders_are_made_kept_and_removed_where_they_are_empty(store: Driver) -> None:
    store.folder_make(KEPT, ("a", "b"))
    with pytest.raises(AlreadyThere):
        store.folder_make(KEPT, ("a", "b"))
    put(store, "a/b/x", b"1")
    assert not store.folder_remove(KEPT, ("a", "b"))
    store.remove(KEPT, ("a", "b", "x"))
    assert names(store, "a", "b") == {}, "a folder stays when its last file goes"
    assert store.folder_remove(KEPT, ("a", "b"))
    assert names(store, "a") == {}
    with pytest.raises(NoSuchFile):
        list(store.entries(KEPT, ("a", "b")))


def test_what_is_moved_is_there_and_nowhere_else(store: Driver) -> None:
    put(store, "a/x", b"1")
    put(store, "a/deep/y", b"22")
    store.folder_make(KEPT, ("to",))
    store.move(KEPT, ("a", "x"), ("to", "z"))
    assert read(store, "to/z") == b"1"
    store.move(KEPT, ("a",), ("moved",))
    assert (read(store, "moved/deep/y"), store.entry(KEPT, ("a",))) == (b"22", None)
    put(store, "other", b"3")
    with pytest.raises(AlreadyThere):
        store.move(KEPT, ("other",), ("to", "z"))
    with pytest.raises(PathRefused):
        store.move(KEPT, ("moved",), ("moved", "deep", "in"))
    with pytest.raises(NoSuchFile):
        store.move(KEPT, ("nothing",), ("x",))
    assert read(store, "other") == b"3"


def test_what_is_removed_is_gone(store: Driver) -> None:
    for n in range(3):
        put(store, f"f/{n}/x", b"1")
    store.remove(KEPT, ("f",))
    store.tidy(KEPT)
    assert (store.entry(KEPT, ("f",)), store.used_bytes(KEPT)) == (None, 0)
    with pytest.raises(NoSuchFile):
        store.remove(KEPT, ("f",))


def test_no_file_is_a_folder(store: Driver) -> None:
    put(store, "x", b"1")
    with pytest.raises(PathRefused):
        store.folder_make(KEPT, ("x", "y"))
    with pytest.raises((PathRefused, AlreadyThere)):
        store.file_open(KEPT, ("x", "y")) if store.entry(KEPT, ("x", "y")) else store.folder_make(
            KEPT, ("x", "z")
        )


def test_a_file_is_given_the_time_that_its_sender_says(store: Driver) -> None:
    put(store, "x", b"1")
    at = datetime(2021, 5, 5, 1, 2, 3, tzinfo=UTC)
    store.date(KEPT, ("x",), at)
    entry = store.entry(KEPT, ("x",))
    assert entry is not None
    assert abs(entry.modified_at - at) < timedelta(milliseconds=1)
    with pytest.raises(NoSuchFile):
        store.date(KEPT, ("nothing",), at)


def test_a_volume_that_is_removed_leaves_nothing(store: Driver) -> None:
    put(store, "x", b"1")
    other = f"acme/{uuid4()}"
    store.volume_make(other)
    store.volume_remove(KEPT)
    store.volume_remove(KEPT)
    store.volume_make(KEPT)
    assert names(store) == {}
    assert store.volumes_idle("acme") == [], "what was just made is nobody's to clear away"


def test_an_upload_that_is_forgotten_leaves_nothing(store: Driver) -> None:
    upload = uuid4()
    store.upload_make(KEPT, upload)
    store.upload_write(KEPT, upload, 0, b"1")
    assert store.uploads_idle(KEPT) == []
    store.upload_remove(KEPT, upload)
    store.upload_remove(KEPT, upload)
    assert store.upload_place(KEPT, upload, ("x",), replaces=True) == 0
    assert store.entry(KEPT, ("x",)) is None


def test_nodes_are_told_how_large_a_volume_is_beside_its_files(store: Driver, tmp_path: Path) -> None:
    for size_mib in (10, 10, 2**40):
        store.size_tell(KEPT, size_mib)
        if isinstance(store, S3):
            assert store._s3.small(f"{KEPT}/{VOLUME_SIZE}") == f"{size_mib}\n".encode()
        else:
            assert (tmp_path / KEPT / VOLUME_SIZE).read_text() == f"{size_mib}\n"
    assert (names(store), store.used_bytes(KEPT)) == ({}, 0)


def test_its_mark_is_the_same_for_everybody(store: Driver) -> None:
    assert store.mark() == store.mark() != ""


# --- a mounted path ----------------------------------------------------------------------------------------------


@pytest.fixture
def mounted(tmp_path: Path) -> Mounted:
    made = Mounted(tmp_path, Directory(tmp_path).mark())
    made.volume_make(KEPT)
    return made


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda root: (root / MARK).unlink(), "not mounted"),
        (lambda root: (root / MARK).write_text("0" * 32), "Something else"),
    ],
)
def test_where_the_mount_is_gone_or_another_nothing_is_written(
    mounted: Mounted, tmp_path: Path, spoil: Callable[[Path], object], told: str
) -> None:
    put(mounted, "x", b"1")
    spoil(tmp_path)
    mounted._seen_s = float("-inf")
    held = sorted(tmp_path.rglob("*"))
    for act in (
        lambda: put(mounted, "y", b"2"),
        lambda: mounted.volume_make(f"acme/{uuid4()}"),
        lambda: list(mounted.entries(KEPT, ())),
        lambda: mounted.used_bytes(KEPT),
        lambda: mounted.volume_remove(KEPT),
        mounted.free_bytes,
    ):
        with pytest.raises(StorageAway) as caught:
            act()
        assert told in str(caught.value.cure)
    assert sorted(tmp_path.rglob("*")) == held


def test_a_folder_of_the_local_disk_is_no_mount(tmp_path: Path) -> None:
    (tmp_path / "nfs").mkdir()
    with pytest.raises(StorageAway) as caught:
        mount_check(tmp_path / "nfs")
    assert "Nothing is mounted" in str(caught.value.cure)
    with pytest.raises(StorageAway):
        mount_check(tmp_path / "gone")
    mount_check(Path("/proc"))


@pytest.mark.parametrize(
    ("fault", "told"), [("ESTALE", "stale"), ("EACCES", "no_root_squash"), ("EIO", "Input/output error")]
)
def test_what_the_server_of_a_mount_answers_is_told_with_its_cure(
    mounted: Mounted, monkeypatch: pytest.MonkeyPatch, fault: str, told: str
) -> None:
    number = getattr(errno, fault)

    def refused(_self: Path) -> str:
        raise OSError(number, os.strerror(number))

    mounted._seen_s = float("-inf")
    monkeypatch.setattr(Path, "read_text", refused)
    with pytest.raises(StorageAway) as caught:
        mounted.entry(KEPT, ("x",))
    assert told in str(caught.value.cure)


# --- an S3 server ------------------------------------------------------------------------------------------------


@pytest.fixture
def local(settings, tmp_path: Path) -> None:
    settings.WEIR_STORAGE_LOCAL_S3 = True
    settings.WEIR_FOLDERS_DIR = tmp_path / "folders"


@pytest.mark.usefixtures("local")
def test_a_key_that_is_withdrawn_midway_is_told_and_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    upload = uuid4()
    with bucket_served(tmp_path / "s3") as served:
        store = S3(served)
        store.volume_make(KEPT)
        put(store, "x", b"kept")
        store.upload_make(KEPT, upload)
        store.upload_write(KEPT, upload, 0, b"first ")
    with bucket_served(tmp_path / "s3", key="AKIDRENEWED") as renewed:
        store = S3(Bucket(renewed.endpoint, renewed.name, KEY, renewed.secret, renewed.prefix))
        for act in (
            lambda: store.upload_write(KEPT, upload, 6, b"second"),
            lambda: store.upload_place(KEPT, upload, ("x",), replaces=True),
            lambda: store.file_open(KEPT, ("x",)),
        ):
            with pytest.raises(StorageAway) as caught:
                act()
            assert "refuses the centre's key" in str(caught.value.cure)
        store = S3(Bucket(renewed.endpoint, renewed.name, "AKIDRENEWED", renewed.secret, renewed.prefix))
        assert read(store, "x") == b"kept"
        store.upload_write(KEPT, upload, 6, b"second")
        store.upload_place(KEPT, upload, ("x",), replaces=True)
        assert read(store, "x") == b"first second"


@pytest.mark.usefixtures("local")
def test_a_server_that_is_away_is_told(tmp_path: Path) -> None:
    with bucket_served(tmp_path / "s3") as served:
        pass
    store, began = S3(served), time.monotonic()
    for _time in range(20):
        with pytest.raises(StorageAway):
            store.volume_make(KEPT)
    assert time.monotonic() - began < 20, "it is left alone for a while"


@pytest.mark.usefixtures("local")
def test_no_file_is_called_what_folders_are_marked_by(bucket: Bucket) -> None:
    store = S3(bucket)
    store.volume_make(KEPT)
    for path in (".weir-folder", "a/.weir-folder", ".weir-folder/x"):
        with pytest.raises(PathRefused):
            put(store, path, b"1")


@pytest.mark.usefixtures("local")
@pytest.mark.parametrize(
    ("said", "sent", "closes"), [(10, b"12345", True), (5, b"1234567890", False), (2**40, b"12345", True)]
)
def test_a_server_that_lies_about_a_size_or_breaks_off_gives_no_file(
    tmp_path: Path, said: int, sent: bytes, closes: bool
) -> None:
    with liar(said, sent, closes=closes) as endpoint:
        store = S3(Bucket(endpoint, "weir", KEY, "secret"))
        with pytest.raises((StorageAway, StorageFull)):
            store.file_open(KEPT, ("x",))
    assert list((tmp_path / "folders").iterdir()) == [], "nothing of it is left"


@contextmanager
def liar(said: int, sent: bytes, *, closes: bool) -> Iterator[str]:
    """A server that tells of an object of one size, and sends another."""

    class Answer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._begin(said)

        def do_GET(self) -> None:
            self._begin(said if closes else len(sent))
            self.wfile.write(sent)
            self.close_connection = True

        def _begin(self, size: int) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(size))
            self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
            self.send_header("ETag", '"1"')
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.usefixtures("local")
def test_a_list_that_goes_in_circles_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    page = {"IsTruncated": True, "NextContinuationToken": "again", "Contents": []}
    client = S3Client(Bucket("http://127.0.0.1:1", "weir", KEY, "secret"))
    client._client = SimpleNamespace(list_objects_v2=lambda **_asked: page)
    with pytest.raises(StorageAway):
        list(client.list(""))


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:9000",
        "http://localhost:9000",
        "http://[::1]:9000",
        "http://169.254.169.254",
        "http://[::ffff:169.254.169.254]",
        "http://0.0.0.0",
        "http://2130706433",
        "ftp://s3.example.org",
        "http://name:word@10.0.0.1",
        "file:///etc/passwd",
        "",
    ],
)
def test_an_address_of_this_machine_or_its_clouds_secrets_is_refused(settings, address: str) -> None:
    settings.WEIR_STORAGE_LOCAL_S3 = False
    with pytest.raises(AddressRefused):
        address_check(address)


def test_an_address_of_the_centres_network_is_taken(settings) -> None:
    settings.WEIR_STORAGE_LOCAL_S3 = False
    address_check("http://10.1.2.3:9000")
