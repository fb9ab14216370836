"""Clauses that the control node alone cannot show: the reason is what their report says."""

from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import NotRun, Record
from apps.conformance.test_cases.base import TestCase


class _Elsewhere(TestCase):
    seconds = 0
    reason = ""

    def run(self, pool: CaseContext, say: Record) -> None:
        raise NotRun(self.reason)


class Isolation(_Elsewhere):
    number = "8.2c"
    reason = "needs a container network that the test may take apart; the pool's nodes are in use"


class Platforms(_Elsewhere):
    number = "9.2"
    reason = "needs a container platform and a virtual machine beside this pool"


class Systems(_Elsewhere):
    number = "10.4"
    reason = "needs images of the operating systems listed"


class Infrastructure(_Elsewhere):
    number = "10.5"
    reason = "needs a container platform, Kubernetes and KVM"
