"""ESLint over our own scripts in static/, by the locked packages of gates/scripts/ (no part of what a portal runs)."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from gates.sources import ROOT
from portal.devstack.assets import Node, node_find
from portal.devstack.errors import LocalError

FOLDER = ROOT / "gates" / "scripts"
CONFIG = "gates/scripts/eslint.config.js"
_TIMEOUT_S = 600


def check(*files: str) -> int:
    """Check these files, by default all of static/; ESLint's exit status, 0 where nothing is wrong.

    Raises LocalError where there is no Node or its packages cannot be installed.
    """
    node = node_find()
    _install(node)
    eslint = FOLDER / "node_modules" / "eslint" / "bin" / "eslint.js"
    return _run(node, ROOT, str(eslint), "--config", CONFIG, "--max-warnings", "0", *(files or ("static",)))


def _install(node: Node) -> None:
    lock = hashlib.sha256((FOLDER / "package-lock.json").read_bytes()).hexdigest()
    stamp = FOLDER / "node_modules" / ".weir-lock.sha256"
    if stamp.exists() and stamp.read_text() == lock:
        return
    if _run(node, FOLDER, str(node.npm), "ci", "--no-audit", "--no-fund", "--loglevel=error"):
        raise LocalError("the packages that check scripts cannot be installed: see npm's own words above")
    stamp.write_text(lock)


def _run(node: Node, folder: Path, *arguments: str) -> int:
    path = f"{node.program.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    command = [str(node.program), *arguments]
    environment = {**os.environ, "PATH": path}
    return subprocess.run(
        command, check=False, cwd=folder, env=environment, stdin=subprocess.DEVNULL, timeout=_TIMEOUT_S
    ).returncode


if __name__ == "__main__":
    try:
        sys.exit(check(*sys.argv[1:]))
    except LocalError as error:
        sys.exit(f"weir: {error}")
