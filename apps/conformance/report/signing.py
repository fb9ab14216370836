"""Ed25519 over the report's one canonical text: who holds the file can tell whether a character was changed."""

import json
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_PURPOSE = b"weir conformance report"


def canonical(report: dict[str, Any]) -> bytes:
    """The text that is signed: JSON with sorted keys, without blanks, in UTF-8."""
    return json.dumps(report, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def signed(report: dict[str, Any], secret: str) -> dict[str, Any]:
    """The report with its signature by the key of an installation's secret."""
    key = _private_key(secret)
    return {
        "report": report,
        "signature": {
            "algorithm": "ed25519",
            "public_key": _hex(key),
            "value": key.sign(canonical(report)).hex(),
        },
    }


def is_sound(document: Any) -> bool:
    """Whether the report is as it was signed. Whose key it was signed with is another question."""
    try:
        signature = document["signature"]
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(signature["public_key"]))
        key.verify(bytes.fromhex(signature["value"]), canonical(document["report"]))
    except (InvalidSignature, KeyError, TypeError, ValueError):
        return False
    return bool(signature.get("algorithm") == "ed25519")


def public_key_of(secret: str) -> str:
    """The public key of an installation's secret, in hexadecimal."""
    return _hex(_private_key(secret))


def _private_key(secret: str) -> Ed25519PrivateKey:
    # Kept nowhere: it follows from the installation's secret and serves this purpose only.
    seed = HKDF(hashes.SHA256(), 32, salt=None, info=_PURPOSE).derive(secret.encode())
    return Ed25519PrivateKey.from_private_bytes(seed)


def _hex(key: Ed25519PrivateKey) -> str:
    return key.public_key().public_bytes_raw().hex()
