"""The wheel of the client that this portal hands out, as its build left it (portal.devstack.client_wheel)."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from apps.kernel.errors import NotFound


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel: its file name, its version, its bytes and their SHA-256 in hexadecimal digits."""

    name: str
    content: bytes

    @property
    def version(self) -> str:
        return self.name.split("-")[1]

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def wheel_get() -> Wheel | None:
    """The wheel; None where this portal was set up without one."""
    found: list[Path] = sorted(settings.WEIR_CLIENT_DIST.glob("weir_client-*.whl"))
    return Wheel(found[-1].name, found[-1].read_bytes()) if found else None


def wheel_named(name: str) -> Wheel:
    """The wheel of this file name.

    Raises:
        NotFound: there is none of that name, or none any more.
    """
    found = wheel_get()
    if found is None or found.name != name:
        raise NotFound()
    return found
