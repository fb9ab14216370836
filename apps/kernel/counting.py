"""How many rows there are, counted no further than anybody reads: a badge has no room for more figures, and to count
100,000 rows takes as long as the rest of the page."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet

# What a badge says exactly; one more stands for all beyond it.
BADGE_MOST = 999


def badge_counts(parts: Mapping[str, QuerySet[Any]]) -> dict[str, int]:
    """By name how many rows each queryset finds, `BADGE_MOST` + 1 for any number beyond: one query for all of them."""
    counts = dict.fromkeys(parts, 0)
    selects, given = [], []
    for name, rows in parts.items():
        few = rows.order_by().values("pk")[: BADGE_MOST + 1]
        try:
            sql, params = few.query.sql_with_params()
        except EmptyResultSet:
            # Its conditions let nothing through.
            continue
        # What comes in are statements that Django wrote of querysets; every value is a parameter.
        selects.append(f"SELECT %s::text, count(*) FROM ({sql}) AS few")
        given += [name, *params]
    if selects:
        with connection.cursor() as cursor:
            cursor.execute(" UNION ALL ".join(selects), given)
            counts |= dict(cursor.fetchall())
    return counts


def badge_text(count: int) -> str:
    """A figure of `badge_counts`, or a sum of them, as a badge says it: "12", "999+"."""
    return f"{BADGE_MOST}+" if count > BADGE_MOST else str(count)
