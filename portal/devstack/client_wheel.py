"""Builds the wheel of the client that the portal hands out (`client/dist/`), where it is missing or old."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from portal.devstack.bootstrap import ROOT
from portal.devstack.errors import LocalError

DIST = ROOT / "client" / "dist"
_SOURCES = ("client/pyproject.toml", "client/weir", "weir_wire")
_BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
# The earliest time that a zip file can hold: the same tree gives the same bytes on every server.
_EPOCH_S = "315532800"
_TIMEOUT_S = 300


def build_old(dist: Path = DIST) -> bool:
    """Bring the wheel in `dist` up to date with the tree; whether there was anything to do.

    Raises:
        LocalError: the build failed; the text says why.
    """
    stamp, wanted = dist / "inputs.sha256", _fingerprint()
    if stamp.exists() and stamp.read_text() == wanted and any(dist.glob("*.whl")):
        return False
    dist.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=dist, prefix=".build-") as folder:
        wheel = _built(Path(folder))
        wheel.chmod(0o644)
        # Whoever is served it meanwhile gets the old one whole or the new one whole.
        wheel.replace(dist / wheel.name)
    for old in set(dist.glob("*.whl")) - {dist / wheel.name}:
        old.unlink()
    stamp.write_text(wanted)
    return True


def _fingerprint() -> str:
    digest = hashlib.sha256()
    for path in _inputs():
        digest.update(f"{path.relative_to(ROOT)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _inputs() -> Iterator[Path]:
    for source in (ROOT / name for name in _SOURCES):
        found = [source] if source.is_file() else sorted(source.rglob("*"))
        yield from (path for path in found if path.is_file() and "__pycache__" not in path.parts)


def _built(folder: Path) -> Path:
    """Build in a copy: setuptools leaves its working files beside the sources."""
    copy, out = folder / "tree", folder / "out"
    for path in _inputs():
        target = copy / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        target.chmod(0o644)
    out.mkdir()
    result = subprocess.run(
        [sys.executable, "-c", _BUILD, str(out)],
        check=False,
        cwd=copy / "client",
        env={**os.environ, "SOURCE_DATE_EPOCH": _EPOCH_S},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_TIMEOUT_S,
    )
    if result.returncode:
        lines = result.stdout.strip().splitlines() or ["no reason given"]
        raise LocalError(f"the client's wheel was not built: {lines[-1]}")
    return next(out.glob("*.whl"))
