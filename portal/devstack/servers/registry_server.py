"""The embedded registry of container images: docker-registry, where this machine has it, on a loopback port with a
password."""

import ctypes
import os
import secrets
import shutil
import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

from portal.devstack.errors import LocalError
from portal.devstack.servers import ports
from portal.devstack.servers.privileges import child_setup
from portal.devstack.servers.processes import last_lines, text_write, wait_until
from portal.private_files import private_log

PROGRAM, USER = "docker-registry", "weir"
_START_TIMEOUT_S = 120
_BCRYPT = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def registry_is_here() -> bool:
    """Whether this machine has what keeps images, and what brings them there."""
    return all(shutil.which(name) for name in (PROGRAM, "skopeo"))


def registry_url(var_dir: Path) -> str:
    """The value of `WEIR_REGISTRY_URL` for the registry under a directory; "" where there is none."""
    try:
        return RegistryServer(var_dir).url if registry_is_here() else ""
    except FileNotFoundError:
        return ""


class RegistryServer:
    """One directory and the registry on it."""

    name = "registry"
    stop_signal = signal.SIGTERM

    def __init__(self, var_dir: Path) -> None:
        self.var_dir = var_dir.resolve()
        self.data_dir = self.var_dir / "registry"
        self.log_path = self.var_dir / "log" / "registry.log"

    @property
    def port(self) -> int:
        """The loopback port, the same one over restarts as long as nobody else takes it."""
        return int((self.var_dir / "run" / "registry.port").read_text())

    @property
    def url(self) -> str:
        """The address for `WEIR_REGISTRY_URL`."""
        password = (self.var_dir / "run" / "registry.password").read_text()
        return f"http://{USER}:{password}@127.0.0.1:{self.port}"

    def prepare(self) -> None:
        """Choose port and password where there are none, and write its settings."""
        self.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        run_dir = self.var_dir / "run"
        run_dir.mkdir(parents=True, exist_ok=True, mode=0o711)
        if not (run_dir / "registry.password").exists():
            text_write(run_dir / "registry.password", secrets.token_urlsafe(24))
        try:
            kept = wait_until(lambda: ports.is_free(self.port), timeout_s=2)
        except (FileNotFoundError, ValueError):
            kept = False
        if not kept:
            text_write(run_dir / "registry.port", str(ports.any_free()))
        password = (run_dir / "registry.password").read_text()
        text_write(run_dir / "registry.htpasswd", f"{USER}:{_bcrypt(password)}\n")
        text_write(run_dir / "registry.yml", self._settings(secrets.token_hex(16)))

    def start(self) -> subprocess.Popen[bytes]:
        """Start the registry as our child and return at once; it stops when we die."""
        with private_log(self.log_path) as log:
            return subprocess.Popen(
                [PROGRAM, "serve", str(self.var_dir / "run" / "registry.yml")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.data_dir,
                # Its settings can be overridden by variables of these names.
                env={name: value for name, value in os.environ.items() if not name.startswith("REGISTRY_")},
                start_new_session=True,
                preexec_fn=child_setup(death_signal=signal.SIGTERM),
            )

    def wait_ready(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until it answers.

        Raises:
            LocalError: it died or never answered.
        """
        if not wait_until(lambda: process.poll() is not None or self._answers(), timeout_s=_START_TIMEOUT_S):
            raise LocalError(f"the registry did not answer within {_START_TIMEOUT_S} s; see {self.log_path}")
        if process.poll() is not None:
            reason = (last_lines(self.log_path, 1) or ["no reason in its log"])[-1]
            raise LocalError(f"the registry did not start: {reason} (see {self.log_path})")

    def _settings(self, secret: str) -> str:
        lines = [
            "version: 0.1",
            "log: {level: warn, accesslog: {disabled: true}}",
            "storage:",
            f"  filesystem: {{rootdirectory: '{self.data_dir}'}}",
            "  delete: {enabled: true}",
            f"http: {{addr: '127.0.0.1:{self.port}', secret: '{secret}'}}",
            f"auth: {{htpasswd: {{realm: weir, path: '{self.var_dir}/run/registry.htpasswd'}}}}",
        ]
        return "\n".join(lines) + "\n"

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/v2/", timeout=2)
        except urllib.error.HTTPError as error:
            return error.code == 401
        except OSError:
            return False
        return True


def _bcrypt(password: str) -> str:
    """The only way of keeping a password that the registry knows; the C library has it."""
    library = ctypes.CDLL("libcrypt.so.1")
    library.crypt.restype = ctypes.c_char_p
    salt = bytes(_BCRYPT[value % 64] for value in secrets.token_bytes(22))
    # The last letter of a salt has two bits only.
    kept: bytes = library.crypt(password.encode(), b"$2b$08$" + salt[:-1] + b".")
    return kept.decode()
