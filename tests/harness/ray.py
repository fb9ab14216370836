"""A real Ray of the tests in a folder: a head with its dashboard behind a token, and a second node on this machine."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from portal.devstack.engines.ray_cluster import RayCluster, ray_ports
from portal.devstack.engines.ray_install import ray_lacks
from portal.devstack.servers import ports

__all__ = ["RayCluster", "ray", "running_ray"]

NODES = 2
# Of each node: so much of everything, and two resources of its own names.
_EACH = ("--num-cpus=8", "--num-gpus=2", f"--memory={16_000 * 2**20}", '--resources={"NPU": 4, "my_card": 3}')


@contextmanager
def running_ray(folder: Path) -> Iterator[RayCluster]:
    """One with all its nodes; gone afterwards."""
    first = ports.row_free(ray_ports(NODES))
    made = RayCluster.made(folder, secrets.token_urlsafe(32), _EACH, NODES, first)
    try:
        made.head_start()
        made.node_start("second")
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="session")
def ray() -> Iterator[RayCluster]:
    """One with two nodes for all tests of a worker."""
    if why := ray_lacks():
        pytest.skip(why)
    # Sockets have short paths.
    with (
        TemporaryDirectory(prefix="weir-ray-", ignore_cleanup_errors=True) as folder,
        running_ray(Path(folder)) as cluster,
    ):
        yield cluster
