"""Releases as an operator makes them, for tests: real keys, real archives."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node_agent.protocol.messages import DesiredRelease
from node_agent.protocol.releases import MANIFEST, RELEASES_PATH, signed_text

ROOT = Path(__file__).resolve().parents[3]


class Maker:
    """Makes signed releases; `key` is the public key to trust."""

    def __init__(self) -> None:
        self._private = Ed25519PrivateKey.generate()
        self.key = self._private.public_key().public_bytes_raw().hex()

    def wish(self, version: str, content: bytes) -> DesiredRelease:
        sha256 = hashlib.sha256(content).hexdigest()
        signature = self._private.sign(signed_text(version, sha256)).hex()
        return DesiredRelease(
            version=version, path=f"{RELEASES_PATH}{version}", sha256=sha256, signature=signature
        )


def agent_files() -> dict[str, bytes]:
    """The agent of this checkout."""
    paths = sorted((ROOT / "node_agent").rglob("*.py"))
    return {str(path.relative_to(ROOT)): path.read_bytes() for path in paths}


def archive(version: str, content: dict[str, bytes], **manifest: object) -> bytes:
    """A release that holds these files; `manifest` overrides what it says of itself."""
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}
    told = {"version": version, "protocols": [1], "files": digests} | manifest
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr(MANIFEST, json.dumps(told))
        for name, data in content.items():
            file.writestr(name, data)
    return packed.getvalue()
