"""Makes `.venv` and installs the locked dependencies; runs on the bare Python of a fresh machine.

    python3 portal/devstack/bootstrap.py run|dev

Each failure ends in one line: the cause and the cure.
"""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOG = VENV / "install.log"
LOCKS = {"run": "base.txt", "dev": "dev.txt", "assets": "assets.txt"}
# The remote accelerator's hooks into PyTorch hold for one exact version, the same at both ends. It has one
# build for each kind of accelerator, so the version is pinned and not a file; `WEIR_TORCH=0` leaves it out.
TORCH = "torch==2.13.0"
SPACE_NEEDED_MIB = 2500
_CURES = (
    (
        ("No space left on device", "Disk quota exceeded"),
        "the disk is full: free about 2.5 GiB and try again",
    ),
    (
        (
            "Unable to find a compiler",
            "command 'gcc' failed",
            "command 'cc' failed",
            "No such file or directory: 'gcc'",
        ),
        "a package has no ready-made build for this machine and no C compiler is here to make one: "
        "install one (Debian: `apt-get install build-essential python3-dev`) or use Python 3.11 to 3.13",
    ),
    (
        ("DO NOT MATCH THE HASHES",),
        "a downloaded package is not the locked one: clear pip's cache or check the mirror",
    ),
    (
        (
            "Could not fetch",
            "Connection",
            "name resolution",
            "NewConnectionError",
            "ReadTimeout",
            "ProxyError",
        ),
        "the package index cannot be reached: check the network, or name a mirror in pip's own settings",
    ),
    (
        ("No matching distribution found", "Could not find a version"),
        "a locked package has no build for this Python and machine: use Python 3.11 to 3.13",
    ),
)


class Refusal(Exception):
    """Why the environment cannot be made, and what to do."""


def main(kind: str) -> None:
    """Bring `.venv` to what the locks say; quick where it is already.

    Raises:
        Refusal: it cannot be done.
    """
    VENV.mkdir(exist_ok=True)
    with (VENV / "install.lock").open("a") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        stamp = VENV / f"installed-{kind}"
        wanted = fingerprint(kind)
        if PYTHON.exists() and stamp.exists() and stamp.read_text() == wanted:
            return
        check_space()
        make_venv()
        install(kind)
        install_torch()
        link_own_packages()
        stamp.write_text(wanted)


def fingerprint(kind: str) -> str:
    """Changes whenever another install is needed."""
    digest = hashlib.sha256(f"{sys.version_info[:2]} {ROOT} {_wants_torch()}".encode())
    for path in (ROOT / "requirements" / LOCKS[kind], ROOT / "client" / "pyproject.toml", Path(__file__)):
        digest.update(path.read_bytes() if path.exists() else b"-")
    return digest.hexdigest()


def check_space() -> None:
    """Refuse before half the packages are there."""
    free_mib = shutil.disk_usage(VENV).free // 2**20
    if free_mib < SPACE_NEEDED_MIB:
        raise Refusal(
            f"{free_mib} MiB are free under {ROOT}: {SPACE_NEEDED_MIB} MiB are needed, free some first"
        )


def make_venv() -> None:
    """Make the virtual environment, or give the one that is there a pip."""
    if not PYTHON.exists():
        if importlib.util.find_spec("ensurepip") is None:
            raise Refusal(
                "this Python lacks its venv module: install it (Debian: `apt-get install python3-venv`)"
            )
        say(f"making .venv with Python {sys.version.split()[0]}")
        try:
            venv.EnvBuilder(with_pip=True, symlinks=True).create(VENV)
        except (subprocess.CalledProcessError, OSError) as error:
            PYTHON.unlink(missing_ok=True)
            raise Refusal(
                f".venv cannot be made: {error} (Debian: `apt-get install python3-venv`)"
            ) from error
    if not _has("pip"):
        _checked([str(PYTHON), "-m", "ensurepip", "--upgrade"])


def install(kind: str) -> None:
    """Install one lock file, every package by its hash."""
    say(f"installing requirements/{LOCKS[kind]} (a minute or two the first time)")
    lock = str(ROOT / "requirements" / LOCKS[kind])
    _checked([str(PYTHON), "-m", "pip", "install", "--no-input", "--no-deps", "--require-hashes", "-r", lock])


def install_torch() -> None:
    """Install PyTorch for the remote accelerator; everything else works without it, so a failure is only told."""
    if not _wants_torch():
        return
    say(f"installing {TORCH} for the remote accelerator (WEIR_TORCH=0 leaves it out)")
    try:
        _checked([str(PYTHON), "-m", "pip", "install", "--no-input", TORCH])
    except Refusal as refusal:
        say(f"the remote accelerator is left out, {TORCH} cannot be installed: {refusal}")


def _wants_torch() -> bool:
    return os.environ.get("WEIR_TORCH", "1") != "0"


def link_own_packages() -> None:
    """Make our own packages importable and the `weir` command runnable from `.venv`, without an index."""
    site = subprocess.run(
        [str(PYTHON), "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    Path(site, "weir-checkout.pth").write_text(f"{ROOT}\n{ROOT / 'client'}\n")
    command = VENV / "bin" / "weir"
    command.write_text(f"#!/bin/sh\nexec '{PYTHON}' -m weir \"$@\"\n")
    command.chmod(0o755)


def explain(output: str) -> str:
    """pip's output in one line: the cause and the cure."""
    errors = [line for line in output.splitlines() if "error" in line.lower()] or output.splitlines()[-1:]
    for signs, cure in _CURES:
        if any(sign in output for sign in signs):
            return cure
    return (errors[-1].strip() if errors else "pip gave no reason") + f" (all of it in {LOG})"


def say(text: str) -> None:
    """One line of progress."""
    print(f"weir: {text}", flush=True)


def _has(module: str) -> bool:
    return (
        subprocess.run([str(PYTHON), "-c", f"import {module}"], check=False, capture_output=True).returncode
        == 0
    )


def _checked(command: list[str]) -> None:
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    result = subprocess.run(
        command,
        check=False,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
    )
    LOG.write_text(result.stdout)
    if result.returncode:
        raise Refusal(explain(result.stdout))


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except Refusal as refusal:
        sys.exit(f"weir: {refusal}")
    except OSError as error:
        sys.exit(f"weir: {error.filename or ROOT}: {error.strerror}: check the disk and who owns the folder")
