"""The secret at the end of an invitation's link."""

import secrets

from apps.identity.services.tokens import digest_of


def secret_make() -> tuple[str, str]:
    """A new secret, and its digest, which alone is kept."""
    secret = "weirinv_" + secrets.token_urlsafe(32)
    return secret, digest_of(secret)
