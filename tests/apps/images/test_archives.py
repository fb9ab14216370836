"""Archives are read without believing them."""

import gzip
import io
import json
import tarfile

import pytest

from apps.images.archives import archive_read, layers_check
from apps.images.errors import ImageRefused
from tests.factories.archive import docker_archive, layer, link, zstd

pytestmark = pytest.mark.req("PLAT-AICFG-14")
_GOOD = layer({"bin/hello": b"x" * 1000})


def _read(path, limit_bytes=10**6):
    with path.open("rb") as file:
        found = archive_read(file)
        return found, layers_check(file, found, limit_bytes=limit_bytes)


def test_an_archive_says_its_machine_its_entry_point_and_how_large_it_is(tmp_path):
    found, size = _read(docker_archive(tmp_path / "a.tar", _GOOD, gzip.compress(layer({"etc/motd": b"hi"}))))
    assert (found.kind, found.architecture, found.os, found.entry_point) == (
        "docker-archive", "amd64", "linux", ["/bin/hello"],
    )  # fmt: skip
    assert size == 2 * tarfile.RECORDSIZE, "what streams by, headers and all"
    _found, size = _read(docker_archive(tmp_path / "a.tar", layer({f"f{n}": b"x" for n in range(30)})))
    assert size == 30 * 4096, "a small file takes a whole block of the disk"


@pytest.mark.parametrize(
    "files",
    [
        {"../../etc/cron.d/x": b"x"},
        {"usr/../../x": b"x"},
        {"bin/x": link("../../etc/shadow", tarfile.LNKTYPE)},
    ],
)
def test_a_path_out_of_the_image_is_refused_by_name(tmp_path, files):
    with pytest.raises(ImageRefused, match="outside of the image"):
        _read(docker_archive(tmp_path / "a.tar", _GOOD, layer(files)))


def test_links_within_an_image_lead_where_they_like(tmp_path):
    _read(docker_archive(tmp_path / "a.tar", layer({"bin": link("/usr/bin"), "lib/x": link("../../y")})))


def test_a_small_archive_that_unpacks_to_a_huge_one_is_refused_before_it_does(tmp_path):
    bomb = gzip.compress(layer({"zeros": b"\0" * (32 * 2**20)}))
    assert len(bomb) < 100_000
    with pytest.raises(ImageRefused, match="larger than"):
        _read(docker_archive(tmp_path / "a.tar", bomb), limit_bytes=2**20)


def _with_huge_header() -> bytes:
    entry = tarfile.TarInfo("x")
    entry.type, entry.size = tarfile.XHDTYPE, 2**32
    return entry.tobuf(tarfile.USTAR_FORMAT) + b"\0" * 4096


@pytest.mark.parametrize("content", [b"", b"hello", b"\0" * 20_000, _with_huge_header(), _GOOD, _GOOD[:700]])
def test_what_is_no_image_is_refused(tmp_path, content):
    (tmp_path / "a.tar").write_bytes(content)
    with pytest.raises(ImageRefused):
        _read(tmp_path / "a.tar")


@pytest.mark.parametrize(
    "config",
    [{"Entrypoint": 5}, {"Entrypoint": "/bin/sh"}, {"Cmd": {"a": 1}}, {"Cmd": [5]}, {"Cmd": ["a\0b"]},
     {"Cmd": ["\ud800"]}],
)  # fmt: skip
def test_a_command_that_no_process_can_be_given_makes_it_no_image(tmp_path, config):
    """It was a mistake of the server's, or one of the database's."""
    with pytest.raises(ImageRefused, match="no archive of a container image"):
        _read(docker_archive(tmp_path / "a.tar", _GOOD, **config))


def test_a_name_that_is_no_text_is_told_as_text(tmp_path):
    """What is said of an archive is kept and sent."""
    entry = tarfile.TarInfo()
    entry.type, entry.linkname = tarfile.LNKTYPE, "../\udcff"
    with pytest.raises(ImageRefused) as refused:
        _read(docker_archive(tmp_path / "a.tar", _GOOD, layer({"x": entry})))
    assert "../?" in str(refused.value.message)
    text = json.dumps([{"Config": "c", "Layers": ["\ud800"]}])
    (tmp_path / "b.tar").write_bytes(layer({"manifest.json": text.encode(), "c": b'{"config": {}}'}))
    with pytest.raises(ImageRefused) as refused:
        _read(tmp_path / "b.tar")
    assert str(refused.value.message).encode()


