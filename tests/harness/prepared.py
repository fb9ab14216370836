"""A portal's folder, its database migrated and seeded: made once for each state of the code, then copied.

Migrating and seeding takes half a minute of a core, and several stories start portals of their own.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from portal.devstack.environment import server_environment
from portal.devstack.options import Options
from portal.devstack.processes import last_lines
from portal.devstack.servers import Servers
from tests.harness.database import ROOT, VAR, turn

_CODE = ("apps", "portal", "workflows", "node_agent/protocol")
_TEXTS = (".py", ".json", ".yaml", ".xml", ".bpmn")
_PACKAGES = ROOT / "requirements" / "base.txt"
_KEPT = ("pg.password", "secret.key", "demo.password", "release.key")


def folder_prepare(var_dir: Path) -> None:
    """Make the folder as the first start of a portal leaves it. Its secrets are those of the copies beside it."""
    with turn("stacks"):
        template = VAR / "stacks" / _fingerprint()
        if not template.is_dir():
            _make(template)
        shutil.copytree(template / "pg", var_dir / "pg")
        (var_dir / "run").mkdir(mode=0o755)
        for name in _KEPT:
            shutil.copy2(template / "run" / name, var_dir / "run" / name)


def _fingerprint() -> str:
    """Changes with the server's code, its packages and the day: what is seeded counts from today."""
    digest = hashlib.sha256(datetime.now(UTC).date().isoformat().encode())
    files = [path for part in _CODE for path in (ROOT / part).rglob("*") if path.suffix in _TEXTS]
    for file in sorted([*files, _PACKAGES, Path(__file__)]):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def _make(template: Path) -> None:
    """Under a draft name: a kill in the middle leaves none that looks whole. Those of other states go."""
    shutil.rmtree(template.parent, ignore_errors=True)
    draft = template.with_name("draft")
    servers = Servers(draft, durable=False)
    try:
        _migrate_and_seed({**os.environ, **server_environment(Options(var_dir=draft), servers)}, draft)
    finally:
        servers.stop()
    draft.rename(template)


def _migrate_and_seed(environment: dict[str, str], draft: Path) -> None:
    log = draft / "log" / "prepare.log"
    command = [sys.executable, "-m", "portal.devstack.setup", str(draft / "run" / "prepare.json")]
    with log.open("wb") as output:
        done = subprocess.run(command, check=False, cwd=ROOT, env=environment, stdout=output, stderr=output)
    assert done.returncode == 0, last_lines(log)
