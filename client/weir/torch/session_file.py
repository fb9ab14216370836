"""The file `weir run` leaves for the script: which sessions are its devices, and how to reach them.

WEIR_SESSION_FILE names it: JSON {"shares": [{"host", "port", "fingerprint", "token", …}], "is_kept"}, readable by its
owner alone, so that no credential stands in a script or an environment variable. `is_kept`: programs may use the
shares one after another, each from the beginning.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from weir.link.interface import Link
from weir.link.remote import connect
from weir.torch.errors import NotAttached
from weir_wire.handshake import HandshakeRefused

VARIABLE = "WEIR_SESSION_FILE"


def shares() -> list[dict[str, Any]]:
    """The shares of the session file; none where there is no file. Raises NotAttached for an unusable one."""
    found = _content().get("shares", [])
    if not isinstance(found, list):
        raise NotAttached(f"the session file named by {VARIABLE} should list its shares")
    return found


def _content() -> dict[str, Any]:
    name = os.environ.get(VARIABLE)
    if not name:
        return {}
    path = Path(name)
    try:
        if path.stat().st_mode & 0o077:
            raise NotAttached(f"{path} holds credentials and others may read it: chmod 600 it")
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise NotAttached(f"the session file {path} named by {VARIABLE} cannot be used: {error}") from error
    if not isinstance(found, dict) or "shares" not in found:
        raise NotAttached(f"the session file {path} should list its shares")
    return found


def link_to(share: dict[str, Any]) -> Link:
    """Open the session of a share.

    Raises OSError where it cannot be reached, NotAttached while another process has it.
    """
    place = share["host"], int(share["port"]), share["fingerprint"], share["token"]
    try:
        return connect(*place, is_kept=bool(_content().get("is_kept")))
    except HandshakeRefused as refusal:
        if refusal.code == "busy":
            raise NotAttached(
                "another process has this session: programs use it one after another. Let that one end, or run each"
                " under a `weir run` of its own; processes of torchrun take one each of `weir run --gpus`, the device"
                " weir:LOCAL_RANK"
            ) from None
        raise
