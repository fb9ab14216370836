"""A real Slurm of the tests in a folder, with counted accelerators; it leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from portal.devstack.engines.slurm_cluster import (
    ACCOUNT,
    CONTROLLER,
    USER,
    Cluster,
    Shape,
    slurm_lacks,
)
from portal.devstack.servers import ports

__all__ = ["ACCOUNT", "CONTROLLER", "NODE", "USER", "Cluster", "running_cluster", "slurm", "slurm_lacks"]

_GRES = """
AccountingStorageTRES=gres/gpu,gres/npu,gres/card
GresTypes=gpu,npu,card
"""
# A card of the type "gpu" needs a file each; the two others are counted alone.
_DEVICES = """
NodeName=n[1-{nodes}] Name=gpu File={dir}/gpu[0-1]
NodeName=n[1-{nodes}] Name=npu Count=4
NodeName=n[1-{nodes}] Name=card Count=3
"""
NODE = "CPUs=8 RealMemory=16000 TmpDisk=102400 Gres=gpu:2,npu:4,card:3"


@contextmanager
def running_cluster(
    folder: Path,
    *,
    nodes: int = 2,
    each: str = NODE,
    more: str = _GRES,
    devices: str = _DEVICES,
    with_rest: bool = True,
) -> Iterator[Cluster]:
    """One with all its nodes idle, and with accounts and REST unless they are left out; gone afterwards.

    `each` are the node's lines, `more` is added to `slurm.conf`, `devices` is its `gres.conf`.
    """
    shape = Shape(nodes, each, more, devices, with_rest)
    made = Cluster.made(folder, shape, ports.row_free(shape.ports))
    for number in range(2):
        (folder / f"gpu{number}").touch()
    try:
        made.start_all()
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
