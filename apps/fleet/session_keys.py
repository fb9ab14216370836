"""Keys of sessions at rest: sealed, so that a copy of the database opens no session."""

import secrets

from apps.kernel import sealing

_PURPOSE = b"weir session keys\x00"


def key_new() -> str:
    """A fresh secret of 256 bits, as text."""
    return secrets.token_urlsafe(32)


def seal(secret: str) -> str:
    """Encrypt it for the database."""
    return sealing.seal(secret, _PURPOSE)


def unseal(sealed: str) -> str:
    """The secret; empty when it was sealed with a key that the portal no longer has."""
    return sealing.unseal(sealed, _PURPOSE)
