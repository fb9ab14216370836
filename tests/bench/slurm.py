"""Debian's Slurm on loopback, with as many real `slurmd` as nodes: what ours is compared with, in the same run.

It gets the settings of its high-throughput guide, launches nothing and keeps no accounts: only its decisions count.
Absent (`apt-get install slurm-wlm munge libslurm-dev gcc`), the comparison is left out, and that is said.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

CARDS, CLIENTS = 8, 8
JOBS = int(os.environ.get("WEIR_BENCH_SLURM_JOBS", "1000"))
_READY_S = 300
_NEEDED = ("slurmctld", "slurmd", "munged", "gcc")
_CONF = """
ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort=26817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
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
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters={tuned}
SlurmdParameters=config_overrides
MaxJobCount=200000
MinJobAge=300
ReturnToService=2
SlurmdTimeout=0
InactiveLimit=0
TreeWidth=1000
GresTypes=card
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] {each}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def rate(nodes: int) -> float | None:
    """Jobs a second that one-card jobs were allocated, none given back; None where there is no Slurm."""
    if not all(map(shutil.which, _NEEDED)) or not Path("/usr/include/slurm/slurm.h").exists():
        return None
    with TemporaryDirectory(prefix="weir-slurm-") as folder, _cluster(Path(folder), nodes) as environment:
        load = Path(folder) / "load"
        source = Path(__file__).with_name("slurm_load.c")
        subprocess.run(["gcc", "-O1", "-o", str(load), str(source), "-lslurm"], check=True)
        command = [str(load), str(min(JOBS, nodes * CARDS)), "1", str(CLIENTS), "1"]
        said_ = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
        return float(said_.stdout)


def said(theirs: float | None, ours: float) -> str:
    """The comparison in words."""
    if theirs is None:
        return "no Slurm on this machine to compare with"
    return f"Slurm {theirs:.0f} jobs/s: {ours / theirs:.1f} times"


@contextmanager
def _cluster(folder: Path, nodes: int) -> Iterator[dict[str, str]]:
    """A controller with all its nodes idle; gone afterwards."""
    host = os.uname().nodename
    first = 27000
    conf = folder / "slurm.conf"
    tuned = "sched_min_interval=2000,batch_sched_delay=0,default_queue_depth=10000,sched_max_job_start=0"
    filled = _CONF.format(
        dir=folder,
        tuned=tuned,
        host=host,
        nodes=nodes,
        first=first,
        last=first + nodes - 1,
        each=f"CPUs=64 RealMemory=500000 Gres=card:{CARDS} State=UNKNOWN",
    )
    conf.write_text(filled)
    (folder / "gres.conf").write_text(f"NodeName=n[1-{nodes}] Name=card Count={CARDS}\n")
    (folder / "state").mkdir()
    environment = {**os.environ, "SLURM_CONF": str(conf)}
    processes = [*_munge(), subprocess.Popen(["slurmctld", "-D"], env=environment, stderr=subprocess.DEVNULL)]
    try:
        for number in range(1, nodes + 1):
            command = ["slurmd", "-D", "-N", f"n{number}"]
            processes.append(subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL))
        _idle_wait(environment, nodes)
        yield environment
    finally:
        for process in reversed(processes):
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)
        for process in processes:
            process.wait()


def _munge() -> list[subprocess.Popen]:
    if subprocess.run(["munge", "-n"], capture_output=True, check=False).returncode == 0:
        return []
    run = Path("/run/munge")
    run.mkdir(exist_ok=True)
    shutil.chown(run, "munge", "munge")
    run.chmod(0o755)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return [subprocess.Popen(["munged", "--foreground", "--force"], user="munge", group="munge", **quiet)]


def _idle_wait(environment: dict[str, str], nodes: int) -> None:
    deadline_s = time.monotonic() + _READY_S
    command = ["sinfo", "--noheader", "--states=idle", "--responding", "--format=%D"]
    idle = 0
    while time.monotonic() < deadline_s:
        told = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        idle = sum(int(line) for line in told.stdout.split() if line.isdigit())
        if idle >= nodes:
            return
        time.sleep(1)
    raise TimeoutError(f"{idle} of {nodes} nodes of Slurm are idle")
