"""What grows without end is kept short: tallies are folded, time lines of long ago are forgotten."""

from datetime import timedelta

from django.db import connection
from django.utils import timezone

from apps.kernel.actor import Actor
from apps.kernel.service import service
from apps.scheduling.models import Decision
from apps.scheduling.states import DecisionKind

DECISIONS_KEPT = timedelta(days=400)
"""As long as hourly sums of telemetry: a year can be compared with the one before."""
BATCH = 5000

# Rows that others add meanwhile are not seen, and stay; of two that fold at once the second finds nothing.
_FOLD = """
WITH gone AS (DELETE FROM scheduling_tally RETURNING "of", kind, count)
INSERT INTO scheduling_tally ("of", kind, count) SELECT "of", kind, sum(count) FROM gone GROUP BY "of", kind
"""


@service(recorded=False)
def tallies_fold(*, actor: Actor) -> None:
    """One row for each kind in place of many; what they add up to stays the same at every moment."""
    with connection.cursor() as cursor:
        cursor.execute(_FOLD)


@service(recorded=False)
def decisions_prune(*, actor: Actor) -> int:
    """Forget a batch of decisions on work that ended more than DECISIONS_KEPT ago; how many there were."""
    until = timezone.now() - DECISIONS_KEPT
    for kind in DecisionKind.values:
        # By kind: so the oldest are found by their index, and none is looked at where none is old.
        old = Decision.objects.filter(kind=kind, at__lt=until, workload__ended_at__lt=until).order_by("at")
        batch = list(old.values_list("pk", flat=True)[:BATCH])
        if batch:
            return Decision.objects.filter(pk__in=batch).delete()[0]
    return 0
