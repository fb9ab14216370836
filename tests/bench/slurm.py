"""Debian's Slurm on loopback, with as many real `slurmd` as nodes: what ours is compared with, in the same run.

It gets the settings of its high-throughput guide, launches nothing and keeps no accounts: only its decisions count.
Absent (`apt-get install slurm-wlm munge libslurm-dev gcc`), the comparison is left out, and that is said.
"""

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.harness.slurm import CONTROLLER, running_cluster, slurm_lacks

CARDS, CLIENTS = 8, 8
JOBS = int(os.environ.get("WEIR_BENCH_SLURM_JOBS", "1000"))
_NODE = f"CPUs=64 RealMemory=500000 Gres=card:{CARDS}"
_MORE = """
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_min_interval=2000,batch_sched_delay=0,default_queue_depth=10000,sched_max_job_start=0
SlurmdTimeout=0
TreeWidth=1000
GresTypes=card
"""
_DEVICES = f"NodeName=n[1-{{nodes}}] Name=card Count={CARDS}\n"


def rate(nodes: int) -> float | None:
    """Jobs a second that one-card jobs were allocated, none given back; None where there is no Slurm."""
    if slurm_lacks((*CONTROLLER, "gcc")) or not Path("/usr/include/slurm/slurm.h").exists():
        return None
    asked = {"nodes": nodes, "each": _NODE, "more": _MORE, "devices": _DEVICES, "with_rest": False}
    with TemporaryDirectory(prefix="weir-slurm-") as name, running_cluster(Path(name), **asked) as cluster:
        load = cluster.folder / "load"
        source = Path(__file__).with_name("slurm_load.c")
        subprocess.run(["gcc", "-O1", "-o", str(load), str(source), "-lslurm"], check=True)
        command = [str(load), str(min(JOBS, nodes * CARDS)), "1", str(CLIENTS), "1"]
        said_ = subprocess.run(command, check=True, env=cluster.environment, capture_output=True, text=True)
        return float(said_.stdout)


def said(theirs: float | None, ours: float) -> str:
    """The comparison in words."""
    if theirs is None:
        return "no Slurm on this machine to compare with"
    return f"Slurm {theirs:.0f} jobs/s: {ours / theirs:.1f} times"
