"""Archives of container images, made of nothing but what is said here."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterable
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def layer(files: dict[str, bytes | tarfile.TarInfo], *, mode: int = 0o755) -> bytes:
    """A layer with these files; a `TarInfo` is taken as it is, under the name of its key."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in files.items():
            if isinstance(content, tarfile.TarInfo):
                content.name = name
                tar.addfile(content)
                continue
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def link(target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    entry = tarfile.TarInfo()
    entry.type, entry.linkname = kind, target
    return entry


def docker_archive(
    path: Path,
    *layers: bytes,
    architecture: str = "amd64",
    entry_point: tuple[str, ...] = ("/bin/hello",),
    images: int = 1,
    **config: object,
) -> Path:
    """What `docker save` writes."""
    config = {
        "architecture": architecture,
        "os": "linux",
        "config": {"Entrypoint": list(entry_point), "Cmd": None, **config},
        "rootfs": {
            "type": "layers",
            "diff_ids": [f"sha256:{hashlib.sha256(one).hexdigest()}" for one in layers],
        },
        "history": [],
    }
    text = json.dumps(config).encode()
    name = f"{hashlib.sha256(text).hexdigest()}.json"
    names = [f"{number}/layer.tar" for number in range(len(layers))]
    manifest = [{"Config": name, "RepoTags": None, "Layers": names}] * images
    members = {
        name: text,
        "manifest.json": json.dumps(manifest).encode(),
        **dict(zip(names, layers, strict=True)),
    }
    path.write_bytes(layer(members))
    return path


def oci_image(*layers: bytes, **config: object) -> tuple[str, dict[str, bytes]]:
    """An image as a registry keeps it: the digest of its manifest, and its files by digest."""
    told = {
        "architecture": "amd64",
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [_digest(one) for one in layers]},
        "history": [],
    }
    kind = "application/vnd.oci.image"
    text = json.dumps(told).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{kind}.manifest.v1+json",
        "config": {"mediaType": f"{kind}.config.v1+json", "digest": _digest(text), "size": len(text)},
        "layers": [
            {"mediaType": f"{kind}.layer.v1.tar", "digest": _digest(one), "size": len(one)} for one in layers
        ],
    }
    whole = json.dumps(manifest).encode()
    return _digest(whole), {_digest(one): one for one in (whole, text, *layers)}


def zstd_archive(path: Path, plain: bytes) -> Path:
    """An archive in OCI's own format whose one layer is compressed by zstd."""
    packed = zstd(plain)
    digest, files = oci_image(plain, Entrypoint=["/bin/hello"])
    manifest = json.loads(files.pop(digest))
    files.pop(_digest(plain))
    kind = "application/vnd.oci.image.layer.v1.tar+zstd"
    manifest["layers"] = [{"mediaType": kind, "digest": _digest(packed), "size": len(packed)}]
    whole = json.dumps(manifest).encode()
    files |= {_digest(packed): packed, _digest(whole): whole}
    entry = {"mediaType": manifest["mediaType"], "digest": _digest(whole), "size": len(whole)}
    members = {f"blobs/{name.replace(':', '/')}": content for name, content in files.items()}
    members["oci-layout"] = b'{"imageLayoutVersion": "1.0.0"}'
    members["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode()
    path.write_bytes(layer(members))
    return path


def zstd(content: bytes) -> bytes:
    if not shutil.which("zstd"):
        pytest.skip("zstd is not installed")
    return subprocess.run(["zstd", "-c"], input=content, capture_output=True, check=True).stdout


def busybox_layer() -> bytes:
    """A small system in one program, this machine's own, with the names by which it is called."""
    program = Path("/bin/busybox").read_bytes()
    names = ("sh", "cat", "chmod", "chroot", "df", "dmesg", "env", "head", "id", "kill", "ln", "ls", "mkdir", "mknod",
             "mount", "nc", "ps", "pwd", "rm", "seq", "sleep", "stat", "tail", "touch", "tr", "true", "umount",
             "unshare", "wc", "yes")  # fmt: skip
    return layer(
        {
            "bin/busybox": program,
            **{f"bin/{name}": link("busybox") for name in names},
            "etc/motd": b"of the image\n",
        }
    )


def program_layer(name: str) -> bytes:
    """A program of this machine with the libraries that it is linked to."""
    found = shutil.which(name)
    assert found is not None
    told = subprocess.run(["ldd", found], capture_output=True, text=True, check=True).stdout
    libraries = [word for word in told.split() if word.startswith("/")]
    return layer(
        {f"usr/bin/{name}": Path(found).read_bytes()}
        | {library.removeprefix("/"): Path(library).read_bytes() for library in libraries}
    )


def python_layer(*distributions: str) -> tuple[str, bytes]:
    """This interpreter with its standard library and these distributions with all that they need, at the places that
    they have here: where it lies in the image, and its layer."""
    program = Path(os.path.realpath(sys.executable))
    base, library = Path(sys.base_prefix), Path(sysconfig.get_path("stdlib"))
    left_out = {"site-packages", "test", "idlelib", "tkinter", "ensurepip", "__pycache__", "lib2to3"}
    files = {program: program}
    for folder, names, found in os.walk(library):
        names[:] = [name for name in names if name not in left_out]
        files |= {
            Path(folder, name): Path(folder, name) for name in found if not name.endswith((".a", ".pyc"))
        }
    for distribution in _needed(distributions):
        for file in distribution.files or ():
            place = Path(os.path.normpath(str(distribution.locate_file(file))))
            if place.is_file() and place.is_relative_to(sys.prefix) and place.suffix != ".pyc":
                files[base / place.relative_to(sys.prefix)] = place
    linked = [str(path) for path in files.values() if path.suffix == ".so" or path == program]
    told = subprocess.run(["ldd", *linked], capture_output=True, text=True, check=False).stdout
    libraries = {Path(word) for word in told.split() if word.startswith("/") and not word.endswith(":")}
    # A package's own libraries are there already, at their places.
    files |= {path: path for path in libraries if path.is_file() and not path.is_relative_to(sys.prefix)}
    packed = {str(place).lstrip("/"): source.read_bytes() for place, source in sorted(files.items())}
    return str(program), layer(packed)


def _needed(names: Iterable[str]) -> list[metadata.Distribution]:
    """Distributions of this interpreter, and those that they need, as far as they are installed."""
    waiting, found = list(names), dict[str, metadata.Distribution]()
    while waiting:
        name = canonicalize_name(waiting.pop())
        with suppress(metadata.PackageNotFoundError):
            if name not in found:
                found[name] = metadata.distribution(name)
                asked = map(Requirement, found[name].requires or ())
                waiting += [
                    one.name for one in asked if one.marker is None or one.marker.evaluate({"extra": ""})
                ]
    return list(found.values())


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
