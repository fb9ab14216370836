"""Making a release: the agent's packages of a source tree, packed and signed."""

import hashlib
import io
import json
import zipfile
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node_agent.protocol.fields import SUPPORTED
from node_agent.protocol.releases import MANIFEST, Manifest, signed_text

# Third-party packages are the node's own matter.
_PACKAGES = ("node_agent", "weir_wire")
_EPOCH = (1980, 1, 1, 0, 0, 0)


def release_pack(root: Path, version: str) -> bytes:
    """The archive of a source tree; the same tree and version give the same bytes.

    Raises pydantic's ValidationError for a version that agents would refuse.
    """
    files = dict(_files(root))
    manifest = Manifest(
        version=version,
        protocols=SUPPORTED,
        files={name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    )
    told = json.dumps(manifest.model_dump(mode="json"), sort_keys=True, indent=1).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in [(MANIFEST, told), *files.items()]:
            file.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _files(root: Path) -> list[tuple[str, bytes]]:
    return [
        (path.relative_to(root).as_posix(), path.read_bytes())
        for package in _PACKAGES
        for path in sorted((root / package).rglob("*.py"))
    ]


def release_sign(key: Ed25519PrivateKey, version: str, content: bytes) -> str:
    """The signature in hexadecimal digits."""
    return key.sign(signed_text(version, hashlib.sha256(content).hexdigest())).hex()


def public_key_of(key: Ed25519PrivateKey) -> str:
    return key.public_key().public_bytes_raw().hex()
