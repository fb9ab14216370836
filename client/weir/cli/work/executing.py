"""Beside running work: a shell, a command, a way to one of its ports."""

import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer

from weir.api import Client
from weir.cli.context import caller, uid_of
from weir.cli.show import tell
from weir.errors import WeirClientError
from weir.execution import Execution
from weir_wire.execution import Channel

_CHUNK_BYTES = 32 * 1024
_SHARE = typer.Option(0, "--share", help="Which of its shares, counted from 0.")
_PASSED_ON = {signal.SIGINT: "INT", signal.SIGTERM: "TERM", signal.SIGQUIT: "QUIT"}
_LOCAL = "127.0.0.1"


def exec_(
    ctx: typer.Context,
    work: str = typer.Argument(..., help="Your running work, by number or uid."),
    command: list[str] = typer.Argument(..., help="The command, after --.", metavar="-- COMMAND..."),
    stdin: bool = typer.Option(False, "-i", "--stdin", help="Pass on what comes in here."),
    tty: bool = typer.Option(False, "-t", "--tty", help="With a terminal, where both ends of it are here."),
    share: int = _SHARE,
) -> None:
    """Run a command beside your running work, within its share and its walls. It ends with the command's exit status.

    `weir exec W-1 -- nvidia-smi`, `weir exec -it W-1 -- python`, `weir exec -i W-1 -- tee data.csv < data.csv`
    """
    _run(ctx, work, command, share=share, passes_stdin=stdin, wants_tty=tty)


def ssh(
    ctx: typer.Context,
    work: str = typer.Argument(..., help="Your running work, by number or uid."),
    share: int = _SHARE,
) -> None:
    """Open a shell beside your running work, within its share and its walls; it ends with the shell or the work."""
    _run(ctx, work, [], share=share, passes_stdin=True, wants_tty=True)


def _run(
    ctx: typer.Context, work: str, argv: list[str], *, share: int, passes_stdin: bool, wants_tty: bool
) -> None:
    is_tty = wants_tty and sys.stdin.isatty() and sys.stdout.isatty()
    with caller(ctx) as client:
        uid = uid_of(work, client.workloads, "no")
        opened = client.workload_exec(uid, argv, tty=is_tty, share=share)
        columns, rows = shutil.get_terminal_size()
        running = Execution(client, opened, rows=rows, columns=columns, term=os.environ.get("TERM", ""))
    with _raw_terminal(running) if is_tty else _signals(running):
        _carry(running, passes_stdin=passes_stdin)
    assert running.ended is not None
    running.close()
    try:
        running.ended.check()
    except WeirClientError as error:
        tell(str(error))
    # A reader of standard input may wait for ever: it is not waited for.
    sys.stdout.flush()
    os._exit(running.ended.exit_code)


def _carry(running: Execution, *, passes_stdin: bool) -> None:
    if passes_stdin:
        threading.Thread(target=_pass_stdin, args=(running,), daemon=True).start()
    else:
        with suppress(OSError):
            running.close_input()
    files = {Channel.STDOUT: 1, Channel.STDERR: 2}
    for channel, data in running.output():
        _write(files[Channel(channel)], data)


def _pass_stdin(running: Execution) -> None:
    with suppress(OSError):
        while data := os.read(0, _CHUNK_BYTES):
            running.send(data)
        running.close_input()


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


@contextmanager
def _raw_terminal(running: Execution) -> Iterator[None]:
    """Every key goes there as it is pressed, and the window's size as it changes."""
    import termios
    import tty

    def resized(*_: Any) -> None:
        columns, rows = shutil.get_terminal_size()
        with suppress(OSError):
            running.resize(rows, columns)

    before = termios.tcgetattr(0)
    signal.signal(signal.SIGWINCH, resized)
    tty.setraw(0)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


@contextmanager
def _signals(running: Execution) -> Iterator[None]:
    """What would end the command here ends the one there; asked a second time, this one too."""

    def passed_on(number: int, _frame: Any) -> None:
        signal.signal(number, signal.SIG_DFL)
        with suppress(OSError):
            running.signal(_PASSED_ON[signal.Signals(number)])

    for number in _PASSED_ON:
        signal.signal(number, passed_on)
    yield


def port_forward(
    ctx: typer.Context,
    work: str = typer.Argument(..., help="Your running work, by number or uid."),
    ports: list[str] = typer.Argument(..., help="[LOCAL:]REMOTE; 0 as LOCAL takes a free one."),
    share: int = _SHARE,
) -> None:
    """Lead ports of this machine to ports on which your running work listens, until Ctrl-C.

    `weir port-forward W-1 8888`, `weir port-forward W-1 18888:8888 6006`
    """
    wanted = [_ports_of(text) for text in ports]
    with caller(ctx) as client:
        uid = uid_of(work, client.workloads, "no")
        for local, remote in wanted:
            listening = socket.create_server((_LOCAL, local))
            at = listening.getsockname()[1]
            opened = client.workload_port(uid, remote, share=share)
            accepting = threading.Thread(target=_accept, args=(client, opened, listening), daemon=True)
            accepting.start()
            tell(f"{_LOCAL}:{at} leads to port {remote} of {work}; Ctrl-C ends it.")
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


def _ports_of(text: str) -> tuple[int, int]:
    local, colon, remote = text.rpartition(":")
    try:
        found = int(local) if colon else int(remote), int(remote)
    except ValueError:
        found = -1, -1
    if not (0 <= found[0] <= 65_535 and 1 <= found[1] <= 65_535):
        raise WeirClientError(f"{text!r} is no [LOCAL:]REMOTE pair of ports.", "Write 8888 or 18888:8888.")
    return found


def _accept(client: Client, opened: Any, listening: socket.socket) -> None:
    while True:
        connection, _address = listening.accept()
        threading.Thread(target=_forward, args=(client, opened, connection), daemon=True).start()


def _forward(client: Client, opened: Any, connection: socket.socket) -> None:
    with connection:
        try:
            running = Execution(client, opened)
        except WeirClientError as error:
            tell(str(error))
            return
        threading.Thread(target=_send, args=(connection, running), daemon=True).start()
        try:
            for channel, data in running.output():
                if channel == Channel.STDOUT:
                    connection.sendall(data)
            if running.ended is not None:
                running.ended.check()
        except WeirClientError as error:
            tell(str(error))
        except OSError:
            # Who connected here has gone.
            return
        finally:
            running.close()
            # The other thread still reads from it: closing alone would tell nobody.
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _send(connection: socket.socket, running: Execution) -> None:
    with suppress(OSError):
        while data := connection.recv(_CHUNK_BYTES):
            running.send(data)
        running.close_input()


COMMANDS = (exec_, ssh, port_forward)