def test_a_layer_cannot_claim_a_huge_header(tmp_path):
    with pytest.raises(ImageRefused, match="no whole archive"):
        _read(docker_archive(tmp_path / "a.tar", _with_huge_header()))


def _pax(*records: tuple[str, str], kind: bytes = tarfile.XHDTYPE) -> bytes:
    """An extended header."""
    body = b""
    for key, value in records:
        bare = len(f" {key}={value}\n".encode())
        size = bare + len(str(bare + len(str(bare))))
        body += f"{size} {key}={value}\n".encode()
    return _raw(body, kind, "pax")


def _raw(
    content: bytes, kind: bytes = tarfile.REGTYPE, name: str = "srv/x", size: int | None = None
) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.type, entry.size = kind, len(content) if size is None else size
    return entry.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % 512)


_END, _FILE = bytes(1024), _raw(b"x" * 600)
_LONG = _raw(b"srv/y\0", tarfile.GNUTYPE_LONGNAME)


def _with_prefix() -> bytes:
    """By some readers "srv/x", by others "etc/srv/x"."""
    head = bytearray(_FILE[:512])
    head[345:348] = b"etc"
    head[148:156] = b" " * 8
    head[148:155] = f"{sum(head):06o}\0".encode()
    return bytes(head) + _FILE[512:]


@pytest.mark.parametrize(
    "content",
    [
        _pax(("GNU.sparse.size", "0")) + _FILE,
        _pax(("GNU.sparse.size", "-99999999999")) + _FILE,
        _pax(("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0")) + _FILE,
        _raw(bytes(512), tarfile.GNUTYPE_SPARSE),
        _pax(("size", "0"), kind=tarfile.XGLTYPE) + _FILE,
        _pax(("path", "srv/z"), kind=tarfile.XGLTYPE) + _FILE,
        _pax(("linkpath", "srv/z"), kind=tarfile.XGLTYPE) + _FILE,
        _pax(("comment", "x" * 100_000), kind=tarfile.XGLTYPE) + _FILE,
        _pax(("size", "-1024")) + _FILE,
        _raw(b"", size=-1024) + _FILE,
        _pax(("path", "srv/a")) + _pax(("path", "srv/b")) + _FILE,
        _pax(("path", "")) + _FILE,
        _pax(("path", "srv/a")) + _LONG + _FILE,
        _LONG + _pax(("path", "srv/a")) + _FILE,
        _pax(("path", "srv/a")) + _pax(("comment", "x"), kind=tarfile.XGLTYPE) + _FILE,
        _with_prefix(),
    ],
    ids=lambda _content: "",
)  # fmt: skip
def test_what_two_readers_could_understand_differently_is_refused(tmp_path, content):
    with pytest.raises(ImageRefused, match=r"several ways|holes"):
        _read(docker_archive(tmp_path / "a.tar", content + _END))
    whole = docker_archive(tmp_path / "b.tar", _GOOD)
    whole.write_bytes(content + whole.read_bytes())
    with pytest.raises(ImageRefused, match=r"several ways|holes"):
        _read(whole)


@pytest.mark.parametrize(
    "content",
    [
        _pax(("comment", "0" * 40), kind=tarfile.XGLTYPE) + _pax(("path", "srv/a"), ("size", "600")) + _FILE,
        _raw(b"t\0", tarfile.GNUTYPE_LONGLINK) + _LONG + _FILE,
    ],
)
def test_extended_headers_that_say_one_thing_are_taken(tmp_path, content):
    _found, size = _read(docker_archive(tmp_path / "a.tar", content + _END))
    assert size == len(content + _END)


@pytest.mark.parametrize(
    "behind", [_FILE, bytes(4096) + b"x", b"no header" + bytes(600)], ids=("file", "late", "other")
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd])
def test_nothing_may_follow_the_end_of_a_layer(tmp_path, behind, pack):
    for end in (bytes(512), _END):
        with pytest.raises(ImageRefused, match="behind its end"):
            _read(docker_archive(tmp_path / "a.tar", pack(_FILE + end + behind)))


