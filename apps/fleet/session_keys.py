"""Keys of sessions at rest: encrypted with a key of the portal, so that a copy of the database opens no session."""

import base64
import secrets
from hashlib import sha256

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

_PURPOSE = b"weir session keys\x00"


def key_new() -> str:
    """A fresh secret of 256 bits, as text."""
    return secrets.token_urlsafe(32)


def seal(secret: str) -> str:
    """Encrypt it for the database."""
    return _box().encrypt(secret.encode()).decode()


def unseal(sealed: str) -> str:
    """The secret; empty when it was sealed with a key that the portal no longer has."""
    try:
        return _box().decrypt(sealed.encode()).decode()
    except InvalidToken:
        return ""


def _box() -> MultiFernet:
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    digests = [sha256(_PURPOSE + str(key).encode()).digest() for key in keys]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])
