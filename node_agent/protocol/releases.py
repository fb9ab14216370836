"""Releases of the agent: what is signed, what a release holds, and where it is fetched (POOL-12.20, 12.22)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from node_agent.protocol.fields import Counter, Digest, Message

RELEASES_PATH = "/api/agent/v1/releases/"
KEYS_PATH = "/api/agent/v1/release-keys"
MANIFEST = "manifest.json"
# Desires what is installed on the node: nothing is fetched for it, so nothing is signed.
BUILTIN_PATH = "builtin"
RELEASE_BYTES = 32 * 1024 * 1024
RELEASE_FILES = 4_000
# Unpacked; a few thousand bytes of archive could hold gigabytes.
MANIFEST_BYTES = 2 * 1024 * 1024

# Plain names below our own packages: nothing that climbs out of the folder it is unpacked into.
# `weir` is what releases had before the wire was a package of its own: going back to one stays possible.
_FILE = r"^(node_agent|weir_wire|weir)(/[A-Za-z0-9_][A-Za-z0-9_-]*)*/[A-Za-z0-9_][A-Za-z0-9_.-]*$"
FileName = Annotated[str, StringConstraints(pattern=_FILE, max_length=200)]
Version = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+_-]{0,62}$")]


class Manifest(Message):
    """What a release holds: the SHA-256 of each file, and the protocol versions that it speaks."""

    version: Version
    protocols: Annotated[tuple[Counter, ...], Field(min_length=1, max_length=16)]
    files: Annotated[dict[FileName, Digest], Field(min_length=1, max_length=RELEASE_FILES)]


class ReleaseKeys(Message):
    """The public keys (Ed25519, hexadecimal) whose signature the portal's operators stand for, and those whose
    signature they stand for no more."""

    keys: Annotated[tuple[Digest, ...], Field(max_length=16)] = ()
    revoked: Annotated[tuple[Digest, ...], Field(max_length=256)] = ()


def signed_text(version: str, sha256: str) -> bytes:
    """What the signature of a release is made over: its name and its content together."""
    return f"weir-release\n{version}\n{sha256}\n".encode()
