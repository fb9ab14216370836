"""Writing of rows only what has changed. Internal to the app's services.

A node speaks every second, and mostly nothing is new: to write what is known already costs Django several times as
much as to look.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

from django.db.models import Manager, Model

M = TypeVar("M", bound=Model)


class ChangedRows(Generic[M]):
    """Rows as they were read, to be told from what becomes of them.

    Values are compared, not watched: what a field holds is replaced, never changed in place.

    Args:
        rows: as the database holds them.
        fields: the columns that may be written.
    """

    def __init__(self, rows: Iterable[M], fields: Sequence[str]) -> None:
        self._fields = tuple(fields)
        self._before = [(row, self._values(row)) for row in rows]

    def _values(self, row: M) -> tuple[Any, ...]:
        return tuple(getattr(row, field) for field in self._fields)

    def names(self) -> list[str]:
        """The columns in which any of the rows differs, in the order of `fields`."""
        found = {
            name
            for row, before in self._before
            for name, was, is_now in zip(self._fields, before, self._values(row), strict=True)
            if was != is_now
        }
        return [name for name in self._fields if name in found]

    def save(self, manager: Manager[M]) -> None:
        """Write the rows that differ, in one statement, and of them the columns that do."""
        if names := self.names():
            changed = [row for row, before in self._before if before != self._values(row)]
            manager.bulk_update(changed, names)
