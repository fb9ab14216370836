"""What would go wrong later, found before anything is started."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

import psutil

from portal.devstack.errors import LocalError
from portal.devstack.servers import ports

FREE_MIB_MIN = 500


def check(var_dir: Path, *, host: str, port: int) -> None:
    """Refuse in one line where the portal could not run.

    Raises:
        LocalError: the cause and the cure.
    """
    check_folder(var_dir)
    check_space(var_dir)
    check_port(host, port)


def check_folder(var_dir: Path) -> None:
    """Refuse a data folder that we cannot write to."""
    try:
        var_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LocalError(
            f"{var_dir} cannot be made ({error.strerror}): name another with WEIR_VAR_DIR"
        ) from error
    closed = [
        path for path in (var_dir, var_dir / "run", var_dir / "log") if path.exists() and not _is_ours(path)
    ]
    if closed:
        raise LocalError(
            f"{closed[0]} belongs to another user: run as that user, or name another with WEIR_VAR_DIR"
        )


def check_space(var_dir: Path) -> None:
    """Refuse a disk that is nearly full."""
    free_mib = shutil.disk_usage(var_dir).free // 2**20
    if free_mib < FREE_MIB_MIN:
        raise LocalError(
            f"only {free_mib} MiB are free where {var_dir} is and {FREE_MIB_MIN} are needed: "
            "free some, or name a folder on another disk with WEIR_VAR_DIR"
        )


def check_port(host: str, port: int) -> None:
    """Refuse a port that somebody listens on already."""
    if port < 1024 and os.geteuid() != 0 and not ports.is_free(port, host):
        raise LocalError(f"port {port} is closed to ordinary users: choose another, WEIR_PORT=8001 make run")
    if not ports.is_free(port, host):
        raise LocalError(
            f"port {port} is taken{_listener(port)}: stop what listens there or choose another, "
            f"WEIR_PORT={port + 1 if port < 65535 else 8000} make run"
        )


def _is_ours(path: Path) -> bool:
    return os.access(path, os.W_OK | os.X_OK)


def _listener(port: int) -> str:
    with suppress(psutil.Error, OSError):
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port and connection.pid:
                return f" by {psutil.Process(connection.pid).name()} (process {connection.pid})"
    return ""
