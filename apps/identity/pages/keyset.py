"""A page of a long list, reached by the place of the last row before it.

As quick at the millionth row as at the first; no row comes twice or is left out when others are added meanwhile.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet


class KeysetPage:
    """Rows in order of time, the newest first.

    Iterated over, it gives at most `most` rows of those that stand behind the place that `before` names.
    `older` is the place behind its last row, "" where none follow; `is_first` where nothing newer was left out. A place
    that is none is taken for the beginning.
    """

    def __init__(self, before: str, rows: QuerySet[Any], *, at: str = "at", most: int = 50) -> None:
        # Of a list that says what it can do (`pages.lists`): how its reader has it.
        self.state: Any = None
        place = _place(before)
        if place is not None:
            when, pk = place
            rows = rows.filter(Q(**{f"{at}__lt": when}) | Q(**{at: when, "pk__lt": pk}))
        found = list(rows.order_by(f"-{at}", "-pk")[: most + 1])
        self.object_list = found[:most]
        self.is_first = place is None
        last = self.object_list[-1] if len(found) > most else None
        self.older = f"{getattr(last, at).isoformat()},{last.pk}" if last is not None else ""

    def __iter__(self) -> Iterator[Any]:
        return iter(self.object_list)

    def __len__(self) -> int:
        return len(self.object_list)


def _place(text: str) -> tuple[datetime, int] | None:
    when, _comma, pk = text.rpartition(",")
    try:
        found = datetime.fromisoformat(when.replace(" ", "+")), int(pk)
    except ValueError:
        return None
    return found if found[0].tzinfo is not None and abs(found[1]) < 2**63 else None
