"""The members of a gang find each other with nothing but their environment: torch.distributed and torchrun."""

from __future__ import annotations

import pytest

from tests.journeys.test_node_agent_runtime import Agent, agent, portal

__all__ = ["agent", "portal"]
pytestmark = [pytest.mark.journey, pytest.mark.req("ELA-501", "ELA-906"), pytest.mark.xdist_group("agent")]

SUMS = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.tensor([float(dist.get_rank() + 1)])
dist.all_reduce(total)
print("rank", dist.get_rank(), "of", dist.get_world_size(), "sum", total.item(), flush=True)
dist.destroy_process_group()
"""
LAUNCHED = f"""
import pathlib, sys
from torch.distributed.run import main
pathlib.Path("sums.py").write_text({SUMS!r})
sys.exit(main(["sums.py"]))
"""
PORT = 21_407


@pytest.mark.parametrize("code", [SUMS, LAUNCHED], ids=["env", "torchrun"])
def test_members_of_a_gang_add_up_their_numbers(agent: Agent, code: str) -> None:
    pytest.importorskip("torch")
    names = ("first", "second")
    for share, name in enumerate(names):
        size = {
            "share": share, "shares": 2, "step": 1, "master_addr": "127.0.0.1", "master_port": PORT + len(code) % 7,
        }  # fmt: skip
        agent.want(name, code, size=size, memory_mib=1024, compute_percent=50)
    for share, name in enumerate(names):
        agent.until_state(name, "exited")
        log = (agent.home / "slices" / name / "log.txt").read_text()
        assert f"rank {share} of 2 sum 3.0" in log
