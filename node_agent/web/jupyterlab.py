"""JupyterLab as a slice's work: `python -m node_agent.web.jupyterlab [more options of JupyterLab]`.

It listens on the work's socket alone, which nobody but the portal's gateway reaches; who may open it is decided there,
so it asks for no token. Its files are the work's folder.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from node_agent.web.work_socket import VARIABLE

# Of a Unix socket's path, and of the name that a kernel gives its own.
_SOCKET_CHARS_MAX, _KERNEL_SOCKET_CHARS = 107, len("/kernel-00000000-0000-0000-0000-000000000000-ipc-00")
_OPTIONS = (
    "--no-browser",
    "--ServerApp.sock_mode=0600",
    "--IdentityProvider.token=",
    "--PasswordIdentityProvider.hashed_password=",
    # Its host name is the gateway's business; that a page of another origin cannot use it is checked as ever.
    "--ServerApp.allow_remote_access=True",
    "--ServerApp.quit_button=False",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
)


def main(more: list[str]) -> None:
    """Become JupyterLab. Exits with 2 and the cause where that cannot be."""
    listens_on = os.environ.get(VARIABLE, "")
    if not listens_on:
        _refuse("this work was submitted without its web pages: submit it with `--web`")
    if importlib.util.find_spec("jupyterlab") is None:
        _refuse(
            "JupyterLab is not installed on this node: its operator installs it beside the agent, "
            "by `pip install 'weir-node-agent[jupyter]'`"
        )
    root = Path(os.environ.get("HOME", os.getcwd()))
    _quiet(root)
    own = [
        f"--ServerApp.sock={listens_on}",
        f"--ServerApp.root_dir={root}",
        *_kernels(Path(listens_on).parent),
    ]
    os.environ.setdefault("SHELL", "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh")
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *_OPTIONS, *own, *more])


def _kernels(folder: Path) -> list[str]:
    """Kernels speak by sockets in a folder of the work's own, and not by ports that all work of the node sees.

    Where the folder's path is too long for sockets nothing is said, and they use ports: what they send is signed, not
    hidden.
    """
    runtime = folder / "jupyter"
    if len(str(runtime)) + _KERNEL_SOCKET_CHARS > _SOCKET_CHARS_MAX:
        return []
    runtime.mkdir(mode=0o700, exist_ok=True)
    os.environ["JUPYTER_RUNTIME_DIR"] = str(runtime)
    return ["--KernelManager.transport=ipc"]


def _quiet(root: Path) -> None:
    """Nobody is asked whether he wants news of Jupyter's, until he says so in its settings."""
    settings = (
        root / ".jupyter/lab/user-settings/@jupyterlab/apputils-extension/notification.jupyterlab-settings"
    )
    if not settings.exists():
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text('{"fetchNews": "false"}')


def _refuse(cause: str) -> None:
    print(cause, file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
