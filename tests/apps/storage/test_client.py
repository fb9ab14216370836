"""`weir cp` against the portal itself: whole, in pieces, broken off and gone on with, folders, both ways."""

import os
from collections.abc import Iterator

import pytest
from weir.api import Client
from weir.errors import ApiError, Unreachable, WeirClientError
from weir.files import trees as volume_trees
from weir.files import volume_files
from weir.files.copying import bring, is_place, place_of

from apps.kernel.planes import in_tenant
from apps.storage.models import Upload
from tests.apps.storage.way import Line, client_of, down, silent, up

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-ASSET-7")]


@pytest.fixture
def line() -> Line:
    return Line()


@pytest.fixture(autouse=True)
def _small_pieces_no_pauses(monkeypatch):
    monkeypatch.setattr("apps.storage.services.uploads.PIECE_MAX_BYTES", 1000)
    monkeypatch.setattr(volume_files.time, "sleep", lambda _s: None)
    monkeypatch.setattr("weir.api.time.sleep", lambda _s: None)
    # A thread of its own would not see the transaction of the test.
    monkeypatch.setattr(volume_trees, "WORKERS", 1)


@pytest.fixture
def client(ann, line) -> Iterator[Client]:
    with client_of(ann, line) as made:
        yield made


@pytest.fixture
def volume(made):
    return made(size_mib=8)


def test_a_file_goes_there_and_back(client, volume, files, tmp_path):
    body = os.urandom(3500)
    (tmp_path / "a.bin").write_bytes(body)
    seen = []
    bring(
        client,
        tmp_path / "a.bin",
        place_of(client, "vol://data/in/"),
        recursive=False,
        progress=lambda *told: seen.append(told),
    )
    assert (files(volume) / "in" / "a.bin").read_bytes() == body
    assert seen[0][1] == 1000
    assert seen[-1] == ("in/a.bin", 3500, 3500)
    done = down(client, "vol://data/in/a.bin", tmp_path / "back.bin")
    assert (tmp_path / "back.bin").read_bytes() == body
    assert (done.files, done.size) == (1, 3500)
    # What is there is replaced, as by cp.
    (tmp_path / "a.bin").write_bytes(b"new")
    up(client, tmp_path / "a.bin", "vol://data/in")
    assert (files(volume) / "in" / "a.bin").read_bytes() == b"new"


def test_folders_go_with_all_that_is_in_them(client, volume, files, tmp_path):
    tree = tmp_path / "tree"
    (tree / "deep" / "er").mkdir(parents=True)
    (tree / "empty").mkdir()
    (tree / "a").write_text("a")
    (tree / "deep" / "er" / "数据 + %.txt").write_text("b")
    (tree / "link").symlink_to("/etc/passwd")
    done = up(client, tree, "vol://data/place")
    assert (done.files, len(done.left_out)) == (2, 1)
    found = sorted(str(path.relative_to(files(volume))) for path in files(volume).rglob("*"))
    assert found == [
        "place",
        "place/a",
        "place/deep",
        "place/deep/er",
        "place/deep/er/数据 + %.txt",
        "place/empty",
    ]
    (files(volume) / "place" / "link").symlink_to("/etc/passwd")
    done = down(client, "vol://data/place", tmp_path / "back")
    assert (done.files, len(done.left_out)) == (2, 1)
    assert (tmp_path / "back" / "deep" / "er" / "数据 + %.txt").read_text() == "b"
    assert (tmp_path / "back" / "empty").is_dir()
    # Once more it goes into what is there now.
    up(client, tree, "vol://data/place")
    assert (files(volume) / "place" / "tree" / "a").exists()


