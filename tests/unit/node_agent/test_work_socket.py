"""The socket of work's web pages: what the agent connects to for a browser, and what no work makes it connect to."""

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from node_agent.web.work_socket import SOCKET, NotListening, TooBusy, WorkSocket

pytestmark = pytest.mark.req("PLAT-CMP-10")
NOBODY = 65534


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose path is longer than a socket's address may be."""
    deep = tmp_path / ("a" * 100) / ("b" * 100)
    deep.mkdir(parents=True)
    return deep


@pytest.fixture
def listener(folder: Path) -> Iterator[socket.socket]:
    with listening(folder / SOCKET) as made:
        yield made


def listening(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(path.parent)
    try:
        made.bind(path.name)
    finally:
        os.chdir(here)
    made.listen(1)
    return made


def test_the_work_is_reached_however_long_its_folder_is_called(folder: Path, listener: socket.socket) -> None:
    with WorkSocket(folder, os.geteuid()).connect() as made:
        accepted, _address = listener.accept()
        with accepted:
            accepted.sendall(b"hello")
        made.setblocking(True)
        assert made.recv(16) == b"hello"


def test_before_it_listens_that_is_said(folder: Path) -> None:
    with pytest.raises(NotListening, match="no socket yet"):
        WorkSocket(folder, None).connect()
    listening(folder / SOCKET).close()
    with pytest.raises(NotListening, match="nobody listens"):
        WorkSocket(folder, None).connect()


def test_a_full_queue_is_busy_and_no_end(folder: Path, listener: socket.socket) -> None:
    with ExitStack() as held:
        # The kernel's queue holds one more than was asked for.
        for _ in range(2):
            held.enter_context(WorkSocket(folder, None).connect())
        with pytest.raises(TooBusy):
            WorkSocket(folder, None).connect()


@pytest.mark.parametrize("kind", ["link", "link of the folder", "file"])
def test_what_is_no_socket_of_its_own_is_not_opened(folder: Path, tmp_path: Path, kind: str) -> None:
    """A link to a socket that the agent may use and the work may not: a database's, a container engine's."""
    with listening(tmp_path / "database.sock"):
        if kind == "link":
            (folder / SOCKET).symlink_to(tmp_path / "database.sock")
        elif kind == "file":
            (folder / SOCKET).write_text("")
        else:
            other = tmp_path / "other"
            other.mkdir()
            (tmp_path / "database.sock").rename(other / SOCKET)
            folder.rmdir()
            folder.symlink_to(other)
        with pytest.raises(NotListening):
            WorkSocket(folder, os.geteuid()).connect()


def test_a_socket_of_another_user_is_not_opened(folder: Path, listener: socket.socket) -> None:
    with pytest.raises(NotListening, match="no socket of the work"):
        WorkSocket(folder, NOBODY).connect()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file to another user, as root alone may")
def test_a_listener_of_another_user_is_not_spoken_to(folder: Path, listener: socket.socket) -> None:
    """The socket's file is the work's, and who listens on it is not: it was given away, or was linked to."""
    os.chown(folder / SOCKET, NOBODY, NOBODY)
    with pytest.raises(NotListening, match="who listens there"):
        WorkSocket(folder, NOBODY).connect()
