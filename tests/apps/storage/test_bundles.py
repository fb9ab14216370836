"""Many small files by one request: whole or not at all, each by itself, within the volume, its room and its rights."""

import base64
import hashlib
import json
import os
import struct
from collections.abc import Iterator

import pytest
from weir.api import Client

from apps.kernel.planes import in_tenant
from apps.storage.models import Volume
from apps.storage.services import bundles
from tests.apps.storage.way import Line, client_of, down, up
from weir_wire.bundle import FILES_MOST, MEDIA_TYPE, BundleFile, bundle_pack, bundle_unpack

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-ASSET-7")]


@pytest.fixture
def volume(made):
    return made(size_mib=8)


@pytest.fixture
def line() -> Line:
    return Line()


@pytest.fixture
def client(ann, line, monkeypatch) -> Iterator[Client]:
    # A thread of its own would not see the transaction of the test.
    monkeypatch.setattr("weir.files.trees.WORKERS", 1)
    monkeypatch.setattr("weir.api.time.sleep", lambda _s: None)
    with client_of(ann, line) as made:
        yield made


def one(path, data=b"x", modified_ns=1_700_000_000_123_456_789):
    return BundleFile(path, data, modified_ns)


def sent(person, volume, *files, body=None, checksum=""):
    body = bundle_pack(files) if body is None else body
    headers = {"Upload-Checksum": checksum} if checksum else {}
    return person.api().post(
        f"/api/v1/volumes/{volume.uid}/bundle", body, content_type=MEDIA_TYPE, headers=headers
    )


def used(volume):
    with in_tenant("acme"):
        return Volume.objects.get(pk=volume.pk).used_bytes


def nothing_waits(volume, files):
    return not list((files(volume).parent / "uploads").iterdir())


def test_files_come_to_stand_in_their_places_with_their_times(ann, volume, files):
    answer = sent(ann, volume, one("a", b"1"), one("deep/er/b", b"22"), one("empty", b""))
    assert answer.json() == {"taken": 3, "refused": []}
    top = files(volume)
    assert (top / "deep/er/b").read_bytes() == b"22"
    assert (top / "empty").read_bytes() == b""
    assert (top / "a").stat().st_mtime_ns == 1_700_000_000_123_456_789
    assert used(volume) == 3
    # Taken again, as after an answer that was lost, it changes nothing; another content takes the place.
    assert sent(ann, volume, one("a", b"1")).json()["taken"] == 1
    assert used(volume) == 3
    sent(ann, volume, one("a", b"four"))
    assert ((top / "a").read_bytes(), used(volume)) == (b"four", 6)
    assert nothing_waits(volume, files)


def test_what_leads_astray_is_refused_by_itself(ann, volume, files, tmp_path):
    top = files(volume)
    (top / "folder").mkdir()
    (tmp_path / "outside").mkdir()
    (top / "link").symlink_to(tmp_path / "outside")
    (top / "file").write_bytes(b"f")
    wrong = ["../up", "/abs", "a/../b", "link/x", "folder", "file/below", "", "a\x00b", "x/" * 70 + "y"]
    answer = sent(ann, volume, *(one(path) for path in wrong), one("fine")).json()
    assert answer["taken"] == 1
    assert {row["path"] for row in answer["refused"]} == set(wrong)
    assert all(row["message"] for row in answer["refused"])
    assert not list((tmp_path / "outside").iterdir())
    assert sorted(path.name for path in top.iterdir()) == ["file", "fine", "folder", "link"]
    assert nothing_waits(volume, files)


def test_what_has_no_room_is_refused_and_the_others_stay(ann, volume, files):
    with in_tenant("acme"):
        Volume.objects.filter(pk=volume.pk).update(used_bytes=8 * 2**20 - 10)
    answer = sent(ann, volume, one("a", b"x" * 6), one("b", b"x" * 6), one("c", b"x" * 4)).json()
    assert (answer["taken"], [row["code"] for row in answer["refused"]]) == (2, ["volume_full"])
    assert sorted(path.name for path in files(volume).iterdir()) == ["a", "c"]
    assert used(volume) == 8 * 2**20
    assert nothing_waits(volume, files)


def framed(told, data=b""):
    listed = told if isinstance(told, bytes) else json.dumps(told).encode()
    return struct.pack(">I", len(listed)) + listed + data


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x00",
        struct.pack(">I", 2**32 - 1) + b"[]",
        framed(b"no json"),
        framed(b"[" * 60_000),
        framed({}),
        framed([["a", 1]]),
        framed([["a", 2, 0]], b"x"),
        framed([["a", 1, 0]], b"xy"),
        framed([["a", -1, 0]]),
        framed([["a", True, 0]], b"x"),
        framed([["a", 2**21, 0]], bytes(2**21)),
        framed([["a", 1, -1]], b"x"),
        framed([["a", 1, 2**63]], b"x"),
        framed([[None, 1, 0]], b"x"),
        framed([["a", 1, 0], ["a", 1, 0]], b"xy"),
        framed([[str(number), 0, 0] for number in range(FILES_MOST + 1)]),
    ],
)
def test_what_is_no_bundle_is_refused_whole(ann, volume, files, body):
    answer = sent(ann, volume, body=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]
    assert not list(files(volume).iterdir())


def test_a_damaged_bundle_is_refused_and_one_with_its_checksum_taken(ann, volume, files):
    body = bundle_pack([one("a", b"whole")])
    told = f"sha256 {base64.b64encode(hashlib.sha256(body).digest()).decode()}"
    assert (
        sent(ann, volume, body=body[:-1] + b"X", checksum=told).json()["error"]["code"] == "checksum_mismatch"
    )
    assert not list(files(volume).iterdir())
    assert sent(ann, volume, body=body, checksum=told).status_code == 200


