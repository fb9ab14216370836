"""An SSH server for one client of this machine, whose sessions run beside work: `ssh` starts it as its proxy.

Nothing of SSH has to be where the work runs. Keys are made here for this person and this work; they part the client
from other programs of this machine, and say nothing to the portal, which knows the caller by his own sign-in. What the
client asks for goes by the connections that `weir exec` and `weir port-forward` use, within the work's walls.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh

from weir.api import Client
from weir.errors import WeirClientError
from weir.execution import Execution
from weir_wire.execution import Channel

USER = "work"
# What the shim runs by itself, as OpenSSH calls it.
_SFTP = "internal-sftp"
_CHUNK_BYTES = 64 * 1024
# So many pieces of a client's may wait; then it is not read from.
_WAITING = 16
_THREADS = 200
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})  # noqa: S104
_SIGNALS = frozenset({"HUP", "INT", "QUIT", "KILL", "USR1", "USR2", "TERM"})


@dataclass(frozen=True, slots=True)
class Keys:
    """The two keys of a work, in a folder that only its owner may open: `host`, by which the client knows the server,
    and `own`, by which the server knows the client. `known` is what the client reads of the first."""

    folder: Path

    @property
    def host(self) -> Path:
        return self.folder / "host"

    @property
    def own(self) -> Path:
        return self.folder / "own"

    @property
    def known(self) -> Path:
        return self.folder / "known_hosts"

    def make(self, name: str) -> None:
        """Make what is not there yet; `name` is what the client calls the host."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in (self.host, self.own):
            if not path.exists():
                _private_write(path, asyncssh.generate_private_key("ssh-ed25519").export_private_key())
        public = asyncssh.read_private_key(self.host).export_public_key().decode().strip()
        self.known.write_text(f"{name} {public}\n")


