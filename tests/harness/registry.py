"""A registry of container images that is really there."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from portal.devstack.servers.registry_server import RegistryServer


@contextmanager
def running_registry(folder: Path) -> Iterator[RegistryServer]:
    """One on this folder, as long as the block runs."""
    server = RegistryServer(folder)
    (folder / "log").mkdir(parents=True, exist_ok=True)
    server.prepare()
    process = server.start()
    try:
        server.wait_ready(process)
        yield server
    finally:
        process.terminate()
        process.wait(20)
