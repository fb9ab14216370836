"""VS Code's server as work: how it is started, what is said where it is not installed, and, where it is, its page."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from node_agent.web import vscode
from node_agent.web.work_socket import VARIABLE

pytestmark = pytest.mark.req("PLAT-AICFG-14")
ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "node_agent.web.vscode"]


@pytest.mark.parametrize("name", [vscode.CODE_SERVER, vscode.OPENVSCODE_SERVER])
def test_it_listens_on_the_works_socket_and_keeps_its_settings_in_the_works_folder(name, tmp_path):
    command = vscode.command_of(f"/usr/bin/{name}", "/run/web.sock", tmp_path)
    assert command[0] == f"/usr/bin/{name}"
    assert "/run/web.sock" in command
    assert str(tmp_path / ".vscode") in command
    assert not [word for word in command if "0.0.0.0" in word or "--port" in word or "--bind" in word]


def test_it_is_found_by_name_where_work_sees_programs(tmp_path, monkeypatch):
    monkeypatch.setattr(vscode, "_PLACES", (str(tmp_path / "none"), str(tmp_path)))
    assert vscode.server_find() == ""
    for name in (vscode.OPENVSCODE_SERVER, vscode.CODE_SERVER):
        (tmp_path / name).write_text("#!/bin/sh\n")
        assert vscode.server_find() != str(tmp_path / name), "it cannot be run"
        (tmp_path / name).chmod(0o755)
        assert vscode.server_find() == str(tmp_path / name)


def test_what_lacks_is_said(tmp_path):
    env = {**os.environ, "HOME": str(tmp_path)}
    env.pop(VARIABLE, None)
    done = subprocess.run(COMMAND, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, "`--web`" in done.stderr) == (2, True)
    if not vscode.server_find():
        env[VARIABLE] = str(tmp_path / "web")
        done = subprocess.run(COMMAND, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)
        assert (done.returncode, "its operator installs code-server" in done.stderr) == (2, True)


def test_its_page_comes_by_the_socket(tmp_path):
    if not vscode.server_find():
        pytest.skip("code-server is not installed")
    place = tmp_path / "web"
    env = {**os.environ, "HOME": str(tmp_path), VARIABLE: str(place)}
    running = subprocess.Popen(COMMAND, cwd=ROOT, env=env)
    try:
        end_s = time.monotonic() + 90
        while b"vscode" not in (answer := _asked(place)).lower():
            assert time.monotonic() < end_s, answer[:500]
            time.sleep(0.5)
        assert place.stat().st_mode & 0o777 == 0o600
    finally:
        running.terminate()
        running.wait(30)


def _asked(place: Path) -> bytes:
    asking = socket.socket(socket.AF_UNIX)
    asking.settimeout(20)
    try:
        asking.connect(str(place))
        asking.sendall(b"GET /?folder=/tmp HTTP/1.1\r\nHost: w-1.env.localhost\r\nConnection: close\r\n\r\n")
        found = b""
        while piece := asking.recv(65536):
            found += piece
        return found
    except OSError as error:
        return str(error).encode()
    finally:
        asking.close()