def test_others_and_who_only_reads_put_and_see_nothing(ann, member, stranger, volume, files):
    for person in (member("acme", "tenant_front_line", "bob"), stranger):
        assert sent(person, volume, one("a")).status_code == 404
        asked = person.api().post(
            f"/api/v1/volumes/{volume.uid}/bundle/read", {"paths": ["a"]}, format="json"
        )
        assert asked.status_code == 404
    assert not list(files(volume).iterdir())


def test_where_the_disk_is_full_nothing_was_taken(ann, volume, files, monkeypatch):
    monkeypatch.setattr("apps.storage.drivers.directory.Directory.free_bytes", lambda _self: 1)
    answer = sent(ann, volume, one("a", b"1"), one("b", b"2"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (507, "storage_full")
    assert not list(files(volume).iterdir())
    assert nothing_waits(volume, files)


def test_what_dies_midway_leaves_nothing_behind(ann, volume, files, monkeypatch):
    def dying(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(bundles, "_place", dying)
    with pytest.raises(KeyboardInterrupt):
        sent(ann, volume, one("a"))
    assert nothing_waits(volume, files)
    assert not list(files(volume).iterdir())


def test_small_files_are_read_together_and_others_left_out(ann, volume, files, tmp_path):
    top = files(volume)
    (top / "a").write_bytes(b"aa")
    os.utime(top / "a", ns=(1, 1_700_000_000_000_000_001))
    (top / "empty").write_bytes(b"")
    (top / "large").write_bytes(bytes(2**20 + 1))
    (tmp_path / "secret").write_bytes(b"s")
    (top / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(top / "pipe")
    paths = ["a", "empty", "large", "link", "pipe", "none", "../a"]
    answer = ann.api().post(f"/api/v1/volumes/{volume.uid}/bundle/read", {"paths": paths}, format="json")
    assert (
        answer["Repr-Digest"]
        == f"sha-256=:{base64.b64encode(hashlib.sha256(answer.content).digest()).decode()}:"
    )
    assert bundle_unpack(answer.content) == [
        BundleFile("a", b"aa", 1_700_000_000_000_000_001),
        BundleFile("empty", b"", (top / "empty").stat().st_mtime_ns),
    ]


def test_only_as_much_is_read_as_fits(ann, volume, files, monkeypatch):
    monkeypatch.setattr("apps.storage.services.uploads.PIECE_MAX_BYTES", 1000)
    for name in "abc":
        (files(volume) / name).write_bytes(bytes(400))
    asked = {"paths": ["a", "b", "c"]}
    answer = ann.api().post(f"/api/v1/volumes/{volume.uid}/bundle/read", asked, format="json")
    assert [file.path for file in bundle_unpack(answer.content)] == ["a", "b"]


# --- weir cp -r ---------------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path):
    top = tmp_path / "tree"
    for number in range(30):
        path = top / f"part{number % 3}" / f"f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(number))
    (top / "large").write_bytes(os.urandom(2**20 + 5))
    return top


def contents(top):
    return {str(path.relative_to(top)): path.read_bytes() for path in top.rglob("*") if path.is_file()}


def test_small_files_travel_together_both_ways(client, line, volume, files, tree, tmp_path):
    done = up(client, tree, "vol://data/tree/")
    assert (done.files, done.size) == (31, sum(map(len, contents(tree).values())))
    assert contents(files(volume) / "tree" / "tree") == contents(tree)
    assert line.requests.count("POST bundle") == 1
    line.requests.clear()
    assert down(client, "vol://data/tree/tree", tmp_path / "back").files == 31
    assert contents(tmp_path / "back") == contents(tree)
    assert line.requests.count("POST read") == 1


def test_what_is_there_already_is_passed_over_unless_all_is_wanted(
    client, line, volume, files, tree, tmp_path
):
    up(client, tree, "vol://data/")
    (tree / "part0" / "f3").write_bytes(b"changed")
    os.utime(tree / "part1" / "f1", (1, 1))
    again = up(client, tree, "vol://data/")
    assert (again.files, again.there) == (2, 29)
    assert (files(volume) / "tree" / "part0" / "f3").read_bytes() == b"changed"
    assert up(client, tree, "vol://data/", is_all=True).files == 31
    down(client, "vol://data/tree", tmp_path / "back")
    (tmp_path / "back" / "part2" / "f2").write_bytes(b"??")
    assert (down(client, "vol://data/tree", tmp_path).files) == 0
    again = down(client, "vol://data/tree/part2", tmp_path / "back")
    assert (again.files, again.there) == (1, 9)
    assert contents(tmp_path / "back") == contents(tree)


def test_a_refused_file_is_named_and_the_others_land(client, volume, files, tree):
    (files(volume) / "tree" / "part0" / "f3").mkdir(parents=True)
    done = up(client, tree, "vol://data/")
    assert done.files == 30
    assert done.refused == ["tree/part0/f3: tree/part0/f3 is there already."]


def test_a_lost_answer_is_asked_for_again(client, line, volume, files, tree):
    lost = []

    def lose(request, _number):
        if request.url.path.endswith("/bundle") and not lost:
            lost.append(request)
            return "answer"
        return ""

    line.lose = lose
    up(client, tree, "vol://data/")
    assert contents(files(volume) / "tree") == contents(tree)
