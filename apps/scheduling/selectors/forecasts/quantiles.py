"""PostgreSQL's continuous percentiles as one aggregate."""

from collections.abc import Sequence
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import Aggregate, DurationField


class Quantiles(Aggregate):
    """The values below which the given parts of all values lie, as a list in the same order."""

    function = "PERCENTILE_CONT"
    name = "quantiles"
    template = "%(function)s(ARRAY[%(parts)s]) WITHIN GROUP (ORDER BY %(expressions)s)"

    def __init__(self, expression: Any, parts: Sequence[float]) -> None:
        listed = ", ".join(str(float(part)) for part in parts)
        super().__init__(expression, parts=listed, output_field=ArrayField(DurationField()))
