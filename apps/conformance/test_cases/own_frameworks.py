import importlib.util

from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.scripts import BEGIN, Script, session
from apps.conformance.test_cases.t12_03 import TRAIN

OTHERS = ("tensorflow", "paddle", "mxnet")


class Frameworks(TestCase):
    """The frameworks that this node has, on a virtual resource (POOL-10.6)."""

    number = "10.6"
    seconds = 20

    def run(self, pool: CaseContext, say: Record) -> None:
        (device,) = pool.take()
        _work, shares = session(pool, device=device["uid"], compute_percent=60, memory_mib=512)
        found = Script(pool, BEGIN + TRAIN, shares).result()
        absent = [name for name in OTHERS if importlib.util.find_spec(name) is None]
        say.step(
            "S1", "PyTorch: 20 training steps", f"last loss {found['remote'][-1]!r}", not_installed=absent
        )
        same = found["remote"] == found["local"]
        say.expect("E2", same, "PyTorch gives the same losses on a virtual resource as on the node's own CPU")
