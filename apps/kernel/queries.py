"""What is asked for every job: querysets whose SQL is built once, statements whose plan the server keeps.

To build the SQL of a queryset takes Django several times as long as PostgreSQL takes to answer a simple one, and to
plan that takes PostgreSQL longer than to carry it out.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, Generic, TypeVar

import psycopg
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.backends.postgresql.base import ServerBindingCursor
from django.db.backends.utils import CursorWrapper
from django.db.models import QuerySet, Value
from django.db.models.query import (
    FlatValuesListIterable,
    ModelIterable,
    ValuesListIterable,
    get_related_populators,
)
from psycopg import Connection, Pipeline
from psycopg.errors import FeatureNotSupported
from psycopg.pq import PipelineStatus
from psycopg.sql import quote

T = TypeVar("T")
Row = tuple[Any, ...]


# Of more rows than this a statement is planned for those that it is given.
_FEW = 8


def prepared(count: int = 1) -> CursorWrapper:
    """A cursor for statements whose text is the same each time: the server is given their values apart, and keeps
    their plans. Django's own puts the values into the text, so that no two statements are alike.

    `count`: how many rows are given; a plan that is kept for few may be a bad one for many.
    """
    if count > _FEW:
        return connection.cursor()
    database = connections[DEFAULT_DB_ALIAS]
    # As Django's own are made: connected, and in the schema of the tenant.
    database.close_if_health_check_failed()
    database.ensure_connection()
    database._handle_search_path()
    return database._prepare_cursor(_KeptCursor(database.connection))


class _KeptCursor(ServerBindingCursor):
    """Prepares a statement when it is asked again. Only while it asks: psycopg remembers the whole text of whatever it
    counts, and among Django's own are inserts of megabytes."""

    def execute(self, query: Any, params: Any = None, **more: Any) -> Any:
        self.connection.prepare_threshold = 1
        try:
            return super().execute(query, params, **more)
        except FeatureNotSupported:
            # A column's type was changed: a plan of before is good for nothing, and only a new connection forgets it.
            connection.close_at = 0
            raise
        finally:
            self.connection.prepare_threshold = None


@contextmanager
def piped() -> Iterator[None]:
    """Inside, `prepared` statements wait for no answer until their rows are read or the block ends: we make the next
    one while the database carries out the last. What the database refuses is told then. All others wait as ever."""

    def waiting(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        _take_up(connection.connection, pipeline, sql)
        answer = execute(sql, params, many, context)
        if not isinstance(context["cursor"].cursor, ServerBindingCursor):
            # Whoever catches an IntegrityError, or ends a nested transaction, looks for Django's.
            with connection.wrap_database_errors:
                pipeline.sync()
        return answer

    connection.ensure_connection()
    with (
        connection.wrap_database_errors,
        connection.connection.pipeline() as pipeline,
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


class Given(Value):
    """Stands in a `Kept` queryset for a value that comes with each asking. None equals no row."""

    sql = "%s"

    def __init__(self, name: str) -> None:
        super().__init__(None)
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        return self.sql, [self]


class GivenAny(Given):
    """The same for a list of values, any of which a row may have."""

    sql = "ANY(%s)"


class Kept(Generic[T]):
    """A queryset, of rows or of `values_list`, whose SQL is kept.

    Args:
        make: makes the queryset, with `Given` where a value comes with each asking.
    """

    def __init__(self, make: Callable[[], "QuerySet[Any, T]"]) -> None:
        self._make = make

    def all(self, **given: object) -> list[T]:
        """What it finds for these values."""
        built = self._built
        values = [given[each.name] for each in built.places]
        count = max((len(each) for each in values if isinstance(each, list)), default=1)
        with prepared(count) as cursor:
            cursor.execute(built.sql, values)
            found = cursor.fetchall()
        return built.read(built.converted(found))

    def first(self, **given: object) -> T | None:
        """The first that it finds; None where it finds nothing. The queryset says how many are read."""
        return next(iter(self.all(**given)), None)

    @cached_property
    def _built(self) -> "_Built":
        return _Built(self._make())


class _Built:
    """The SQL of a queryset, and how its rows are read; as Django's own iterables read them."""

    def __init__(self, rows: QuerySet) -> None:
        compiler = rows.query.get_compiler(rows.db)
        self.sql, self.places = _with_constants(*compiler.as_sql())
        select = compiler.select[: compiler.col_count]
        self._converters = list(compiler.get_converters([each[0] for each in select]).items())
        kind = rows._iterable_class
        if kind is ModelIterable:
            self._klass, self._annotated = compiler.klass_info["model"], compiler.annotation_col_map or {}
            own = compiler.klass_info["select_fields"]
            self._own = slice(own[0], own[-1] + 1)
            self._names = [each[0].target.attname for each in compiler.select[self._own]]
            self._near = get_related_populators(compiler.klass_info, compiler.select, connection.alias)
        self.read = {ModelIterable: self._models, ValuesListIterable: _tuples, FlatValuesListIterable: _flat}[
            kind
        ]

    def converted(self, found: Iterable[Row]) -> Iterable[Any]:
        """The rows with their values as the models' fields have them."""
        for row in found if self._converters else ():
            values = list(row)
            for place, (converters, expression) in self._converters:
                for convert in converters:
                    values[place] = convert(values[place], expression, connection)
            yield values
        if not self._converters:
            yield from found

    def _models(self, found: Iterable[Any]) -> list[Any]:
        made = []
        for values in found:
            row = self._klass.from_db(connection.alias, self._names, values[self._own])
            for each in self._near:
                each.populate(values, row)
            for name, place in self._annotated.items():
                setattr(row, name, values[place])
            made.append(row)
        return made


def _with_constants(sql: str, values: Iterable[Any]) -> tuple[str, list[Given]]:
    """The SQL with what is always the same written into it, so that a kept plan knows which partial indexes hold it."""
    connection.ensure_connection()
    first, *others = re.split("(?<!%)%s", sql)
    written, places = [first], []
    for value, after in zip(values, others, strict=True):
        if isinstance(value, Given):
            places.append(value)
            written.append("%s")
        else:
            written.append(quote(value, connection.connection).replace("%", "%%"))
        written.append(after)
    return "".join(written), places


def _tuples(found: Iterable[Any]) -> list[Row]:
    return [tuple(values) for values in found]


def _flat(found: Iterable[Any]) -> list[Any]:
    return [values[0] for values in found]
