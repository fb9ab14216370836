"""The node's own credential: kept readable by the agent alone, replaced in one step."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path

from node_agent.files import read_json, write_json


@dataclass(frozen=True, slots=True)
class Credential:
    """`token_digest` tells which join token it came from, so that a fresh token may replace it."""

    server: str
    node_uid: str
    credential: str
    token_digest: str


def token_digest(join_token: str) -> str:
    """A digest that tells join tokens apart without keeping them."""
    return hashlib.sha256(join_token.encode()).hexdigest()


def credential_load(home: Path, server: str) -> Credential | None:
    """The stored credential for this server, or None where there is none that can be used."""
    try:
        stored = Credential(**(read_json(home / "credential.json") or {}))
    except TypeError:
        return None
    is_usable = all(isinstance(item, str) and item for item in (stored.credential, stored.node_uid))
    return stored if is_usable and stored.server == server else None


def credential_save(home: Path, credential: Credential) -> None:
    """Raises OSError."""
    write_json(home / "credential.json", asdict(credential))
