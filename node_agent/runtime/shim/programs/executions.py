"""What people run beside the work: shells, commands, connections to its ports.

The agent asks by a socket in the slice's folder, which no work reaches. It is given the ends of the process's terminal
or pipes, so that nothing of what is typed or shown passes here; a process lives as long as its asker's connection.

By the same socket the agent asks for a connection to a port of the network that the work has of its own, and that the
work holds still while its files are read: as long as that connection stands, and never longer than `HOLD_S`.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from node_agent.files import SliceFolder
from node_agent.runtime import proc
from node_agent.runtime.records.slice_records import SliceSpec
from node_agent.runtime.shim.output import Output
from node_agent.web.terminal_device import size_set

PROCESSES_MAX = 32
# Those that have not said yet what they want, and those that are told that they come too late, among them.
_CONNECTIONS_MAX = 2 * PROCESSES_MAX
REQUEST_BYTES = 64 * 1024
# From the polite signal to the other one.
_GRACE_S = 2.0
_REQUEST_S = 10.0
# So long the work holds still at most, whoever asks.
HOLD_S = 75.0
# The work's user has a number and no name: a prompt calls it "work".
_PROMPT = r"PS1=${PS1//\\u/work}; unset PROMPT_COMMAND"


class Host(Protocol):
    """The work beside which processes are run."""

    def execute(
        self, argv: list[str], stdin: int, stdout: int, stderr: int, **env: str
    ) -> subprocess.Popen[bytes]: ...

    def execute_in_terminal(self, argv: list[str], terminal: int, **env: str) -> subprocess.Popen[bytes]: ...

    def terminal_open(self) -> tuple[int, int]: ...

    def shell(self) -> list[str]: ...

    @property
    def is_held(self) -> bool: ...

    def hold(self) -> bool: ...

    def hold_end(self) -> None: ...

    def connect(self, port: int) -> socket.socket: ...


class Executions:
    """All of one work. Raises OSError where the socket cannot be made."""

    def __init__(self, path: Path, work: Host) -> None:
        self._work = work
        self._asked: list[_Execution] = []
        self._ending: list[_Ending] = []
        self._path = path
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listening.setblocking(False)
        try:
            _bind(self._listening, path)
        except OSError:
            self._listening.close()
            raise

    @property
    def fds(self) -> list[int]:
        """What to wait for beside everything else."""
        return [self._listening.fileno(), *(fd for asked in self._asked for fd in asked.fds)]

    def look(self) -> None:
        """Take what is asked, tell what has ended, end what nobody holds any more."""
        with suppress(OSError):
            connection, _address = self._listening.accept()
            connection.setblocking(False)
            if len(self._asked) < _CONNECTIONS_MAX:
                self._asked.append(_Execution(connection))
            else:
                connection.close()
        for asked in list(self._asked):
            if not self._is_kept(asked):
                self._asked.remove(asked)
                asked.close()
                if asked.held_until_s is not None:
                    self._work.hold_end()
                if asked.process is not None:
                    self._ending.append(_Ending(asked.process))
        self._ending = [ending for ending in self._ending if not ending.is_over()]

    def _is_kept(self, asked: _Execution) -> bool:
        if asked.held_until_s is not None and not self._work.is_held:
            # It is to end, or began anew.
            return False
        try:
            return asked.look(self._start)
        except (OSError, ValueError, KeyError, TypeError):
            # It broke off, or does not speak as the agent does.
            return False

    def _start(self, asked: _Execution, wanted: dict[str, Any]) -> None:
        if "hold" in wanted:
            self._hold(asked)
            return
        if "connect" in wanted:
            self._connect(asked, int(wanted["connect"]))
            return
        if self._work.is_held:
            asked.refuse("failed", "it holds still while its files are read: try again in a minute")
            return
        running = sum(other.process is not None for other in self._asked) + len(self._ending)
        if running >= PROCESSES_MAX:
            asked.refuse("too_many", f"{PROCESSES_MAX} processes are run beside this work already")
            return
        begin = self._in_terminal if wanted["tty"] else self._with_pipes
        try:
            asked.process, fds = begin(wanted)
        except FileNotFoundError:
            asked.refuse("not_found", f"there is no program {wanted['argv'][0]!r} here")
        except PermissionError:
            asked.refuse("cannot_run", f"{wanted['argv'][0]!r} cannot be run")
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            asked.refuse("failed", str(error))
        else:
            asked.begun(fds)

    def _hold(self, asked: _Execution) -> None:
        if self._work.is_held or not self._work.hold():
            asked.refuse("failed", "it cannot be made to hold still now")
            return
        asked.held_until_s = time.monotonic() + HOLD_S
        asked.tell({"held": True})

    def _connect(self, asked: _Execution, port: int) -> None:
        try:
            with self._work.connect(port) as connection:
                asked.hand_over(connection.fileno())
        except OSError as error:
            asked.fail(error)

    def _in_terminal(self, wanted: dict[str, Any]) -> tuple[subprocess.Popen[bytes], list[int]]:
        screen, inner = self._work.terminal_open()
        try:
            size_set(screen, wanted["rows"], wanted["columns"])
            shell = self._work.shell()
            argv = wanted["argv"] or shell
            env = {"TERM": wanted["term"], "SHELL": shell[0], "PROMPT_COMMAND": _PROMPT}
            return self._work.execute_in_terminal(argv, inner, **env), [screen]
        except BaseException:
            os.close(screen)
            raise
        finally:
            os.close(inner)

    def _with_pipes(self, wanted: dict[str, Any]) -> tuple[subprocess.Popen[bytes], list[int]]:
        (stdin, to_stdin), (from_stdout, stdout), (from_stderr, stderr) = (
            os.pipe2(os.O_CLOEXEC) for _ in range(3)
        )
        ours = [to_stdin, from_stdout, from_stderr]
        try:
            return self._work.execute(wanted["argv"] or self._work.shell(), stdin, stdout, stderr), ours
        except BaseException:
            _close(ours)
            raise
        finally:
            _close([stdin, stdout, stderr])

    def close(self) -> None:
        """The work has ended, and everything beside it."""
        self._work.hold_end()
        for asked in self._asked:
            asked.close()
        self._listening.close()
        self._path.unlink(missing_ok=True)


class _Execution:
    """A connection of the agent's, and the process that it asked for."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._until_s = time.monotonic() + _REQUEST_S
        self.process: subprocess.Popen[bytes] | None = None
        # Since it asked that the work holds still.
        self.held_until_s: float | None = None
        self._exit_fd = -1
        self._is_over = False

    @property
    def fds(self) -> list[int]:
        return [self._connection.fileno()] + ([self._exit_fd] if self._exit_fd >= 0 else [])

    def look(self, start: Any) -> bool:
        """Hear and tell what there is; whether the connection is to be kept. Raises OSError where it broke."""
        message = _received(self._connection)
        if message == b"":
            return False
        if self.held_until_s is not None:
            return time.monotonic() < self.held_until_s
        if self.process is None:
            if message is not None:
                start(self, json.loads(message))
            is_begun = self.process is not None or self.held_until_s is not None
            return not self._is_over and (is_begun or time.monotonic() < self._until_s)
        if message is not None:
            self._signal(json.loads(message)["signal"])
        code = self.process.poll()
        if code is not None and self._exit_fd >= 0:
            os.close(self._exit_fd)
            self._exit_fd = -1
            self.tell({"exit": code if code >= 0 else 128 - code})
        return True

    def begun(self, fds: list[int]) -> None:
        """Hand the process's ends over."""
        assert self.process is not None
        self._exit_fd = os.pidfd_open(self.process.pid)
        try:
            socket.send_fds(self._connection, [json.dumps({"begun": True}).encode()], fds)
        finally:
            _close(fds)

    def hand_over(self, connection: int) -> None:
        """What was asked for is this open file, and no more."""
        self._is_over = True
        socket.send_fds(self._connection, [json.dumps({"connected": True}).encode()], [connection])

    def fail(self, error: OSError) -> None:
        """Tell that it could not be had."""
        self._is_over = True
        self.tell({"errno": error.errno or errno.EIO, "detail": str(error)[:300]})

    def refuse(self, code: str, detail: str) -> None:
        self._is_over = True
        self.tell({"refused": code, "detail": detail[:300]})

    def tell(self, said: dict[str, Any]) -> None:
        self._connection.send(json.dumps(said).encode())

    def _signal(self, name: str) -> None:
        assert self.process is not None
        proc.send(_session_of(self.process), signal.Signals[f"SIG{name}"])

    def close(self) -> None:
        self._connection.close()
        if self._exit_fd >= 0:
            os.close(self._exit_fd)


