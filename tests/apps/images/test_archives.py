"""Archives are read without believing them."""

import gzip
import io
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
    assert size == 1002


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


def test_a_layer_cannot_claim_a_huge_header(tmp_path):
    with pytest.raises(ImageRefused, match="no whole archive"):
        _read(docker_archive(tmp_path / "a.tar", _with_huge_header()))


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
    assert size == 9 * 50_000 + 1000
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
