"""VS Code in the browser as a slice's work: `python -m node_agent.web.vscode [more options of its server]`.

Its server is not part of the agent: code-server, or openvscode-server, is found by name where its operator has put
it. It listens on the work's socket alone, which nobody but the portal's gateway reaches; who may open it is decided
there, so it asks for no password. Its files are the work's folder.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from node_agent.web.work_socket import VARIABLE

CODE_SERVER, OPENVSCODE_SERVER = "code-server", "openvscode-server"
# Where work sees programs of its node.
_PLACES = ("/usr/local/bin", "/usr/bin", "/opt/code-server/bin", "/opt/openvscode-server/bin")


def server_find() -> str:
    """Where VS Code's server is on this machine; "" where there is none."""
    places = os.pathsep.join(_PLACES)
    for name in (CODE_SERVER, OPENVSCODE_SERVER):
        if found := shutil.which(name, path=places):
            return found
    return ""


def command_of(server: str, socket: str, home: Path) -> list[str]:
    """What is to run, so that it listens on `socket` and shows `home`."""
    if Path(server).name == OPENVSCODE_SERVER:
        data = ["--server-data-dir", str(home / ".vscode")]
        options = ["--socket-path", socket, "--without-connection-token", "--telemetry-level", "off", *data]
        return [server, *options, "--accept-server-license-terms", "--default-folder", str(home)]
    data = ["--user-data-dir", str(home / ".vscode"), "--extensions-dir", str(home / ".vscode/extensions")]
    quiet = ["--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"]
    return [server, "--socket", socket, "--socket-mode", "600", "--auth", "none", *quiet, *data, str(home)]


def main(more: list[str]) -> None:
    """Become VS Code's server. Exits with 2 and the cause where that cannot be."""
    listens_on = os.environ.get(VARIABLE, "")
    if not listens_on:
        _refuse("this work was submitted without its web pages: submit it with `--web`")
    server = server_find()
    if not server:
        _refuse(
            "VS Code's server is not installed on this node: its operator installs code-server or openvscode-server, "
            "so that it is found by name"
        )
    home = Path(os.environ.get("HOME", os.getcwd()))
    command = command_of(server, listens_on, home)
    # A socket that an earlier start left behind is nobody's.
    Path(listens_on).unlink(missing_ok=True)
    os.environ.setdefault("SHELL", "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh")
    os.execv(server, [*command, *more])


def _refuse(cause: str) -> None:
    print(cause, file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
