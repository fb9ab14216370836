from django.core.management import get_commands

from apps.conformance.cases.base import Case
from apps.conformance.running.ground import Ground
from apps.conformance.running.record import NotRun, Record


class Backup(Case):
    """Key information is backed up and restored into an empty system (POOL-11c)."""

    number = "11c"
    seconds = 30

    def run(self, pool: Ground, say: Record) -> None:
        if "backup" not in get_commands():
            raise NotRun("this portal has no backup command")
        raise NotRun(
            "needs an empty database beside the portal's: tests/journeys restores into one and compares"
        )
