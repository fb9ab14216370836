"""A real Slurm of the tests in a folder: controller, nodes and, where they are asked for, accounts and REST with JWT.

It has ports and sockets of its own, a munge of its own, needs root as Slurm's daemons do, and leaves nothing behind.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from portal.devstack.servers import ports
from portal.devstack.servers.privileges import child_setup
from portal.devstack.servers.processes import last_lines, wait_until
from tests.harness.ports import row_of_ports

CONTROLLER = ("slurmctld", "slurmd", "munged")
WHOLE = (*CONTROLLER, "slurmdbd", "slurmrestd", "mariadbd", "mariadb-install-db")
PLUGINS = Path("/usr/lib/x86_64-linux-gnu/slurm-wlm")
# Whose jobs run, who serves REST (neither root nor Slurm's own user), and where jobs are charged.
USER, REST_USER, ACCOUNT = "games", "nobody", "weir"
_READY_S = 180
_CONF = """
ClusterName=weir
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={dir}/munge.socket
StateSaveLocation={dir}/state
SlurmctldPidFile={dir}/slurmctld.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdSpoolDir={dir}/spool.%n
SlurmdPidFile={dir}/%n.pid
SlurmdLogFile={dir}/%n.log
SlurmctldDebug=error
SlurmdDebug=error
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SchedulerType=sched/backfill
SlurmdParameters=config_overrides
MaxJobCount=200000
MinJobAge=300
ReturnToService=2
InactiveLimit=0
KillWait=1
{more}
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] {each} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
_ACCOUNTS = """
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key={dir}/jwt.key
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={dbd_port}
AccountingStoragePass={dir}/munge.socket
AccountingStorageTRES=gres/gpu,gres/npu,gres/card
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=sched_min_interval=2000,batch_sched_delay=0
GresTypes=gpu,npu,card
"""
_SLURMDBD = """
AuthType=auth/munge
AuthInfo=socket={dir}/munge.socket
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key={dir}/jwt.key
DbdHost={host}
DbdAddr=127.0.0.1
DbdPort={dbd_port}
SlurmUser=root
DebugLevel=error
LogFile={dir}/slurmdbd.log
PidFile={dir}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database_port}
StorageUser=slurm
StoragePass={password}
StorageLoc=slurm_accounts
"""
# A card of the type "gpu" needs a file each; the two others are counted alone.
_DEVICES = """
NodeName=n[1-{nodes}] Name=gpu File={dir}/gpu[0-1]
NodeName=n[1-{nodes}] Name=npu Count=4
NodeName=n[1-{nodes}] Name=card Count=3
"""
NODE = "CPUs=8 RealMemory=16000 TmpDisk=102400 Gres=gpu:2,npu:4,card:3"


def slurm_lacks(needed: Sequence[str] = WHOLE) -> str:
    """Why no Slurm can be started here; "" where one can."""
    if missing := [name for name in needed if not shutil.which(name)]:
        return f"{', '.join(missing)} is not installed"
    if needed == WHOLE and not (PLUGINS / "auth_jwt.so").exists():
        return "slurm-wlm-jwt-plugin is not installed"
    return "" if os.geteuid() == 0 else "Slurm's daemons are started by root alone"


@dataclass
class Cluster:
    """One that runs. `environment` is what its commands need; the last three are of REST."""

    folder: Path
    environment: dict[str, str]
    address: str = ""
    key: bytes = b""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def work(self) -> Path:
        """A folder in which everybody's jobs may write."""
        return self.folder / "work"

    def command(self, *words: str) -> str:
        """What one of Slurm's own commands prints. Raises CalledProcessError."""
        done = subprocess.run(
            words, env=self.environment, capture_output=True, text=True, check=True, timeout=_READY_S
        )
        return done.stdout

    def start(self, name: str, *words: str, user: str | None = None, **more: str) -> None:
        """Start one of its processes, which says what it has to say into a log of its name."""
        with (self.folder / f"{name}.out").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                words,
                env={**self.environment, **more},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=user,
                group=None if user is None else "nogroup",
                extra_groups=None if user is None else [],
                preexec_fn=None if user else child_setup(),
            )

    def kill(self, name: str) -> None:
        """End one of its processes at once."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def wait(self, name: str, condition: Callable[[], bool], timeout_s: float = _READY_S) -> None:
        """Wait for something that a process makes true. Raises TimeoutError with the end of its log."""
        process = self.processes[name]
        if not wait_until(
            lambda: process.poll() is not None or condition(), timeout_s=timeout_s, every_s=0.1
        ):
            said = "\n".join(last_lines(self.folder / f"{name}.out"))
            raise TimeoutError(f"{name} was not ready in {timeout_s} s:\n{said}")
        if process.poll() is not None:
            said = "\n".join(last_lines(self.folder / f"{name}.out"))
            raise TimeoutError(f"{name} ended with {process.returncode}:\n{said}")

    def is_done(self, *words: str) -> bool:
        """Whether a command of Slurm's comes through now."""
        with suppress(subprocess.SubprocessError):
            self.command(*words)
            return True
        return False

    def idle(self) -> int:
        """How many nodes are ready for work."""
        with suppress(subprocess.SubprocessError):
            told = self.command("sinfo", "--noheader", "--states=idle", "--responding", "--format=%D")
            return sum(int(line) for line in told.split() if line.isdigit())
        return 0

    def controller_start(self, nodes: int = 2) -> None:
        """Start the controller and wait until its nodes are ready for work."""
        self.start("slurmctld", "slurmctld", "-D")
        self.wait("slurmctld", lambda: self.idle() >= nodes, 300)

    def accounts_start(self) -> None:
        """Start the accounts on their database, and wait until they answer."""
        self.start("slurmdbd", "slurmdbd", "-D")
        self.wait("slurmdbd", lambda: self.is_done("sacctmgr", "--noheader", "show", "cluster"))

    def rest_start(self, port: int) -> None:
        """Start REST, and wait until it listens."""
        self.address = f"http://127.0.0.1:{port}"
        words = ("slurmrestd", "-a", "rest_auth/jwt", f"127.0.0.1:{port}")
        self.start("slurmrestd", *words, user=REST_USER, SLURM_JWT="daemon")
        self.wait("slurmrestd", lambda: not ports.is_free(port))

    def stop(self) -> None:
        """End all of it, and the processes that look after jobs."""
        if "slurmctld" in self.processes and self.processes["slurmctld"].poll() is None:
            with suppress(subprocess.SubprocessError):
                self.command("scancel", "--signal=KILL", "--full", f"--user={USER}")
                self.command("scancel", f"--user={USER}")
                wait_until(lambda: not self.command("squeue", "--noheader").strip(), timeout_s=10)
        for name in list(reversed(self.processes)):
            self.kill(name)
        mark = f"SLURM_CONF={self.environment['SLURM_CONF']}".encode()
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    os.kill(int(entry.name), 9)


