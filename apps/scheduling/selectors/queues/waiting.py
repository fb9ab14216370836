"""Since when work waits: from when it could have run, not from when it was submitted (ELA-1101).

Work that may not start before an instant, that comes after other work, that is tried again later, or that was put
aside, waits for nobody meanwhile.
"""

from django.db.models import Case, DateTimeField, F, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Greatest


def runnable_at() -> Combinable:
    """Of work that waits: from when on it may run; later than now where that is still to come."""
    return Greatest("created_at", "earliest_start_at", "not_before_at", output_field=DateTimeField())


def first_runnable_at() -> Combinable:
    """Of work that has started: from when on it might have, before its first start. What held up later tries is left
    out."""
    before = Case(When(not_before_at__lte=F("started_at"), then=F("not_before_at")))
    return Greatest("created_at", "earliest_start_at", before, output_field=DateTimeField())