def _private_write(path: Path, content: bytes) -> None:
    """Whole or not at all, whoever makes it at the same time."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
    with suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()


class _Server(asyncssh.SSHServer):
    """Whom the connection belongs to is known by the key that was made for it."""

    def __init__(self, beside: _Beside) -> None:
        self._beside = beside
        self._connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn

    def begin_auth(self, username: str) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def session_requested(self) -> Any:
        assert self._connection is not None
        return self._connection.create_server_channel(encoding=None), _Session(self._beside)

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> Any:
        """Ports of the work alone: nobody gets further from there by this."""
        if dest_host not in _LOCAL:
            text = f"only ports of the work itself, on localhost, not {dest_host}"
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED, text)
        return lambda reader, writer: _port_carry(self._beside, dest_port, reader, writer)


class _Beside:
    """What runs beside one share of a work."""

    def __init__(self, client: Client, uid: str, share: int) -> None:
        self._client, self._uid, self._share = client, uid, share

    async def run(self, argv: Sequence[str], *, tty: bool, **terminal: Any) -> Execution:
        """A process beside it. Raises WeirClientError."""
        return await asyncio.to_thread(self._run, argv, tty, terminal)

    def _run(self, argv: Sequence[str], tty: bool, terminal: dict[str, Any]) -> Execution:
        opened = self._client.workload_exec(self._uid, argv, tty=tty, share=self._share)
        return Execution(self._client, opened, **terminal)

    async def port(self, port: int) -> Execution:
        """A connection to a port on which it listens. Raises WeirClientError."""
        opened = await asyncio.to_thread(self._client.workload_port, self._uid, port, share=self._share)
        return await asyncio.to_thread(Execution, self._client, opened)


class _Session(asyncssh.SSHServerSession[bytes]):
    """A shell, a command by a shell, or SFTP, beside the work; it ends with that, or when the client has gone."""

    def __init__(self, beside: _Beside) -> None:
        self._beside = beside
        self._argv: list[str] = []
        self._terminal: dict[str, Any] = {}
        self._asked: asyncio.Queue[tuple[str, tuple[Any, ...]]] = asyncio.Queue()
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        self._channel = chan

    def pty_requested(self, term_type: str, term_size: tuple[int, int, int, int], term_modes: Any) -> bool:
        columns, rows, _width, _height = term_size
        self._terminal = {"term": term_type, "rows": rows or 24, "columns": columns or 80}
        return True

    def shell_requested(self) -> bool:
        return True

    def exec_requested(self, command: str) -> bool:
        self._argv = [_SFTP] if command == _SFTP else ["sh", "-c", command]
        return True

    def subsystem_requested(self, subsystem: str) -> bool:
        self._argv = [_SFTP]
        return subsystem == "sftp"

    def session_started(self) -> None:
        self._task = asyncio.create_task(self._carry())

    def data_received(self, data: bytes, datatype: Any) -> None:
        self._asked.put_nowait(("send", (data,)))
        if self._asked.qsize() >= _WAITING:
            self._channel.pause_reading()

    def eof_received(self) -> bool:
        self._asked.put_nowait(("close_input", ()))
        return True

    def terminal_size_changed(self, width: int, height: int, pixwidth: int, pixheight: int) -> None:
        self._asked.put_nowait(("resize", (height or 24, width or 80)))

    def signal_received(self, signal: str) -> None:
        if signal in _SIGNALS:
            self._asked.put_nowait(("signal", (signal,)))

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._may_write.set()
        if self._task is not None:
            self._task.cancel()

    async def _carry(self) -> None:
        try:
            running = await self._beside.run(self._argv, tty=bool(self._terminal), **self._terminal)
        except WeirClientError as error:
            self._channel.write_stderr(f"weir: {error}\n".encode())
            self._channel.exit(255)
            return
        hearing = asyncio.create_task(self._hear(running))
        try:
            await self._tell(running)
        finally:
            hearing.cancel()
            running.close()

    async def _hear(self, running: Execution) -> None:
        """What the client types, its signals and the sizes of its window, in their order."""
        while True:
            act, values = await self._asked.get()
            if self._asked.qsize() < _WAITING:
                self._channel.resume_reading()
            # Where the process has ended the other direction says so.
            with suppress(OSError):
                await asyncio.to_thread(getattr(running, act), *values)

    async def _tell(self, running: Execution) -> None:
        """What the process says, as fast as the client takes it, and then how it ended."""
        said = running.output()
        while (piece := await asyncio.to_thread(next, said, None)) is not None:
            await self._may_write.wait()
            write = self._channel.write_stderr if piece[0] == Channel.STDERR else self._channel.write
            write(piece[1])
        assert running.ended is not None
        try:
            running.ended.check()
        except WeirClientError as error:
            self._channel.write_stderr(f"weir: {error}\n".encode())
        self._channel.exit(running.ended.exit_code)


async def _port_carry(beside: _Beside, port: int, reader: Any, writer: Any) -> None:
    """Until either end of the connection goes."""
    try:
        running = await beside.port(port)
    except WeirClientError:
        writer.close()
        return
    sending = asyncio.create_task(_pass_on(reader, running))
    try:
        said = running.output()
        while (piece := await asyncio.to_thread(next, said, None)) is not None:
            if piece[0] == Channel.STDOUT:
                writer.write(piece[1])
                await writer.drain()
    except (OSError, asyncssh.Error):
        # The client has gone.
        return
    finally:
        sending.cancel()
        running.close()
        writer.close()


async def _pass_on(reader: Any, running: Execution) -> None:
    with suppress(OSError):
        while data := await reader.read(_CHUNK_BYTES):
            await asyncio.to_thread(running.send, data)
        await asyncio.to_thread(running.close_input)


def serve(client: Client, uid: str, keys: Keys, share: int = 0) -> None:
    """Speak SSH by standard input and output, until the client goes. Raises WeirClientError where that fails."""
    ours, theirs = socket.socketpair()
    for pump in (_pump_in, _pump_out):
        threading.Thread(target=pump, args=(theirs,), daemon=True).start()
    try:
        asyncio.run(_serve(_Beside(client, uid, share), keys, ours))
    except asyncssh.Error as error:
        raise WeirClientError(f"The SSH client cannot be served: {error.reason}.", "Try again.") from error


def _pump_in(pipe: socket.socket) -> None:
    with suppress(OSError):
        while data := os.read(0, _CHUNK_BYTES):
            pipe.sendall(data)
        pipe.shutdown(socket.SHUT_WR)


def _pump_out(pipe: socket.socket) -> None:
    with suppress(OSError):
        while data := pipe.recv(_CHUNK_BYTES):
            while data:
                data = data[os.write(1, data) :]


async def _serve(beside: _Beside, keys: Keys, pipe: socket.socket) -> None:
    authorized = asyncssh.import_authorized_keys(
        asyncssh.read_private_key(keys.own).export_public_key().decode()
    )
    # Each session and each connection waits in one or two.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS))
    connection = await asyncssh.run_server(
        pipe,
        server_factory=lambda: _Server(beside),
        server_host_keys=[str(keys.host)],
        authorized_client_keys=authorized,
        agent_forwarding=False,
        x11_forwarding=False,
    )
    await connection.wait_closed()
