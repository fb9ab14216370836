"""What is asked for every job: querysets whose SQL is built once, statements whose plan the server keeps.

To build the SQL of a queryset takes Django several times as long as PostgreSQL takes to answer a simple one, and to
plan that takes PostgreSQL longer than to carry it out.

Nothing here begins with an underscore of Django's or psycopg's, nor looks into the compiler: the SQL is that of
`sql_with_params`, rows are made by `Model.from_db`, statements are prepared by a cursor of psycopg's inside Django's
own.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, Generic, TypeVar

import psycopg
from django.core.exceptions import FieldDoesNotExist
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Field, Model, QuerySet, Value
from psycopg import Connection, Pipeline
from psycopg.errors import FeatureNotSupported
from psycopg.pq import PipelineStatus
from psycopg.sql import quote

M = TypeVar("M", bound=Model)
Row = tuple[Any, ...]


# Of more rows than this a statement is planned for those that it is given.
_FEW = 8


def prepared(count: int = 1) -> CursorWrapper:
    """A cursor for statements whose text is the same each time: the server is given their values apart, and keeps
    their plans. Django's own puts the values into the text, so that no two statements are alike.

    `count`: how many rows are given; a plan that is kept for few may be a bad one for many.
    """
    cursor = connection.cursor()
    if count <= _FEW:
        # Inside Django's, which is connected, in the schema of the tenant, counted and logged.
        cursor.cursor = _PreparingCursor(connection.connection)
    return cursor


class _PreparingCursor(psycopg.Cursor):
    """Prepares a statement when it is asked again. Only while it asks: psycopg remembers the whole text of whatever it
    counts, and among Django's own are inserts of megabytes."""

    def execute(self, query: Any, params: Any = None, **more: Any) -> Any:
        self.connection.prepare_threshold = 1
        try:
            return super().execute(query, params, **more)
        except FeatureNotSupported:
            # A column's type was changed: a plan of before is good for nothing, and only a new connection forgets it.
            self.connection.close()
            raise
        finally:
            self.connection.prepare_threshold = None


