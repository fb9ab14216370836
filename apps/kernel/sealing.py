"""Secrets at rest: encrypted with a key of the portal, so that a copy of the database gives none of them away."""

import base64
from hashlib import sha256

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


def seal(secret: str, purpose: bytes) -> str:
    """Encrypt it for the database. What is sealed for one purpose is not opened for another."""
    return _box(purpose).encrypt(secret.encode()).decode()


def unseal(sealed: str, purpose: bytes) -> str:
    """The secret; empty when it was sealed with a key that the portal no longer has."""
    try:
        return _box(purpose).decrypt(sealed.encode()).decode()
    except InvalidToken:
        return ""


def _box(purpose: bytes) -> MultiFernet:
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    digests = [sha256(purpose + str(key).encode()).digest() for key in keys]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])
