"""What a list of the portal can do, said once: its columns, by what each is sorted, and what a file says in it.

    TENANTS = PageList(
        Column("name", _("Name"), sort="name", value="name"),
        Column("created", _("Created at"), sort="created_at", value="created_at"),
        order="-created",
    )

The template shows a column where its cells stand: `{% column key="created" %}…{% endcolumn %}`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db.models import Case, F, IntegerField, Model, QuerySet, Value, When
from django.db.models.expressions import OrderBy
from django.utils.functional import Promise
from django.utils.translation import gettext as _

Text = str | Promise
Told = str | Callable[[Any], object] | None
Sort = str | Case | tuple[str | Case, ...] | Callable[[], str]


@dataclass(frozen=True)
class Column:
    """A column of a list.

    Args:
        key: its name in addresses and in what is kept; never shown to people.
        label: its head, on the page and in files.
        sort: the field that it is sorted by, or several of them, or what gives it for the reader's language, or a
            rank (`ranked`); "" where it cannot be sorted.
        value: what a file says: the path of an attribute (`tenant.name`), or what makes it of a row; None where the
            column is for the page alone.
        unit: said in the head of a file behind the label.
        is_extra: shown only to who chose it.
    """

    key: str
    label: Text
    sort: Sort = ""
    value: Told = None
    unit: Text = ""
    is_extra: bool = False

    @property
    def fields(self) -> tuple[str | Case, ...]:
        """What it is sorted by."""
        wanted = self.sort() if callable(self.sort) else self.sort
        return wanted if isinstance(wanted, tuple) else (wanted,)

    @property
    def heading(self) -> str:
        """Its head in a file."""
        named = {"label": self.label, "unit": self.unit}
        return _("%(label)s (%(unit)s)") % named if self.unit else str(self.label)

    def value_of(self, row: Any) -> object:
        """What a file says of a row; None for nothing."""
        return (
            _at(row, self.value) if isinstance(self.value, str) else self.value(row) if self.value else None
        )


def ranked(field: str, order: Iterable[Any]) -> Case:
    """A field by the place that its values have in `order`, as states have in a life and levels by how grave they are:
    its letters say nothing to people."""
    places = [When(**{field: value}, then=Value(place)) for place, value in enumerate(order)]
    return Case(*places, default=Value(len(places)), output_field=IntegerField())


def _at(row: Any, path: str) -> object:
    found: Any = row
    for name in path.split("."):
        found = getattr(found, name)
        if found is None:
            return None
    return found() if callable(found) else found


class PageList:
    """The columns of a list, the first of which always stays.

    Args:
        order: the key of the column that rows are sorted by until somebody chooses, with "-" for downwards; "" for the
            order that they come in.
        places: names of the address that say what the list is of, and do not narrow it.
        usual: what its filter says where nobody narrows it.
        keyset: the field of time whose rows are read by their place alone, newest first: what only grows is as quick
            at its millionth row as at its first, and has no other order.
    """

    def __init__(
        self,
        *columns: Column,
        order: str = "",
        places: tuple[str, ...] = (),
        usual: Mapping[str, object] | None = None,
        keyset: str = "",
    ) -> None:
        self.columns = columns
        self.order = order
        self.places = places
        self.usual = usual or {}
        self.keyset = keyset

    @cached_property
    def by_key(self) -> Mapping[str, Column]:
        return {column.key: column for column in self.columns}

    @cached_property
    def usual_keys(self) -> tuple[str, ...]:
        """The keys of the columns that everybody is shown who chose none."""
        return tuple(column.key for column in self.columns if not column.is_extra)

    def is_narrowed(self, chosen: Mapping[str, object]) -> bool:
        """Whether what a filter says leaves out some of the list."""
        given = {
            name: value
            for name, value in chosen.items()
            # A box that is not ticked narrows nothing either.
            if value is not None and value is not False and value not in ("", []) and name not in self.places
        }
        return any(value != self.usual.get(name) for name, value in given.items())

    def sort_of(self, wanted: str) -> str:
        """The sort that was asked for, or the list's own where that is none."""
        column = self.by_key.get(wanted.removeprefix("-"))
        return wanted if column is not None and column.sort and not self.keyset else self.order

    def ordered(self, rows: QuerySet[Any], sort: str) -> QuerySet[Any]:
        """The rows in the order that `sort_of` gave; what is equal there stands by its key, so that no page changes by
        itself."""
        if self.keyset:
            return rows.order_by(f"-{self.keyset}", "-pk")
        if not sort:
            own = tuple(rows.query.order_by) or tuple(rows.model._meta.ordering or ())
            return rows.order_by(*own, "pk")
        is_down = sort.startswith("-")
        column = self.by_key[sort.removeprefix("-")]
        fields = (_by(rows, name, is_down=is_down) for name in column.fields)
        return rows.order_by(*fields, "-pk" if is_down else "pk")

    def shown(self, wanted: str) -> frozenset[str]:
        """The keys among those with commas between them that there are, with the first column; none for none."""
        keys = frozenset(wanted.split(",")) & self.by_key.keys()
        return keys | {self.columns[0].key} if keys else keys


def _by(rows: QuerySet[Any], name: str | Case, *, is_down: bool) -> str | OrderBy:
    """What is nowhere stands last either way; an index serves where nothing can be nowhere."""
    if isinstance(name, Case):
        return name.desc() if is_down else name.asc()
    if _is_everywhere(rows.model, name):
        return f"-{name}" if is_down else name
    field = F(name)
    return field.desc(nulls_last=True) if is_down else field.asc(nulls_last=True)


def _is_everywhere(model: type[Model], path: str) -> bool:
    for part in path.split("__"):
        try:
            field = model._meta.get_field(part)
        except FieldDoesNotExist:
            return False
        if getattr(field, "null", True):
            return False
        model = field.related_model or model  # type: ignore[assignment]
    return True