def test_an_upload_that_broke_off_goes_on_where_it_stopped(client, line, volume, files, tmp_path):
    body = os.urandom(5000)
    (tmp_path / "a").write_bytes(body)
    line.lose = lambda request, _number: (
        "request" if request.headers.get("Upload-Offset") in ("3000", "4000") else ""
    )
    with pytest.raises(Unreachable, match="goes on where it stopped"):
        up(client, tmp_path / "a", "vol://data/")
    with in_tenant("acme"):
        assert Upload.objects.get().received_bytes == 3000
    line.lose = lambda _request, _number: ""
    line.requests.clear()
    up(client, tmp_path / "a", "vol://data/")
    assert (files(volume) / "a").read_bytes() == body
    assert len([one for one in line.requests if one.startswith("PATCH")]) == 2
    with in_tenant("acme"):
        assert Upload.objects.count() == 1


def test_lost_answers_and_damaged_pieces_are_made_good(client, line, volume, files, tmp_path):
    body = os.urandom(5000)
    (tmp_path / "a").write_bytes(body)
    lost = set()

    def lose(request, _number):
        at = request.headers.get("Upload-Offset", "")
        if request.method == "PATCH" and at not in lost:
            lost.add(at)
            return "answer"
        return ""

    line.lose = lose
    up(client, tmp_path / "a", "vol://data/")
    assert len(lost) >= 2
    assert (files(volume) / "a").read_bytes() == body


def test_a_file_changed_since_is_not_gone_on_with(client, line, volume, files, tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 2500)
    line.lose = lambda request, _number: "request" if request.headers.get("Upload-Offset") == "1000" else ""
    with pytest.raises(Unreachable):
        up(client, tmp_path / "a", "vol://data/")
    (tmp_path / "a").write_bytes(b"y" * 2500)
    os.utime(tmp_path / "a", (1, 1))
    line.lose = lambda _request, _number: ""
    up(client, tmp_path / "a", "vol://data/")
    assert (files(volume) / "a").read_bytes() == b"y" * 2500


def test_a_download_that_broke_off_goes_on_where_it_stopped(client, line, volume, files, tmp_path):
    body = os.urandom(5000)
    (files(volume) / "a").write_bytes(body)
    mark = client.file_facts(str(volume.uid), "a")["ETag"].strip('"')
    part = tmp_path / f".b.{mark}.part"
    part.write_bytes(body[:3000])
    ranges = []
    line.lose = lambda request, _number: ranges.append(request.headers.get("Range")) or ""
    down(client, "vol://data/a", tmp_path / "b")
    assert "bytes=3000-" in ranges
    assert (tmp_path / "b").read_bytes() == body
    assert sorted(path.name for path in tmp_path.iterdir() if "b" in path.name) == ["b"]


def test_what_cannot_be_is_said_in_a_sentence(client, volume, files, tmp_path):
    (tmp_path / "large").write_bytes(b"")
    os.truncate(tmp_path / "large", 9 * 2**20)
    with pytest.raises(ApiError, match="room for 8 of its 8 MiB"):
        up(client, tmp_path / "large", "vol://data/")
    with pytest.raises(WeirClientError, match="no volume none"):
        up(client, tmp_path / "large", "vol://none/")
    with pytest.raises(WeirClientError, match="There is no"):
        up(client, tmp_path / "nothing", "vol://data/")
    with pytest.raises(ApiError, match="There is no none"):
        down(client, "vol://data/none", tmp_path / "x")
    with pytest.raises(WeirClientError, match="Copy folders with -r"):
        bring(client, tmp_path, place_of(client, "vol://data/"), recursive=False, progress=silent)
    with pytest.raises(ApiError):
        up(client, tmp_path / "large", "vol://data/../x")
    assert is_place("vol://a")
    assert not is_place("a:b")
    assert not list(files(volume).iterdir())


def test_ones_own_volume_comes_before_the_tenants_of_the_same_name(client, volume, made, keeper):
    made(keeper, owner="tenant")
    made(keeper, name="all", owner="tenant")
    assert place_of(client, "vol://data/x").volume["uid"] == str(volume.uid)
    assert place_of(client, "vol://all").volume["owner"] == "tenant"
