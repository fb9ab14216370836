"""The installation's secret keys that go with a backup: in a file of their own beside it, so that the data may be
copied to where the keys may not. With a passphrase the file is of no use to whoever has not got it.
"""

import base64
import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from apps.rollouts.errors import BackupError

_PURPOSE = b"weir backup key"
# As the authors of scrypt recommend for files: a guess costs 64 MiB and a large part of a second.
_COST = {"n": 2**16, "r": 8, "p": 1}


def keys_path(backup: Path) -> Path:
    """Where the keys of a backup lie."""
    return backup.with_name(backup.name + ".keys")


def key_id(secret: str) -> str:
    """What tells one secret key from another without giving it away."""
    return HKDF(hashes.SHA256(), 16, salt=None, info=_PURPOSE).derive(secret.encode()).hex()


def keys_write(path: Path, keys: Sequence[str], passphrase: str) -> None:
    """Write the keys, for the owner's eyes only; the file is whole or absent. Raises OSError."""
    content = {"keys": list(keys)} if not passphrase else _sealed(keys, passphrase)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            json.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def keys_read(path: Path, passphrase: str) -> list[str]:
    """The keys, the one in use first. Raises BackupError naming what is missing."""
    try:
        content = json.loads(path.read_text())
        found = content["keys"] if "keys" in content else _opened(content, passphrase)
        return [str(key) for key in found]
    except InvalidToken as error:
        raise BackupError(f"{path} is locked with another passphrase: set WEIR_BACKUP_PASSPHRASE") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BackupError(f"{path} holds no keys of a backup: {error}") from error


def _sealed(keys: Sequence[str], passphrase: str) -> dict[str, str]:
    salt = secrets.token_bytes(16)
    return {
        "salt": salt.hex(),
        "sealed": _box(passphrase, salt).encrypt(json.dumps(list(keys)).encode()).decode(),
    }


def _opened(content: dict[str, str], passphrase: str) -> list[str]:
    box = _box(passphrase, bytes.fromhex(content["salt"]))
    return list(json.loads(box.decrypt(content["sealed"].encode())))


def _box(passphrase: str, salt: bytes) -> Fernet:
    key = Scrypt(salt=salt, length=32, **_COST).derive(passphrase.encode())
    return Fernet(base64.urlsafe_b64encode(key))
