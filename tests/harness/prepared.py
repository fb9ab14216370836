"""A portal's folder, its database migrated, seeded or left empty: made once for each state of the code, then copied.

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
from portal.devstack.servers.processes import last_lines
from portal.devstack.servers.servers import Servers
from tests.harness.database import ROOT, VAR, turn

_CODE = ("apps", "portal", "workflows", "node_agent/protocol")
_TEXTS = (".py", ".json", ".yaml", ".xml", ".bpmn")
_PACKAGES = ROOT / "requirements" / "base.txt"
_KEPT = ("pg.password", "secret.key", "demo.password", "setup.token", "release.key")


def folder_prepare(var_dir: Path, *, is_demo: bool) -> None:
    """Make the folder as the first start of a portal leaves it. Its secrets are those of the copies beside it."""
    with turn("stacks"):
        template = VAR / "stacks" / _fingerprint() / ("demo" if is_demo else "empty")
        if not template.is_dir():
            _make(template, is_demo=is_demo)
        shutil.copytree(template / "pg", var_dir / "pg")
        (var_dir / "run").mkdir(mode=0o755)
        for name in _KEPT:
            if (kept := template / "run" / name).exists():
                shutil.copy2(kept, var_dir / "run" / name)


def _fingerprint() -> str:
    """Changes with the server's code, its packages and the day: what is seeded counts from today."""
    digest = hashlib.sha256(datetime.now(UTC).date().isoformat().encode())
    files = [path for part in _CODE for path in (ROOT / part).rglob("*") if path.suffix in _TEXTS]
    for file in sorted([*files, _PACKAGES, Path(__file__)]):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def _make(template: Path, *, is_demo: bool) -> None:
    """Under a draft name: a kill in the middle leaves none that looks whole. Those of other states go."""
    for other in template.parent.parent.glob("*"):
        if other != template.parent:
            shutil.rmtree(other)
    draft = template.with_name("draft")
    shutil.rmtree(draft, ignore_errors=True)
    servers = Servers(draft, durable=False)
    try:
        options = Options(var_dir=draft, is_demo=is_demo)
        _migrate_and_seed({**os.environ, **server_environment(options, servers)}, draft, is_demo=is_demo)
    finally:
        servers.stop()
    draft.rename(template)


def _migrate_and_seed(environment: dict[str, str], draft: Path, *, is_demo: bool) -> None:
    log = draft / "log" / "prepare.log"
    how = [] if is_demo else ["--empty"]
    command = [sys.executable, "-m", "portal.devstack.setup", str(draft / "run" / "prepare.json"), *how]
    with log.open("wb") as output:
        done = subprocess.run(command, check=False, cwd=ROOT, env=environment, stdout=output, stderr=output)
    assert done.returncode == 0, last_lines(log)