class _Ending:
    """A process whose asker has gone: it is told so, and ended with its whole session if it does not go."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._until_s = time.monotonic() + _GRACE_S
        left = _session_of(process)
        proc.send(left, signal.SIGHUP)
        # One that was stopped hears of it too.
        proc.send(left, signal.SIGCONT)

    def is_over(self) -> bool:
        left = _session_of(self._process)
        if left and time.monotonic() >= self._until_s:
            proc.send(left, signal.SIGKILL)
        return not left and self._process.poll() is not None


def _session_of(process: subprocess.Popen[bytes]) -> list[int]:
    """What runs in the session that the process leads or led, and what it has started, among the shim's descendants."""
    leader = str(process.pid)
    found = [
        pid
        for pid in proc.descendants(os.getpid())
        if (fields := proc.stat_fields(pid)) is not None and fields[3] == leader and fields[0] != "Z"
    ]
    # While it has not been waited for, its number is nobody else's.
    started = proc.descendants(process.pid) if process.returncode is None else []
    return list(dict.fromkeys([*found, *started]))


def _received(connection: socket.socket) -> bytes | None:
    """A message; none at the connection's end, None while there is none."""
    try:
        return connection.recv(REQUEST_BYTES)
    except BlockingIOError:
        return None


def _bind(listening: socket.socket, path: Path) -> None:
    """Listen at a path of any length, for nobody but this user."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    mask = os.umask(0o177)
    try:
        listening.bind(f"/proc/self/fd/{folder}/{path.name}")
        listening.listen(PROCESSES_MAX)
    finally:
        os.umask(mask)
        os.close(folder)


def _close(fds: list[int]) -> None:
    for fd in fds:
        os.close(fd)


def executions_open(spec: SliceSpec, folder: SliceFolder, work: Host, output: Output) -> Executions | None:
    """None where nothing is run beside the work: a session runs our own program, for nobody to look into."""
    if spec.is_session:
        return None
    try:
        return Executions(folder.executions, work)
    except OSError as error:
        output.note(f"no terminal can be opened beside this work: {error.strerror}")
        return None
