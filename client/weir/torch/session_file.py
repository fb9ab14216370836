"""The file `weir run` leaves for the script: which sessions are its devices, and how to reach them.

WEIR_SESSION_FILE names it: JSON {"shares": [{"host", "port", "fingerprint", "token", …}]}, readable by its
owner alone, so that no credential stands in a script or an environment variable.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from weir.link import Link
from weir.link_remote import connect
from weir.torch.errors import NotAttached

VARIABLE = "WEIR_SESSION_FILE"


def shares() -> list[dict[str, Any]]:
    """The shares of the session file; none where there is no file. Raises NotAttached for an unusable one."""
    name = os.environ.get(VARIABLE)
    if not name:
        return []
    path = Path(name)
    try:
        if path.stat().st_mode & 0o077:
            raise NotAttached(f"{path} holds credentials and others may read it: chmod 600 it")
        found = json.loads(path.read_text())["shares"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotAttached(f"the session file {path} named by {VARIABLE} cannot be used: {error}") from error
    if not isinstance(found, list):
        raise NotAttached(f"the session file {path} should list its shares")
    return found


def link_to(share: dict[str, Any]) -> Link:
    """Open the session of a share. Raises OSError where it cannot be reached."""
    return connect(share["host"], int(share["port"]), share["fingerprint"], share["token"])
