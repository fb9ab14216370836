"""Archives of images, as `docker save`, `podman save`, `skopeo` and `buildah` write them: read without believing them.

Nothing is unpacked here. What a header claims is bounded before it is read, and what a layer holds is counted while it
streams by, so neither a huge header nor a small file that unpacks to a huge one does harm.
"""

from __future__ import annotations

import gzip
import io
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
from apps.images.zstd import ZstdFile, ZstdMissing

Kind = Literal["docker-archive", "oci-archive"]
# More than this no header of a tar file, no manifest and no configuration has.
_READ_MAX_BYTES = 4 * 2**20
_MEMBERS_MAX, _FILES_MAX, _LAYERS_MAX = 10_000, 2_000_000, 200
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
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
    """Look at every file of every layer; how many bytes they are unpacked. Raises ImageRefused for a path that leads
    out of the image, and for more than `limit_bytes`."""
    count = total = 0
    with _opened(file) as tar:
        members = _members(tar)
        for name in archive.layers:
            for entry in _layer(tar, members, name):
                count, total = count + 1, total + entry.size
                _path_check(entry.name)
                if entry.islnk():
                    _path_check(entry.linkname)
                if total > limit_bytes or count > _FILES_MAX:
                    raise ImageRefused(
                        _("Unpacked the image is larger than the %(limit)s MiB that this centre allows.")
                        % {"limit": limit_bytes // 2**20}
                    )
    return total


def _path_check(name: str) -> None:
    if ".." in name.split("/") or "\x00" in name:
        raise ImageRefused(
            _("A layer holds a file that would lie outside of the image: %(path)s") % {"path": name[:200]}
        )


# --- tar files within tar files ----------------------------------------------------------------------------------


class _Bounded(io.RawIOBase):
    """A file of which nobody reads a huge piece at once: tarfile reads whatever length a header claims."""

    def __init__(self, inner: IO[bytes]) -> None:
        self._inner = inner

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _READ_MAX_BYTES:
            raise ValueError("a header is too large")
        return self._inner.read(size)

    def tell(self) -> int:
        return self._inner.tell()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._inner.seek(offset, whence)


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
        with tarfile.TarFile(fileobj=cast("IO[bytes]", _Bounded(file))) as tar:
            yield tar
    except _BROKEN as error:
        raise ImageRefused(_("The file is no whole archive of a container image.")) from error


def _members(tar: tarfile.TarFile) -> dict[str, tarfile.TarInfo]:
    found: dict[str, tarfile.TarInfo] = {}
    for member in tar:
        found[posixpath.normpath(member.name)] = member
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
        raise ImageRefused(_("The archive is not whole: %(name)s is missing.") % {"name": str(name)[:200]})
    return found


def _json(tar: tarfile.TarFile, members: dict[str, tarfile.TarInfo], name: object) -> Any:
    member = _member(members, name)
    if member.size > _READ_MAX_BYTES:
        raise ImageRefused(_("The file is no archive of a container image."))
    stream = tar.extractfile(member)
    assert stream is not None
    return json.loads(stream.read(member.size))


def _layer(tar: tarfile.TarFile, members: dict[str, tarfile.TarInfo], name: str) -> Iterator[tarfile.TarInfo]:
    stream = tar.extractfile(_member(members, name))
    assert stream is not None
    begin = stream.read(4)
    stream.seek(0)
    with (
        closing(_unpacked(stream, begin)) as plain,
        tarfile.TarFile(fileobj=cast("IO[bytes]", _Bounded(plain))) as layer,
    ):
        while (entry := layer.next()) is not None:
            # It would remember them all.
            layer.members.clear()  # type: ignore[attr-defined]
            yield entry


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
    words = [*(run.get("Entrypoint") or ()), *(run.get("Cmd") or ())] if isinstance(run, dict) else []
    if not all(isinstance(word, str) for word in (*words, *layers)):
        _no_image()
    return Archive(
        kind=kind,
        architecture=str(config.get("architecture", ""))[:32],
        os=str(config.get("os", ""))[:32],
        entry_point=words[:100],
        layers=tuple(layers),
    )


def _no_image() -> NoReturn:
    raise ImageRefused(_("The file is no archive of a container image."))


def _several() -> NoReturn:
    raise ImageRefused(
        _("The archive holds several images, or one for several kinds of machines."),
        cure=_("Save one image, for one kind of machine."),
    )