@contextmanager
def pipeline() -> Iterator[None]:
    """Inside, `prepared` statements wait for no answer until their rows are read or the block ends: we make the next
    one while the database carries out the last. What the database refuses is told then. All others wait as ever."""

    def waiting(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        _take_up(connection.connection, open_pipeline, sql)
        answer = execute(sql, params, many, context)
        if not isinstance(context["cursor"].cursor, _PreparingCursor):
            # Whoever catches an IntegrityError, or ends a nested transaction, looks for Django's.
            with connection.wrap_database_errors:
                open_pipeline.sync()
        return answer

    connection.ensure_connection()
    with (
        connection.wrap_database_errors,
        connection.connection.pipeline() as open_pipeline,
        connection.execute_wrapper(waiting),
    ):
        yield


def _take_up(database: Connection, pipeline: Pipeline, sql: Any) -> None:
    """After an error the server carries out nothing until it hears where the next statements begin, not even the
    return to a savepoint. The error itself was told; what remains are answers to what it kept from being done. Of what
    a return to a savepoint undoes nobody asks for the answers any more."""
    if str(sql).startswith("ROLLBACK TO"):
        with suppress(psycopg.Error):
            pipeline.sync()
    while database.pgconn.pipeline_status == PipelineStatus.ABORTED and not database.closed:
        with suppress(psycopg.Error):
            pipeline.sync()


class Param(Value):
    """Stands in the queryset of a `PreparedQuery` for a value that comes with each asking. None equals no row."""

    sql = "%s"

    def __init__(self, name: str) -> None:
        super().__init__(None)
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        return self.sql, [self]


class ArrayParam(Param):
    """A placeholder for a list of values, any of which a row may have."""

    sql = "ANY(%s)"


class PreparedValues:
    """Columns that a queryset finds, as tuples; its SQL is kept.

    Args:
        make: makes the queryset, with `Param` where a value comes with each asking.
        names: what is read of each row, as `values_list` names it. An annotation comes as the database gives it: where
            its type is another one, cast it.
    """

    def __init__(self, make: Callable[[], QuerySet[Any]], *names: str) -> None:
        self._make, self._names = make, names

    def all(self, **given: object) -> list[Row]:
        """What it finds for these values."""
        return self._select.found(given)

    def first(self, **given: object) -> Row | None:
        """The first that it finds; None where it finds nothing. The queryset says how many are read."""
        return next(iter(self.all(**given)), None)

    @cached_property
    def _select(self) -> "_Select":
        return _Select(self._make(), self._names)


class PreparedQuery(Generic[M]):
    """Rows of a model that a queryset finds; its SQL is kept.

    Args:
        make: makes the queryset, with `Param` where a value comes with each asking.
        fields: what is read, all others are deferred; () reads all of the row itself. "tenant__name" reads that of a
            related row, and its key: rows that have the same one share it.
        annotations: those of the queryset that rows get as attributes, as the database gives them.
    """

    def __init__(
        self,
        make: Callable[[], QuerySet[M]],
        *,
        fields: Sequence[str] = (),
        annotations: Sequence[str] = (),
    ) -> None:
        self._make, self._fields, self._annotations = make, fields, annotations

    def all(self, **given: object) -> list[M]:
        """What it finds for these values."""
        rows, parts = self._rows, self._rows.parts
        found = []
        shared: dict[tuple[str, object], Model] = {}
        for values in rows.select.found(given):
            row: M = parts[0].row(values)
            for part in parts[1:]:
                key = part.path, values[part.at.start]
                if key[1] is not None and key not in shared:
                    shared[key] = part.row(values)
                setattr(row, part.path, shared.get(key))
            for name, value in zip(self._annotations, values[parts[-1].at.stop :], strict=True):
                setattr(row, name, value)
            found.append(row)
        return found

    def first(self, **given: object) -> M | None:
        """The first that it finds; None where it finds nothing. The queryset says how many are read."""
        return next(iter(self.all(**given)), None)

    @cached_property
    def _rows(self) -> "_Rows":
        return _Rows(self._make(), self._fields, self._annotations)


class _Part:
    """The columns of one model among those of a row: of the row itself, or of the related row at `path`."""

    def __init__(self, model: type[Model], path: str, names: Iterable[str], start: int) -> None:
        wanted = set(names) or {field.name for field in model._meta.concrete_fields}
        kept = [
            field.attname
            for field in model._meta.concrete_fields
            if field.primary_key or not wanted.isdisjoint((field.name, field.attname))
        ]
        # The key first: it says whether there is a related row.
        self.model, self.path, self.attnames = model, path, kept
        self.at = slice(start, start + len(kept))

    @property
    def names(self) -> list[str]:
        return [f"{self.path}__{name}" if self.path else name for name in self.attnames]

    def row(self, values: Row) -> Any:
        return self.model.from_db(connection.alias, self.attnames, values[self.at])


class _Rows:
    """The SQL of a queryset of rows, and which columns belong to which model."""

    def __init__(self, rows: QuerySet[Any], fields: Sequence[str], annotations: Sequence[str]) -> None:
        own = [name for name in fields if "__" not in name]
        near: dict[str, list[str]] = {}
        for path, _mark, name in (name.rpartition("__") for name in fields if "__" in name):
            near.setdefault(path, []).append(name)
        self.parts = [_Part(rows.model, "", own, 0)]
        for path, names in near.items():
            related = rows.model._meta.get_field(path).related_model
            self.parts.append(_Part(related, path, names, self.parts[-1].at.stop))
        columns = [name for part in self.parts for name in part.names]
        self.select = _Select(rows, [*columns, *annotations])


class _Select:
    """The SQL by which a queryset finds these columns, and how Django's fields read them."""

    def __init__(self, rows: QuerySet[Any], names: Sequence[str]) -> None:
        self.sql, self.places = _with_constants(*rows.values_list(*names).query.sql_with_params())
        readers = [_reader(rows.model, name) for name in names]
        self._readers = [(place, read) for place, read in enumerate(readers) if read is not None]

    def found(self, given: Mapping[str, object]) -> list[Row]:
        """The rows that are found for these values, with values as the models' fields have them."""
        values = [given[each.name] for each in self.places]
        count = max((len(each) for each in values if isinstance(each, list)), default=1)
        with prepared(count) as cursor:
            cursor.execute(self.sql, values)
            rows: list[Row] = cursor.fetchall()
        if not self._readers:
            return rows
        return [self._read(list(row)) for row in rows]

    def _read(self, row: list[Any]) -> tuple[Any, ...]:
        for place, read in self._readers:
            row[place] = read(row[place], None, connection)
        return tuple(row)


def _reader(model: Any, name: str) -> Callable[[Any, None, Any], Any] | None:
    """What a column's value is read by, as of JSON; None where it is taken as it is, as an annotation's."""
    field: Field[Any, Any] | None = None
    for part in name.split("__"):
        try:
            field = model._meta.pk if part == "pk" else model._meta.get_field(part)
        except FieldDoesNotExist:
            return None
        model = field.related_model
    return getattr(field, "from_db_value", None)


def _with_constants(sql: str, values: Iterable[Any]) -> tuple[str, list[Param]]:
    """The SQL with what is always the same written into it, so that a kept plan knows which partial indexes hold it."""
    connection.ensure_connection()
    first, *others = re.split("(?<!%)%s", sql)
    written, places = [first], []
    for value, after in zip(values, others, strict=True):
        if isinstance(value, Param):
            places.append(value)
            written.append("%s")
        else:
            written.append(quote(value, connection.connection).replace("%", "%%"))
        written.append(after)
    return "".join(written), places
