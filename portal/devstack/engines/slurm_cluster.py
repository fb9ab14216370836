"""A Slurm of our own in a folder: controller, nodes and, where they are asked for, accounts and REST with tokens.

It has ports and sockets of its own and a munge of its own, and needs root as Slurm's daemons do.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from portal.devstack.engines.marked import marked_end
from portal.devstack.servers import ports
from portal.devstack.servers.privileges import child_setup
from portal.devstack.servers.processes import last_lines, text_write, wait_until

CONTROLLER = ("slurmctld", "slurmd", "munged")
WHOLE = (*CONTROLLER, "slurmdbd", "slurmrestd", "mariadbd", "mariadb-install-db")
# Whose jobs run, who serves REST (neither root nor Slurm's own user), and where jobs are charged.
USER, REST_USER, ACCOUNT = "games", "nobody", "weir"
_READY_S = 180
_STOP_S = 15
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
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=sched_min_interval=2000,batch_sched_delay=0
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
# The accounts of its making have no password: they go at each start, those of kept folders too.
_DATABASE_USER = """
DELETE FROM mysql.global_priv WHERE User NOT IN ('mariadb.sys', 'slurm');
FLUSH PRIVILEGES;
CREATE DATABASE IF NOT EXISTS slurm_accounts;
CREATE OR REPLACE USER slurm@'127.0.0.1' IDENTIFIED BY '{password}';
GRANT ALL ON slurm_accounts.* TO slurm@'127.0.0.1';
"""
_DATABASE = (
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--skip-log-bin",
    "--innodb-buffer-pool-size=64M",
    "--innodb-lock-wait-timeout=900",
)
# What nobody needs afterwards is not brought to the disk.
_FORGETFUL = (
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-flush-method=nosync",
    "--skip-innodb-doublewrite",
)


def slurm_lacks(needed: Sequence[str] = WHOLE) -> str:
    """Why no Slurm can be started here; "" where one can."""
    if missing := [name for name in needed if not shutil.which(name)]:
        return f"{', '.join(missing)} is not installed"
    if needed == WHOLE and not any(Path("/usr/lib").glob("*/slurm-wlm/auth_jwt.so")):
        return "slurm-wlm-jwt-plugin is not installed"
    return "" if os.geteuid() == 0 else "Slurm's daemons are started by root alone"


@dataclass(frozen=True)
class Shape:
    """What a cluster is to be.

    Attributes:
        each: what `slurm.conf` says of each of its `nodes`.
        more: further lines of `slurm.conf`.
        devices: its `gres.conf`, in which {nodes} and {dir} stand for their number and the folder.
        with_rest: whether it has accounts and REST.
        is_kept: whether its jobs' records and its keys are still there when it starts anew in the same folder.
    """

    nodes: int
    each: str
    more: str = ""
    devices: str = ""
    with_rest: bool = True
    is_kept: bool = False

    @property
    def ports(self) -> int:
        """How many ports in a row it takes."""
        return self.nodes + 4


@dataclass
class Cluster:
    """One that runs. `environment` is what its commands need; the address and the key are of REST."""

    folder: Path
    environment: dict[str, str]
    shape: Shape
    values: Mapping[str, str]
    address: str = ""
    key: bytes = b""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @classmethod
    def made(cls, folder: Path, shape: Shape, first_port: int) -> Cluster:
        """One in a folder, on ports from `first_port` on, with its settings written and nothing started."""
        folder.chmod(0o755)
        values = _values(folder, shape, first_port)
        made = cls(folder, {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}, shape, values)
        more = shape.more + (_ACCOUNTS.format(**values) if shape.with_rest else "")
        (folder / "slurm.conf").write_text(_CONF.format(**values, each=shape.each, more=more))
        (folder / "gres.conf").write_text(shape.devices.format(**values))
        for name in ("state", "work"):
            (folder / name).mkdir(exist_ok=True)
        made.work.chmod(0o777)
        return made

    @property
    def work(self) -> Path:
        """A folder in which everybody's jobs may write."""
        return self.folder / "work"

    def start_all(self) -> None:
        """Start all of it and return when its nodes take jobs. Raises TimeoutError, CalledProcessError, OSError."""
        self._munge_start()
        if self.shape.with_rest:
            self._database_start()
            self.accounts_start()
            self._accounts_fill()
        for number in range(1, self.shape.nodes + 1):
            self.start(f"n{number}", "slurmd", "-D", "-N", f"n{number}")
        if self.shape.with_rest:
            self.rest_start(int(self.values["rest_port"]))
        self.controller_start(self.shape.nodes)

    def command(self, *words: str) -> str:
        """What one of Slurm's own commands prints. Raises CalledProcessError."""
        done = subprocess.run(
            words, env=self.environment, capture_output=True, text=True, check=True, timeout=_READY_S
        )
        return done.stdout

    def start(self, name: str, *words: str, user: str | None = None, **more: str) -> None:
        """Start one of its processes, which says what it has to say into a log of its name and ends with ours."""
        with (self.folder / f"{name}.out").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                words,
                env={**self.environment, **more},
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=child_setup(pwd.getpwnam(user) if user else None),
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
            raise TimeoutError(f"{name} was not ready in {timeout_s} s:\n{self.said(name)}")
        if process.poll() is not None:
            raise TimeoutError(f"{name} ended with {process.returncode}:\n{self.said(name)}")

    def said(self, name: str) -> str:
        """The end of what a process has said."""
        return "\n".join(
            [*last_lines(self.folder / f"{name}.out"), *last_lines(self.folder / f"{name}.log", 4)]
        )

    def dead(self) -> str:
        """The name of a process of it that has ended by itself; "" where all run."""
        return next((name for name, process in self.processes.items() if process.poll() is not None), "")

    def is_done(self, *words: str) -> bool:
        """Whether a command of Slurm's comes through now."""
        with suppress(subprocess.SubprocessError):
            self.command(*words)
            return True
        return False

    def serving(self) -> int:
        """How many nodes take work, or have some."""
        with suppress(subprocess.SubprocessError):
            states = "--states=idle,mixed,allocated,completing"
            told = self.command("sinfo", "--noheader", states, "--responding", "--format=%D")
            return sum(int(line) for line in told.split() if line.isdigit())
        return 0

    def controller_start(self, nodes: int = 2) -> None:
        """Start the controller and wait until its nodes are ready for work."""
        self.start("slurmctld", "slurmctld", "-D")
        self.wait("slurmctld", lambda: self.serving() >= nodes, 300)

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
        """End all of it with its jobs, and the processes that look after jobs."""
        if "slurmctld" in self.processes and self.processes["slurmctld"].poll() is None:
            with suppress(subprocess.SubprocessError):
                self.command("scancel", "--signal=KILL", "--full", f"--user={USER}")
                self.command("scancel", f"--user={USER}")
                wait_until(lambda: not self.command("squeue", "--noheader").strip(), timeout_s=10)
        for name in list(reversed(self.processes)):
            if self.shape.is_kept:
                self._ask(name)
            self.kill(name)
        cluster_end(self.folder)

    def _ask(self, name: str) -> None:
        """Let a process write down what it knows, and leave."""
        self.processes[name].terminate()
        with suppress(subprocess.TimeoutExpired):
            self.processes[name].wait(_STOP_S)

    def _munge_start(self) -> None:
        folder = self.folder
        _secret_write(folder / "munge.key", secrets.token_bytes(128))
        files = {
            "socket": "munge.socket",
            "key-file": "munge.key",
            "pid-file": "munged.pid",
            "seed-file": "munged.seed",
        }
        words = [f"--{option}={folder / name}" for option, name in files.items()]
        self.start(
            "munged", "munged", "--foreground", "--force", f"--log-file={folder / 'munged.log'}", *words
        )
        self.wait(
            "munged", lambda: self.is_done("munge", "--no-input", f"--socket={folder / 'munge.socket'}")
        )

    def _database_start(self) -> None:
        folder, values = self.folder, self.values
        if not (self.shape.is_kept and (folder / "jwt.key").exists()):
            text_write(folder / "jwt.key", secrets.token_hex(32))
        self.key = (folder / "jwt.key").read_bytes()
        _secret_write(folder / "slurmdbd.conf", _SLURMDBD.format(**values).encode())
        _secret_write(folder / "init.sql", _DATABASE_USER.format(**values).encode())
        if not (folder / "database").exists():
            self._database_make()
        (folder / "database").chmod(0o700)
        # What its users may read and write as files: nothing.
        files = folder / "database.files"
        files.mkdir(mode=0o700, exist_ok=True)
        self.start(
            "mariadbd",
            "mariadbd",
            *_database_at(folder / "database"),
            f"--socket={folder / 'database' / 'socket'}",
            f"--secure-file-priv={files}",
            f"--pid-file={folder / 'database.pid'}",
            f"--port={values['database_port']}",
            *_DATABASE,
            *(() if self.shape.is_kept else _FORGETFUL),
            f"--init-file={folder / 'init.sql'}",
        )
        self.wait("mariadbd", lambda: not ports.is_free(int(values["database_port"])))

    def _database_make(self) -> None:
        """Under a draft name: a kill in the middle leaves none that looks whole."""
        draft = self.folder / "database.draft"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        more = ("--auth-root-authentication-method=normal", "--skip-test-db")
        self.command("mariadb-install-db", *_database_at(draft), *more)
        draft.rename(self.folder / "database")

    def _accounts_fill(self) -> None:
        """The cluster, the account and the user in the accounts; what is there stays."""
        rows = (
            ("cluster", "weir"),
            ("account", ACCOUNT),
            ("user", USER, f"account={ACCOUNT}"),
        )
        for kind, name, *more in rows:
            if not self.command("sacctmgr", "--noheader", "show", kind, name).strip():
                self.command("sacctmgr", "--immediate", "add", kind, name, *more)


def cluster_end(folder: Path) -> bool:
    """End whatever still runs of the cluster of a folder, by its process ids; whether nothing of it is left."""
    return marked_end("SLURM_CONF", str(folder / "slurm.conf"))


def _database_at(folder: Path) -> tuple[str, ...]:
    return ("--no-defaults", "--user=root", f"--datadir={folder}")


def _secret_write(path: Path, data: bytes) -> None:
    path.touch(0o600)
    path.write_bytes(data)


def _values(folder: Path, shape: Shape, first: int) -> dict[str, str]:
    nodes = shape.nodes
    port, dbd_port, database_port, rest_port = range(first + nodes, first + nodes + 4)
    return {
        "dir": str(folder),
        "host": os.uname().nodename,
        "port": str(port),
        "dbd_port": str(dbd_port),
        "database_port": str(database_port),
        "rest_port": str(rest_port),
        "password": secrets.token_hex(16),
        "nodes": str(nodes),
        "first": str(first),
        "last": str(first + nodes - 1),
    }
