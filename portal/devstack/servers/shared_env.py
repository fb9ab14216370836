"""The environment of a portal that runs here, for commands started beside it without settings of their own.

`python manage.py conformance` examines the portal of `make run` that way.
"""

import json
from collections.abc import MutableMapping
from pathlib import Path

from portal.devstack.bootstrap import ROOT
from portal.devstack.servers.processes import identity_read, text_write

_FILE = "server.json"


def lend_write(var_dir: Path, variables: dict[str, str]) -> None:
    """Leave the server's variables beside its data, readable by its owner alone: they hold its secrets."""
    text_write(var_dir / "run" / _FILE, json.dumps(variables))


def lend_end(var_dir: Path) -> None:
    """The portal has stopped: there is nothing to lend."""
    (var_dir / "run" / _FILE).unlink(missing_ok=True)


def borrow(environment: MutableMapping[str, str]) -> bool:
    """Take the variables of the portal that runs on WEIR_VAR_DIR, where none are given; whether one does."""
    if "WEIR_DATABASE_URL" in environment:
        return False
    run_dir = Path(environment.get("WEIR_VAR_DIR") or ROOT / "var").resolve() / "run"
    owner = identity_read(run_dir / "stack.pid")
    if owner is None or not owner.is_alive():
        return False
    try:
        found = json.loads((run_dir / _FILE).read_text())
    except (OSError, ValueError):
        return False
    environment.update(found)
    return True
