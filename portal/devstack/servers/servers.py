"""Embedded PostgreSQL and Redis for whoever needs them: `make run`, `make test`, a single test.

Several processes may share one directory: the servers live as long as one of them holds a `Servers`, and end
with the last, even where that one is killed.
"""

import fcntl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from apps.kernel.process_identity import ProcessIdentity
from portal.devstack.errors import LocalError
from portal.devstack.servers.postgres_server import DATABASE, PostgresServer, environment_check
from portal.devstack.servers.processes import identity_read, last_lines, wait_until
from portal.devstack.servers.redis_server import RedisServer
from portal.private_files import folders_close

ROOT = Path(__file__).resolve().parents[3]
_START_TIMEOUT_S = 400
_STOP_TIMEOUT_S = 40
_NOTICE_S = 1.5


@dataclass(frozen=True)
class Urls:
    """Where the servers are: the values of `WEIR_DATABASE_URL` and `WEIR_REDIS_URL`."""

    database: str
    redis: str

    def environment(self) -> dict[str, str]:
        """The variables that point Weir at these servers."""
        return {"WEIR_DATABASE_URL": self.database, "WEIR_REDIS_URL": self.redis}


class Servers:
    """One user's hold on the servers under a directory.

    Args:
        var_dir: made where it does not exist.
        durable: False trades durability for speed, for tests; the first user decides.
    """

    def __init__(self, var_dir: Path, *, durable: bool = True) -> None:
        self.var_dir = var_dir.resolve()
        self.durable = durable
        self._hold: IO[str] | None = None

    def start(self) -> Urls:
        """Join the running servers or start them; returns when both answer.

        Raises:
            LocalError: they cannot be started; the text says why and what to do.
        """
        environment_check()
        (self.var_dir / "run").mkdir(parents=True, exist_ok=True, mode=0o711)
        folders_close(self.var_dir)
        with (self.var_dir / "run" / "start.lock").open("a") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            if self._hold is not None:
                self._hold.close()
            self._hold = (self.var_dir / "run" / "users.lock").open("a")
            fcntl.flock(self._hold, fcntl.LOCK_SH)
            if not self.is_running():
                self._start_guard()
        return urls(self.var_dir)

    def stop(self) -> None:
        """Let go; the last one to do so waits until both servers have stopped."""
        if self._hold is None:
            return
        guard = self._guard()
        self._hold.close()
        self._hold = None
        # A guard without users withdraws its name first; one with users keeps it.
        if guard is not None and wait_until(lambda: self._guard() is None, timeout_s=_NOTICE_S):
            wait_until(lambda: not guard.is_alive(), timeout_s=_STOP_TIMEOUT_S)

    @property
    def has_hold(self) -> bool:
        """Whether this hold was started and not let go."""
        return self._hold is not None

    def is_running(self) -> bool:
        """Whether both servers are up, in whoever's hands."""
        guard = self._guard()
        return guard is not None and guard.is_alive()

    def _guard(self) -> ProcessIdentity | None:
        return identity_read(self.var_dir / "run" / "guard.pid")

    def _start_guard(self) -> None:
        log_path = self.var_dir / "log" / "guard.log"
        with log_path.open("wb") as log:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "portal.devstack.servers.server_supervisor",
                    str(self.var_dir),
                    *self._guard_options(),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                start_new_session=True,
                umask=0o077,
            )
        is_settled = wait_until(
            lambda: self.is_running() or process.poll() is not None, timeout_s=_START_TIMEOUT_S
        )
        if process.poll() is not None:
            raise LocalError((last_lines(log_path, 1) or ["the servers did not start"])[-1])
        if not is_settled:
            process.terminate()
            raise LocalError(
                f"the servers did not start within {_START_TIMEOUT_S} s; see {self.var_dir / 'log'}"
            )

    def _guard_options(self) -> list[str]:
        return [] if self.durable else ["--forgetful"]

    def __enter__(self) -> Urls:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


@contextmanager
def running(var_dir: Path, *, durable: bool = True) -> Iterator[Urls]:
    """Both servers for the length of a `with` block, shared with whoever else uses this directory."""
    with Servers(var_dir, durable=durable) as found:
        yield found


def database_url(var_dir: Path, name: str = DATABASE) -> str:
    """The address of a database on the running server.

    Raises:
        LocalError: no server was ever started under this directory.
    """
    try:
        return PostgresServer(var_dir).url(name)
    except FileNotFoundError as error:
        raise LocalError(f"no PostgreSQL under {var_dir}: start it with `make run`") from error


def redis_url(var_dir: Path, number: int = 0) -> str:
    """The address of the running Redis, database `number` (0 to 63).

    Raises:
        LocalError: no server was ever started under this directory.
    """
    try:
        return RedisServer(var_dir).url(number)
    except FileNotFoundError as error:
        raise LocalError(f"no Redis under {var_dir}: start it with `make run`") from error


def urls(var_dir: Path) -> Urls:
    """Both addresses."""
    return Urls(database=database_url(var_dir), redis=redis_url(var_dir))
