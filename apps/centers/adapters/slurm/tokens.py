"""The tokens that slurmrestd takes: JSON web tokens signed with HS256, which name a user of the cluster."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _

from apps.centers.adapters.base import CenterRefused
from apps.kernel.control_characters import has_control

# The centre's clock may be an hour ahead of ours, and its token has to serve a call all the same.
LIFE_S = 3 * 3600
_KEY_BYTES_MIN = 16


class Credential:
    """Who the portal is at a cluster: a user, with a token that was made there or a key that tokens are made with."""

    def __init__(self, user: str, token: str, key: str, clock: Callable[[], float]) -> None:
        """Raises CenterRefused where there is not exactly one of the two, and for a token of somebody else's."""
        self.user = user.strip()
        self._clock = clock
        if self.user in ("root", "0"):
            raise CenterRefused(_("Jobs are not run as root: name another user of the cluster."))
        if has_control(self.user) or " " in self.user:
            raise CenterRefused(_("This is no name of a user."))
        if bool(token.strip()) == bool(key.strip()):
            raise CenterRefused(_("Fill in either a token or a signing key."))
        self._key = _key_of(key.strip()) if key.strip() else b""
        self._token = token.strip().removeprefix("SLURM_JWT=")
        self.ends_at: datetime | None = None
        if self._token:
            self._token_check()

    def headers(self) -> dict[str, str]:
        """What goes with each call."""
        return {"X-SLURM-USER-NAME": self.user, "X-SLURM-USER-TOKEN": self._token or self._made()}

    @property
    def is_past(self) -> bool:
        """Whether a token that was made at the cluster has ended by this portal's clock."""
        return self.ends_at is not None and self.ends_at.timestamp() <= self._clock()

    def _made(self) -> str:
        now_s = int(self._clock())
        claims = {"exp": now_s + LIFE_S, "iat": now_s, "sun": self.user}
        signed = f"{_part({'alg': 'HS256', 'typ': 'JWT'})}.{_part(claims)}"
        return f"{signed}.{_text(hmac.digest(self._key, signed.encode(), hashlib.sha256))}"

    def _token_check(self) -> None:
        claims = _claims_of(self._token)
        if claims.get("sun") == "root":
            raise CenterRefused(_("This token is root's: make one of another user of the cluster."))
        if claims.get("sun", self.user) != self.user:
            raise CenterRefused(
                _("This token is of %(owner)s, not of %(user)s.")
                % {"owner": str(claims["sun"])[:64], "user": self.user}
            )
        try:
            self.ends_at = datetime.fromtimestamp(int(claims["exp"]), UTC) if "exp" in claims else None
        except (ValueError, TypeError, OverflowError, OSError) as error:
            raise CenterRefused(_("This is no token: its end is no time.")) from error


def _key_of(text: str) -> bytes:
    try:
        key = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise CenterRefused(_("The signing key is not in base64.")) from error
    if len(key) < _KEY_BYTES_MIN:
        raise CenterRefused(_("A signing key has at least %(bytes)s bytes.") % {"bytes": _KEY_BYTES_MIN})
    return key


def _claims_of(token: str) -> dict[str, Any]:
    parts = token.split(".")
    try:
        found = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (IndexError, ValueError, RecursionError) as error:
        raise CenterRefused(_("This is no token: it has not the form of a JSON web token.")) from error
    if len(parts) != 3 or not isinstance(found, dict) or not token.isascii() or has_control(token):
        raise CenterRefused(_("This is no token: it has not the form of a JSON web token."))
    return found


def _part(value: dict[str, Any]) -> str:
    return _text(json.dumps(value, separators=(",", ":")).encode())


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
