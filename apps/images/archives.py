"""Archives of images, as `docker save`, `podman save`, `skopeo` and `buildah` write them: read without believing them.

Nothing is unpacked here. What a header claims is bounded before it is read, and what a layer holds is counted while it
streams by, whatever its headers say, so neither a huge header nor a small file that unpacks to a huge one does harm.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import posixpath
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import IO, Any, Literal, NoReturn, cast

from django.utils.translation import gettext as _

from apps.images.errors import ImageRefused
from apps.images.tar_files import (
    READ_MAX_BYTES,
    Bound,
    LayerStream,
    TarSource,
    entry_check,
    name_shown,
    tar_opened,
)
from apps.images.zstd import ZstdFile, ZstdMissing

Kind = Literal["docker-archive", "oci-archive"]
_MEMBERS_MAX, _FILES_MAX, _LAYERS_MAX = 10_000, 2_000_000, 200
# What a file takes of a disk at least, and how much more each time.
_CLUSTER_BYTES = 4096
_CHECK_S = 1800.0
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
# skopeo would unpack these (bzip2, xz), whatever else they are.
_OTHERS = (b"BZh", b"\xfd7zX")
_BROKEN = (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError, ValueError, RecursionError)


@dataclass(frozen=True, slots=True)
class Archive:
    """What an archive says that it is: `layers` are the names of its members, from the lowest on."""

    kind: Kind
    architecture: str
    os: str
    entry_point: list[str]
    layers: tuple[str, ...]


def archive_read(file: IO[bytes]) -> Archive:
    """What an archive holds. Raises ImageRefused for what is no image, or several."""
    with _opened(file) as tar:
        members = _members(tar)
        if "manifest.json" in members:
            return _docker(tar, members)
        if "index.json" in members:
            return _oci(tar, members)
    raise ImageRefused(_("The file is no archive of a container image."))


def layers_check(file: IO[bytes], archive: Archive, *, limit_bytes: int) -> int:
    """Look at every file of every layer; how many bytes of disk they need unpacked. Raises ImageRefused for a path that
    leads out of the image, for headers that can be read in several ways, and for more than `limit_bytes`."""
    bound = Bound(limit_bytes, _CHECK_S)
    counted, passed_bytes = _Counted(bound), 0
    with _opened(file) as tar:
        members = _members(tar)
        for name in archive.layers:
            with _layer(tar, members, name, bound, passed_bytes) as stream:
                counted.take(stream)
                passed_bytes += stream.passed_bytes
    return max(counted.disk_bytes, passed_bytes)


def layer_check(file: IO[bytes], *, limit_bytes: int) -> tuple[int, str]:
    """Look at every file of one layer that is packed by gzip, as at those of an archive: how many bytes of disk they
    need unpacked, and the digest of what is packed. Raises ImageRefused."""
    bound, digest = Bound(limit_bytes, _CHECK_S), hashlib.sha256()
    counted = _Counted(bound)
    try:
        with gzip.GzipFile(fileobj=file) as plain:
            stream = LayerStream(cast("IO[bytes]", _Summed(cast("IO[bytes]", plain), digest)), bound, 0)
            counted.take(stream)
    except _BROKEN as error:
        raise ImageRefused(_("What came is no layer of an image.")) from error
    return max(counted.disk_bytes, stream.passed_bytes), f"sha256:{digest.hexdigest()}"


class _Counted:
    """The files of all layers of an image, and what they need of a disk."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound
        self._count = self.disk_bytes = 0

    def take(self, stream: LayerStream) -> None:
        """Look at every file of one more layer, to its very end. Raises ImageRefused, and what tarfile raises."""
        for entry in _entries(stream):
            self._count, self.disk_bytes = self._count + 1, self.disk_bytes + _disk_bytes(entry)
            self._bound.check(self.disk_bytes)
            _path_check(entry.name)
            if entry.islnk():
                _path_check(entry.linkname)
            if self._count > _FILES_MAX:
                raise ImageRefused(_("The image holds more than %(limit)s files.") % {"limit": _FILES_MAX})


class _Summed:
    """A stream whose bytes are summed as they are read."""

    def __init__(self, inner: IO[bytes], digest: Any) -> None:
        self._inner, self._digest = inner, digest

    def read(self, size: int = -1) -> bytes:
        found = self._inner.read(size)
        self._digest.update(found)
        return found


