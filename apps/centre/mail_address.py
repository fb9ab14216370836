"""Where mail goes, written as one address: `smtp://user:password@host:25`, `smtp+tls://…:587`, `smtps://…:465`, or
`file:///folder` which writes each mail to a file."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import unquote, urlsplit

TIMEOUT_S = 15
# How often a mail with a link is tried, and how long whoever tries it keeps it from others: a server takes less.
MAIL_TRIES_MAX = 5
MAIL_LEASE = timedelta(seconds=60)
# The scheme of each kind of protection, with its usual port.
_SCHEMES = {"smtp": ("none", 25), "smtp+tls": ("starttls", 587), "smtps": ("tls", 465)}
_BACKENDS = "django.core.mail.backends"


@dataclass(frozen=True, slots=True)
class MailServer:
    """A server that takes mail. `security` is a value of `MailSecurity`."""

    host: str
    port: int
    security: str = "none"
    username: str = ""
    password: str = field(default="", repr=False)

    def backend(self) -> dict[str, Any]:
        """What Django's `get_connection` takes to send by it."""
        return {
            "backend": f"{_BACKENDS}.smtp.EmailBackend",
            "host": self.host,
            "port": self.port,
            "username": self.username,
            "password": self.password,
            "use_tls": self.security == "starttls",
            "use_ssl": self.security == "tls",
            "timeout": TIMEOUT_S,
        }


@dataclass(frozen=True, slots=True)
class MailFolder:
    """A folder in which each mail becomes a file."""

    path: str

    def backend(self) -> dict[str, Any]:
        """What Django's `get_connection` takes to write there."""
        return {"backend": f"{_BACKENDS}.filebased.EmailBackend", "file_path": self.path}


def mail_address(url: str) -> MailServer | MailFolder | None:
    """What an address names; None for none.

    Raises:
        ValueError: it names no way of sending that is known.
    """
    if not url:
        return None
    parts = urlsplit(url)
    if parts.scheme == "file":
        return MailFolder(unquote(parts.path))
    if parts.scheme not in _SCHEMES or not parts.hostname:
        raise ValueError("an address like smtp://host:25, smtp+tls://, smtps:// or file:///folder")
    security, port = _SCHEMES[parts.scheme]
    return MailServer(
        parts.hostname,
        parts.port or port,
        security,
        unquote(parts.username or ""),
        unquote(parts.password or ""),
    )