@contextmanager
def running_cluster(
    folder: Path,
    *,
    nodes: int = 2,
    each: str = NODE,
    more: str = "",
    devices: str = _DEVICES,
    with_rest: bool = True,
) -> Iterator[Cluster]:
    """One with all its nodes idle, and with accounts and REST unless they are left out; gone afterwards.

    `each` are the node's lines, `more` is added to `slurm.conf`, `devices` is its `gres.conf`.
    """
    folder.chmod(0o755)
    made = Cluster(folder, {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")})
    values = _values(folder, nodes)
    conf = _CONF.format(**values, each=each, more=more + (_ACCOUNTS.format(**values) if with_rest else ""))
    (folder / "slurm.conf").write_text(conf)
    (folder / "gres.conf").write_text(devices.format(**values))
    for name in ("state", "work"):
        (folder / name).mkdir()
    made.work.chmod(0o777)
    try:
        _munge_start(made)
        if with_rest:
            _accounts_start(made, values)
        for number in range(1, nodes + 1):
            made.start(f"n{number}", "slurmd", "-D", "-N", f"n{number}")
        if with_rest:
            made.rest_start(int(values["rest_port"]))
        made.controller_start(nodes)
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="session")
def slurm() -> Iterator[Cluster]:
    """One with two nodes, accounts and REST for all tests of a worker."""
    if why := slurm_lacks():
        pytest.skip(why)
    # Sockets have short paths.
    with TemporaryDirectory(prefix="weir-slurm-") as folder, running_cluster(Path(folder)) as cluster:
        yield cluster


def _values(folder: Path, nodes: int) -> dict[str, str]:
    host = os.uname().nodename
    first = row_of_ports(nodes + 4)
    port, dbd_port, database_port, rest_port = range(first + nodes, first + nodes + 4)
    return {
        "dir": str(folder),
        "host": host,
        "port": str(port),
        "dbd_port": str(dbd_port),
        "database_port": str(database_port),
        "rest_port": str(rest_port),
        "password": secrets.token_hex(16),
        "nodes": str(nodes),
        "first": str(first),
        "last": str(first + nodes - 1),
    }


def _munge_start(made: Cluster) -> None:
    folder = made.folder
    (folder / "munge.key").touch(0o600)
    (folder / "munge.key").write_bytes(secrets.token_bytes(128))
    files = {
        "socket": "munge.socket",
        "key-file": "munge.key",
        "pid-file": "munged.pid",
        "seed-file": "munged.seed",
    }
    words = [f"--{option}={folder / name}" for option, name in files.items()]
    made.start("munged", "munged", "--foreground", "--force", f"--log-file={folder / 'munged.log'}", *words)
    made.wait("munged", lambda: made.is_done("munge", "--no-input", f"--socket={folder / 'munge.socket'}"))


def _accounts_start(made: Cluster, values: dict[str, str]) -> None:
    folder = made.folder
    made.key = secrets.token_bytes(32)
    for name, data in {
        "jwt.key": made.key,
        "slurmdbd.conf": _SLURMDBD.format(**values).encode(),
        "init.sql": (
            "CREATE DATABASE slurm_accounts;\n"
            f"CREATE USER slurm@'127.0.0.1' IDENTIFIED BY '{values['password']}';\n"
            "GRANT ALL ON slurm_accounts.* TO slurm@'127.0.0.1';\n"
        ).encode(),
        "gpu0": b"",
        "gpu1": b"",
    }.items():
        (folder / name).touch(0o600)
        (folder / name).write_bytes(data)
    at = ("--no-defaults", "--user=root", f"--datadir={folder / 'database'}")
    made.command("mariadb-install-db", *at, "--auth-root-authentication-method=normal", "--skip-test-db")
    made.start(
        "mariadbd",
        "mariadbd",
        *at,
        f"--socket={folder / 'database.socket'}",
        f"--pid-file={folder / 'database.pid'}",
        "--bind-address=127.0.0.1",
        f"--port={values['database_port']}",
        "--skip-name-resolve",
        "--skip-log-bin",
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-flush-method=nosync",
        "--skip-innodb-doublewrite",
        "--innodb-buffer-pool-size=64M",
        "--innodb-lock-wait-timeout=900",
        f"--init-file={folder / 'init.sql'}",
    )
    made.wait("mariadbd", lambda: not ports.is_free(int(values["database_port"])))
    made.accounts_start()
    made.command("sacctmgr", "--immediate", "add", "cluster", "weir")
    made.command("sacctmgr", "--immediate", "add", "account", ACCOUNT)
    made.command("sacctmgr", "--immediate", "add", "user", USER, f"account={ACCOUNT}")