@pytest.mark.parametrize("key", ["size", "comment"])
def test_what_streams_by_counts_whatever_the_headers_say(tmp_path, key):
    """Headers and holes before the end too: what unpacks the layer reads them all."""
    many = b"".join(
        _pax((key, "0" * 60 if key == "size" else "x" * 2**20)) + _raw(b"") for _number in range(9)
    )
    with pytest.raises(ImageRefused, match="larger than"):
        _read(docker_archive(tmp_path / "a.tar", gzip.compress(many + _END)), limit_bytes=8000)
    with pytest.raises(ImageRefused, match="larger than"):
        _read(docker_archive(tmp_path / "b.tar", gzip.compress(_GOOD + bytes(2**22))), limit_bytes=2**20)


def test_an_endless_number_in_a_header_is_not_looked_at(tmp_path):
    with pytest.raises(ImageRefused, match="no whole archive"):
        _read(docker_archive(tmp_path / "a.tar", _raw(b"1" * 2**20, tarfile.XHDTYPE) + _FILE + _END))


def test_a_check_that_takes_too_long_ends(tmp_path, monkeypatch):
    monkeypatch.setattr("apps.images.archives._CHECK_S", -1.0)
    with pytest.raises(ImageRefused, match="within"):
        _read(docker_archive(tmp_path / "a.tar", _GOOD))


def test_a_layer_that_is_there_twice_or_packed_otherwise_is_refused(tmp_path):
    path = docker_archive(tmp_path / "a.tar", _GOOD)
    path.write_bytes(_raw(b"other", name="./0/layer.tar") + path.read_bytes())
    with pytest.raises(ImageRefused, match="twice"):
        _read(path)
    for begin in (b"BZh9", b"\xfd7zXZ"):
        with pytest.raises(ImageRefused, match="bzip2 or xz"):
            _read(docker_archive(tmp_path / "b.tar", begin + _GOOD))


def test_several_images_and_compressed_archives_are_refused_with_the_cure(tmp_path):
    with pytest.raises(ImageRefused, match="several"):
        _read(docker_archive(tmp_path / "a.tar", _GOOD, images=2))
    path = docker_archive(tmp_path / "b.tar", _GOOD)
    path.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(ImageRefused) as refused:
        _read(path)
    assert "gunzip" in str(refused.value.cure)


def test_layers_by_zstd_are_read_as_any_other(tmp_path):
    many = layer({f"f{number}": bytes(str(number), "ascii") * 50_000 for number in range(9)})
    _found, size = _read(docker_archive(tmp_path / "a.tar", zstd(many), zstd(_GOOD)))
    assert size == (9 * 13 + 1) * 4096
    with pytest.raises(ImageRefused, match="outside of the image"):
        _read(docker_archive(tmp_path / "b.tar", zstd(layer({"../x": b"x"}))))
    with pytest.raises(ImageRefused, match="no whole archive"):
        _read(docker_archive(tmp_path / "c.tar", zstd(many)[:-500]))
    with pytest.raises(ImageRefused, match="no whole archive"):
        _read(docker_archive(tmp_path / "d.tar", zstd(many)[:4] + b"nonsense" * 9))
    bomb = zstd(layer({"zeros": bytes(64 * 2**20)}))
    assert len(bomb) < 100_000
    with pytest.raises(ImageRefused, match="larger than"):
        _read(docker_archive(tmp_path / "e.tar", bomb), limit_bytes=2**20)


def test_a_manifest_that_names_what_is_missing_or_itself_is_refused(tmp_path):
    path = docker_archive(tmp_path / "a.tar", _GOOD)
    members = {}
    with tarfile.open(path) as tar:
        for member in tar:
            members[member.name] = tar.extractfile(member).read()
    for wrong in (
        b"[]",
        b"{}",
        b'[{"Config": 3}]',
        b'[{"Config": "manifest.json", "Layers": ["x"]}]',
        b"[" * 50_000,
    ):
        out = io.BytesIO(layer(members | {"manifest.json": wrong}))
        with pytest.raises(ImageRefused):
            archive_read(out)
