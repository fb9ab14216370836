"""How mail is sent, from one address: `smtp://user:password@host:25`, `smtp+tls://…:587`, `smtps://…:465`, or
`file:///folder` which writes each mail to a file."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

TIMEOUT_S = 15
_PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}
_BACKENDS = "django.core.mail.backends"


def email_settings(url: str, var_dir: Path) -> dict[str, Any]:
    """Django's settings for an address; without one, mails are files under `var_dir`/mail.

    Raises:
        ValueError: the address names no way of sending that is known.
    """
    parts = urlsplit(url or (var_dir / "mail").absolute().as_uri())
    if parts.scheme == "file":
        return {
            "EMAIL_BACKEND": f"{_BACKENDS}.filebased.EmailBackend",
            "EMAIL_FILE_PATH": unquote(parts.path),
        }
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("an address like smtp://host:25, smtp+tls://, smtps:// or file:///folder")
    return {
        "EMAIL_BACKEND": f"{_BACKENDS}.smtp.EmailBackend",
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": parts.port or _PORTS[parts.scheme],
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_TLS": parts.scheme == "smtp+tls",
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_TIMEOUT": TIMEOUT_S,
    }
