"""The images of this node: each unpacked once, by its digest, into a folder that nobody writes to any more."""

from __future__ import annotations

import json
import os
import posixpath
from pathlib import Path
from typing import Any

from node_agent.files import read_json, tree_remove, write_json
from node_agent.images.unpacking import ImageFailed, unpack

# So much of the disk an image leaves free for what else this node keeps.
FREE_BYTES = 2**30


class ImageStore:
    """The folder `home`, in which each image has a folder of its own: `rootfs`, and `image.json` of what it says."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def root(self, digest: str) -> Path | None:
        """Where the files of an image lie; None where it is not here."""
        place = self._place(digest)
        return place / "rootfs" if (place / "image.json").exists() else None

    def settings(self, digest: str) -> dict[str, Any]:
        """What an image says of its programs: the variables `env`, the folder `workdir` that they begin in ("": none),
        and the `user` that it names ("": none)."""
        kept = read_json(self._place(digest) / "image.json") or {}
        pairs = (str(one).partition("=") for one in kept.get("env") or [])
        env = {name: value for name, sign, value in pairs if name and sign}
        return {"env": env, "workdir": kept.get("workdir", ""), "user": kept.get("user", "")}

    def draft(self, digest: str) -> Path:
        """An empty folder for the files of an image on their way, laid out as OCI has it. Raises OSError."""
        path = self._draft(digest)
        tree_remove(path)
        (path / "layout" / "blobs" / "sha256").mkdir(parents=True)
        self._home.chmod(0o700)
        return path

    def put(self, digest: str, manifest: bytes, unpacked_bytes: int) -> None:
        """Unpack what was fetched into its draft, where it may take so much; from then on it is here. Raises
        ImageFailed, OSError."""
        draft = self._draft(digest)
        layout = draft / "layout"
        kind = json.loads(manifest).get("mediaType") or "application/vnd.oci.image.manifest.v1+json"
        named = {"mediaType": kind, "digest": digest, "size": len(manifest),
                 "annotations": {"org.opencontainers.image.ref.name": "work"}}  # fmt: skip
        write_json(layout / "oci-layout", {"imageLayoutVersion": "1.0.0"})
        write_json(layout / "index.json", {"schemaVersion": 2, "manifests": [named]})
        unpack(layout, draft / "rootfs", unpacked_bytes, floor_bytes=FREE_BYTES // 2)
        tree_remove(layout)
        # Its own root may be closed to who is not its owner: work is a user of its own.
        (draft / "rootfs").chmod(0o755)
        write_json(draft / "image.json", {"digest": digest, **_settings_of(draft)})
        draft.rename(self._place(digest))

    def config_keep(self, digest: str, config: bytes) -> None:
        """Keep what an image says of itself, until it is put."""
        (self._draft(digest) / "config.json").write_bytes(config)

    def drop(self, digest: str) -> None:
        """Delete what was fetched of an image that is not here."""
        tree_remove(self._draft(digest))

    def room_make(self, wanted_bytes: int, used: frozenset[str]) -> None:
        """Delete images that no work uses, the longest unused first, until there is room. Raises ImageFailed where
        there never is."""
        while (free_bytes := self._free_bytes()) < wanted_bytes + FREE_BYTES:
            idle = [path for path in self._home.glob("sha256-*") if _digest_of(path) not in used]
            if not idle:
                raise ImageFailed(
                    f"it needs {wanted_bytes // 2**20} MiB, and the node has {free_bytes // 2**20} MiB of disk free"
                )
            oldest = min(idle, key=lambda path: path.stat().st_mtime)
            gone = oldest.with_name(f".{oldest.name}.gone")
            oldest.rename(gone)
            tree_remove(gone)

    def touch(self, digest: str) -> None:
        """It is used now."""
        os.utime(self._place(digest))

    def _free_bytes(self) -> int:
        facts = os.statvfs(self._home)
        return facts.f_bavail * facts.f_frsize

    def _place(self, digest: str) -> Path:
        return self._home / digest.replace(":", "-")

    def _draft(self, digest: str) -> Path:
        return self._home / f".{digest.replace(':', '-')}"


def _digest_of(place: Path) -> str:
    return place.name.replace("-", ":", 1)


def _settings_of(draft: Path) -> dict[str, Any]:
    config: Any = read_json(draft / "config.json") or {}
    run = config.get("config")
    run = run if isinstance(run, dict) else {}
    env, workdir, user = run.get("Env"), run.get("WorkingDir"), run.get("User")
    # Of two slashes at the beginning a path may keep both, and be below nothing that has one.
    begins = posixpath.normpath(f"/{workdir.lstrip('/')}") if isinstance(workdir, str) and workdir else ""
    return {
        "env": [one for one in env if isinstance(one, str)] if isinstance(env, list) else [],
        "workdir": begins,
        "user": user.partition(":")[0] if isinstance(user, str) else "",
    }
