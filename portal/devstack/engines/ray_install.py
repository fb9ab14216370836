"""Puts the Ray of requirements/ray.txt into an environment of its own, outside the checkout: `make ray`.

It weighs some 300 MiB and brings other versions of what the portal has, so it is in no lock of the portal's.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

_PATIENCE_S = 900
LOCK = Path(__file__).parents[3] / "requirements" / "ray.txt"


def ray_folder() -> Path:
    """Where the locked Ray is for this Python: another lock, another folder."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    digest = hashlib.sha256(f"{sys.version_info[:2]}".encode() + LOCK.read_bytes()).hexdigest()
    return cache / "weir" / f"ray-{digest[:16]}"


def ray_lacks() -> str:
    """Why no Ray can be started here; "" where one can."""
    return "" if (ray_folder() / "whole").exists() else "Ray is not installed: `make ray`"


def install() -> None:
    """Install it where it is not there; quick where it is. What broke off is begun anew.

    Raises:
        CalledProcessError: pip could not, and has said why.
    """
    folder = ray_folder()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("a") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not ray_lacks():
            return
        shutil.rmtree(folder, ignore_errors=True)
        venv.EnvBuilder(symlinks=True).create(folder)
        words = ["--no-input", "--no-deps", "--require-hashes", "--disable-pip-version-check", "--quiet"]
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install"]
        subprocess.run(
            [*pip, *words, "-r", str(LOCK)], check=True, stdin=subprocess.DEVNULL, timeout=_PATIENCE_S
        )
        (folder / "whole").touch()


if __name__ == "__main__":
    try:
        install()
    except (OSError, subprocess.SubprocessError) as error:
        sys.exit(f"weir: Ray cannot be installed: {error}")
