"""What a test is: its number, how it shares the pool with others, and what it does."""

from typing import ClassVar

from apps.conformance.catalogue.entries import Entry, entry
from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record


class TestCase:
    """One functional test. A subclass is made for one run; `run` does the steps and notes what it sees.

    Attributes:
        number: of the test in the catalogue.
        is_alone: it changes what the work of every other test stands on, so no other with work runs beside it.
        has_work: it submits work; one that does not runs beside every other.
        is_waiting: it mostly waits, so it runs beside the others.
        seconds: about how long it takes; the longest begin first.
    """

    number: ClassVar[str]
    is_alone: ClassVar[bool] = False
    has_work: ClassVar[bool] = True
    is_waiting: ClassVar[bool] = False
    seconds: ClassVar[int] = 8

    def run(self, pool: CaseContext, say: Record) -> None:
        """Do it. Raises NotRun where the pool lacks what is needed, CaseFailed where it cannot go on."""
        raise NotImplementedError

    @property
    def entry(self) -> Entry:
        return entry(self.number)
