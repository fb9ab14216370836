"""Archives of container images, made of nothing but what is said here."""

import hashlib
import io
import json
import tarfile
from pathlib import Path


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
