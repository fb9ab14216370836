"""The setup token: who can read a file on the server may set the centre up, and nobody else on the network."""

import os
import secrets
from pathlib import Path

from django.conf import settings
from django.utils.crypto import constant_time_compare


def setup_token_make() -> str:
    """The token, made when there is none; its file is readable by the portal's own account only."""
    path = _path()
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text().strip() or _written(path)
    os.close(descriptor)
    return _written(path)


def setup_token_is(given: str) -> bool:
    """Whether this is the token; never while there is none."""
    try:
        kept = _path().read_text().strip()
    except OSError:
        return False
    return bool(kept) and constant_time_compare(given.strip(), kept)


def setup_token_end() -> None:
    """Let nobody in by it any more."""
    _path().unlink(missing_ok=True)


def _written(path: Path) -> str:
    token = secrets.token_urlsafe(24)
    path.write_text(f"{token}\n")
    return token


def _path() -> Path:
    return Path(settings.WEIR_SETUP_TOKEN)