def _disk_bytes(entry: tarfile.TarInfo) -> int:
    size_bytes = entry.size if entry.isreg() else 0
    return max(-(-size_bytes // _CLUSTER_BYTES), 1) * _CLUSTER_BYTES


def _path_check(name: str) -> None:
    if ".." in name.split("/") or "\x00" in name:
        raise ImageRefused(
            _("A layer holds a file that would lie outside of the image: %(path)s")
            % {"path": name_shown(name)}
        )


# --- tar files within tar files ----------------------------------------------------------------------------------


@contextmanager
def _opened(file: IO[bytes]) -> Iterator[tarfile.TarFile]:
    """The archive; what is wrong with it is said in one way."""
    file.seek(0)
    if file.read(2) == _GZIP:
        raise ImageRefused(
            _("The archive is compressed as a whole."), cure=_("Unpack it by gunzip and upload that.")
        )
    file.seek(0)
    try:
        with tar_opened(TarSource(file)) as tar:
            yield tar
    except _BROKEN as error:
        raise ImageRefused(_("The file is no whole archive of a container image.")) from error


def _members(tar: tarfile.TarFile) -> dict[str, tarfile.TarInfo]:
    found: dict[str, tarfile.TarInfo] = {}
    for member in tar:
        entry_check(tar, member)
        name = posixpath.normpath(member.name)
        if name in found and not (member.isdir() and found[name].isdir()):
            # Who stores it might take the other one.
            raise ImageRefused(_("The archive holds %(name)s twice.") % {"name": name_shown(name)})
        found[name] = member
        if len(found) > _MEMBERS_MAX:
            raise ImageRefused(_("The file is no archive of a container image."))
    return found


def _member(members: dict[str, tarfile.TarInfo], name: object) -> tarfile.TarInfo:
    """A file of the archive; a layer that was saved once and named twice is a link to the first."""
    at = posixpath.normpath(name) if isinstance(name, str) else ""
    found = members.get(at)
    if found is not None and found.issym():
        found = members.get(posixpath.normpath(posixpath.join(posixpath.dirname(at), found.linkname)))
    if found is None or not found.isreg():
        raise ImageRefused(_("The archive is not whole: %(name)s is missing.") % {"name": name_shown(name)})
    return found


def _json(tar: tarfile.TarFile, members: dict[str, tarfile.TarInfo], name: object) -> Any:
    member = _member(members, name)
    if member.size > READ_MAX_BYTES:
        raise ImageRefused(_("The file is no archive of a container image."))
    stream = tar.extractfile(member)
    assert stream is not None
    return json.loads(stream.read(member.size))


@contextmanager
def _layer(
    tar: tarfile.TarFile, members: dict[str, tarfile.TarInfo], name: str, bound: Bound, before_bytes: int
) -> Iterator[LayerStream]:
    stream = tar.extractfile(_member(members, name))
    assert stream is not None
    begin = stream.read(4)
    stream.seek(0)
    if begin.startswith(_OTHERS):
        raise ImageRefused(
            _("Layers that are compressed by bzip2 or xz are not taken."), cure=_("Save it with gzip layers.")
        )
    with closing(_unpacked(stream, begin)) as plain:
        yield LayerStream(plain, bound, before_bytes)


def _entries(stream: LayerStream) -> Iterator[tarfile.TarInfo]:
    """Every file of a layer, to its very end."""
    with tar_opened(stream) as layer:
        while (entry := layer.next()) is not None:
            # It would remember them all.
            layer.members.clear()  # type: ignore[attr-defined]
            entry_check(layer, entry)
            yield entry
    stream.end_check()


def _unpacked(stream: IO[bytes], begin: bytes) -> IO[bytes]:
    if begin == _ZSTD:
        try:
            return cast("IO[bytes]", ZstdFile(stream))
        except ZstdMissing as error:
            raise ImageRefused(
                _("Layers that are compressed by zstd are not read here: the portal has no libzstd."),
                cure=_("Save it with gzip layers."),
            ) from error
    return cast("IO[bytes]", gzip.GzipFile(fileobj=stream)) if begin[:2] == _GZIP else stream


# --- the two kinds -----------------------------------------------------------------------------------------------


def _docker(tar: tarfile.TarFile, members: dict[str, tarfile.TarInfo]) -> Archive:
    images = _json(tar, members, "manifest.json")
    if not isinstance(images, list) or not images or not isinstance(images[0], dict):
        _no_image()
    if len(images) > 1:
        _several()
    names = images[0].get("Layers")
    return _archive("docker-archive", _json(tar, members, images[0].get("Config")), names)


def _oci(tar: tarfile.TarFile, members: dict[str, tarfile.TarInfo]) -> Archive:
    index = _json(tar, members, "index.json")
    manifests = index.get("manifests") if isinstance(index, dict) else None
    if not isinstance(manifests, list) or not manifests:
        _no_image()
    if len(manifests) > 1:
        _several()
    manifest = _json(tar, members, _blob(manifests[0]))
    if not isinstance(manifest, dict) or "layers" not in manifest:
        _several()
    names = [_blob(layer) for layer in manifest["layers"]] if isinstance(manifest["layers"], list) else None
    return _archive("oci-archive", _json(tar, members, _blob(manifest.get("config"))), names)


def _blob(named: object) -> str:
    digest = named.get("digest") if isinstance(named, dict) else None
    if not isinstance(digest, str) or not digest.startswith("sha256:"):
        _no_image()
    return f"blobs/sha256/{digest.removeprefix('sha256:')}"


def _archive(kind: Kind, config: object, layers: object) -> Archive:
    if not isinstance(config, dict) or not isinstance(layers, list) or not 0 < len(layers) <= _LAYERS_MAX:
        _no_image()
    run = config.get("config") or {}
    words = [*_words(run, "Entrypoint"), *_words(run, "Cmd")] if isinstance(run, dict) else []
    if not all(isinstance(layer, str) for layer in layers):
        _no_image()
    return Archive(
        kind=kind,
        architecture=str(config.get("architecture", ""))[:32],
        os=str(config.get("os", ""))[:32],
        entry_point=words[:100],
        layers=tuple(layers),
    )


def _words(run: dict[str, Any], name: str) -> list[str]:
    """The words of a command; one that no process can be given makes it no image."""
    found = run.get(name) or []
    if not isinstance(found, list) or not all(map(_is_text, found)):
        _no_image()
    return found


def _is_text(word: object) -> bool:
    return isinstance(word, str) and "\0" not in word and word.encode("utf-8", "replace").decode() == word


def _no_image() -> NoReturn:
    raise ImageRefused(_("The file is no archive of a container image."))


def _several() -> NoReturn:
    raise ImageRefused(
        _("The archive holds several images, or one for several kinds of machines."),
        cure=_("Save one image, for one kind of machine."),
    )
