"""Owns the embedded servers: starts them, restarts one that dies, ends with its last user.

Users hold a shared lock on `var/run/users.lock`; the kernel drops it when they die, however they die.
The guard waits for the exclusive lock: when it gets it nobody is left, and it stops both servers.
"""

import argparse
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import psycopg

from portal.devstack.errors import LocalError
from portal.devstack.servers.postgres_server import PostgresServer
from portal.devstack.servers.processes import identity_write
from portal.devstack.servers.redis_server import RedisServer
from portal.devstack.servers.registry_server import RegistryServer, registry_is_here
from portal.private_files import log_rotate

Server = PostgresServer | RedisServer | RegistryServer
_PAUSE_MAX_S = 10.0
_STOP_TIMEOUT_S = 20


class Guard:
    """Both servers on one directory."""

    def __init__(self, var_dir: Path, *, durable: bool) -> None:
        self.var_dir = var_dir
        self._servers: list[Server] = [
            PostgresServer(var_dir, durable=durable),
            RedisServer(var_dir, durable=durable),
        ]
        # Images are for who works here: tests that want a registry start one of their own.
        if durable and registry_is_here():
            self._servers.append(RegistryServer(var_dir))
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._failures: dict[str, int] = {}
        self._retry_at_s: dict[str, float] = {}
        self._unrecorded: set[str] = set()

    def start(self) -> None:
        """Start both, the slower one first, and say where they are."""
        for server in self._servers:
            server.prepare()
            self._running[server.name] = server.start()
        for server in self._servers:
            server.wait_ready(self._running[server.name])
            self._unrecorded.add(server.name)
        self._record()
        identity_write(self.var_dir / "run" / "guard.pid", os.getpid())

    def watch(self, is_over: threading.Event) -> None:
        """Restart what dies until the last user is gone, however often that fails: a full disk may have room again."""
        while not is_over.wait(0.3):
            self._record()
            for server in self._servers:
                log_rotate(server.log_path)
            for server in self._servers:
                is_due = time.monotonic() >= self._retry_at_s.get(server.name, 0.0)
                if is_due and self._running[server.name].poll() is not None:
                    self._restart(server)

    def stop(self) -> None:
        """Stop both; a server that does not listen is killed."""
        (self.var_dir / "run" / "guard.pid").unlink(missing_ok=True)
        for server in self._servers:
            if server.name in self._running:
                self._running[server.name].send_signal(server.stop_signal)
        for process in self._running.values():
            try:
                process.wait(_STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGQUIT)
                process.wait()
        for server in self._servers:
            (self.var_dir / "run" / f"{server.name}.pid").unlink(missing_ok=True)

    def _restart(self, server: Server) -> None:
        failures = self._failures.get(server.name, 0) + 1
        process = None
        try:
            server.prepare()
            process = self._running[server.name] = server.start()
            server.wait_ready(process)
            self._unrecorded.add(server.name)
            failures = 0
        except (OSError, LocalError, psycopg.Error) as error:
            _complain(f"{server.name} is not started again: {error}")
            if process is not None:
                process.kill()
                process.wait()
        self._failures[server.name] = failures
        self._retry_at_s[server.name] = time.monotonic() + min(0.2 * 2**failures, _PAUSE_MAX_S)

    def _record(self) -> None:
        """Write down which processes are new, as soon as there is room for it."""
        for name in sorted(self._unrecorded):
            with suppress(OSError):
                identity_write(self.var_dir / "run" / f"{name}.pid", self._running[name].pid)
                self._unrecorded.discard(name)


def _complain(line: str) -> None:
    """One line in the log, where that has room."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def _wait_for_last_user(users_lock: Path, is_over: threading.Event) -> None:
    with users_lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        is_over.set()
        # Held until this process ends: who comes now waits, then starts a guard of its own.
        threading.Event().wait()


def main() -> int:
    """Run until the last user is gone; the exit status says whether all went well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("var_dir", type=Path)
    parser.add_argument("--forgetful", action="store_true", help="trade durability for speed (tests)")
    arguments = parser.parse_args()
    is_over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: is_over.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lock = arguments.var_dir / "run" / "users.lock"
    threading.Thread(target=_wait_for_last_user, args=(lock, is_over), daemon=True).start()
    guard = Guard(arguments.var_dir, durable=not arguments.forgetful)
    try:
        guard.start()
        guard.watch(is_over)
    except LocalError as error:
        _complain(str(error))
        return 1
    finally:
        guard.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
