"""Archives of container images, made of nothing but what is said here."""

import hashlib
import io
import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest


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


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
