"""Many rows in one statement.

Django names every column of every row; of a thousand alike rows most columns have one value. Here such a column is
sent once, and only those that differ are sent as arrays: several times as many rows a second (measured in
docs/performance.md).
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.db import connection, connections, models
from django.db.models.expressions import DatabaseDefault
from django.utils import timezone

from apps.kernel.prepared_queries import prepared


def insert_many(rows: Sequence[models.Model], *, keyed: bool = True) -> None:
    """Insert unsaved rows of one model, in one statement, and set their keys; not `keyed`, for rows that nobody looks
    at any more, it does not wait for them where statements are `pipeline`."""
    if not rows:
        return
    model = type(rows[0])
    stamped(rows)
    names, sources, arrays, given = [], [], [], []
    database = connections[connection.alias]
    for field, name, attribute in _columns(model):
        value = rows[0].__dict__[attribute]
        if isinstance(value, DatabaseDefault):
            continue
        names.append(name)
        if len(rows) > 1 and any(row.__dict__[attribute] != value for row in rows):
            arrays.append((_array_type(field), _array(field, [row.__dict__[attribute] for row in rows])))
            sources.append(f"{_cast(field, f'v.c{len(arrays)}')}")
        elif literal := _literal(field, value):
            sources.append(literal)
        else:
            sources.append("%s")
            is_ready = type(value) in _READY and not _is_json(field)
            given.append(value if is_ready else field.get_db_prep_save(value, database))
    source = f"VALUES ({', '.join(sources)})"
    if len(rows) > 1:
        columns = "".join(f"c{number}, " for number in range(1, len(arrays) + 1))
        # The place comes along: it keeps the order, and there is an array even where all rows are alike.
        lists = "".join(f"%s::{kind}[], " for kind, _values in arrays)
        source = (
            f"SELECT {', '.join(sources)} FROM unnest({lists}%s::int[]) AS v({columns}place) ORDER BY v.place"
        )
        given += [*(values for _kind, values in arrays), list(range(len(rows)))]
    into = f'INSERT INTO "{model._meta.db_table}" ({", ".join(names)}) {source}'
    with prepared(len(rows)) as cursor:
        if not keyed:
            cursor.execute(into, given)
            return
        cursor.execute(f'{into} RETURNING "{model._meta.pk.column}"', given)
        for row, (pk,) in zip(rows, cursor.fetchall(), strict=True):
            row.pk = pk
            row._state.adding = False
            row._state.db = connection.alias


# Of these types a value goes to the database as it is.
_READY = frozenset({str, UUID, datetime})


def _literal(field: models.Field, value: Any) -> str:
    """What needs no parameter: most columns of most rows are empty, and each parameter takes time. "" for others."""
    if value is None:
        return "NULL"
    if value is True or value is False:
        return str(value) if isinstance(field, models.BooleanField) else ""
    return "''" if value == "" and not _is_json(field) else ""


def stamped(rows: Sequence[models.Model]) -> None:
    """Set what Django sets when a row is saved: the instants of now, the same for all."""
    now = timezone.now()
    for name in _stamps(type(rows[0])) if rows else ():
        for row in rows:
            setattr(row, name, now)


@cache
def _columns(model: type[models.Model]) -> tuple[tuple[models.Field, str, str], ...]:
    """The fields of a row but its key, what they are called in the database and in the row."""
    fields = (field for field in model._meta.concrete_fields if not field.primary_key)
    return tuple((field, f'"{field.column}"', field.attname) for field in fields)


@cache
def _stamps(model: type[models.Model]) -> tuple[str, ...]:
    return tuple(
        field.attname
        for field in model._meta.concrete_fields
        if getattr(field, "auto_now_add", False) or getattr(field, "auto_now", False)
    )


def update_many(
    table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]], where: str = ""
) -> None:
    """Set other values in many rows of a table, by key, in one statement.

    Args:
        columns: what is set, by the name of each given value with its type: {"held": "bigint"} sets held to it.
            An expression may stand behind the type: {"held": "bigint: t.held + v.held"}.
        rows: the key of each row, then its values.
        where: what must still hold of a row `t` that is to be changed.
    """
    if not rows:
        return
    kinds = [text.partition(":")[0] for text in columns.values()]
    settings = ", ".join(
        f"{name} = {text.partition(':')[2] or f'v.{name}'}" for name, text in columns.items()
    )
    lists = ", ".join(f"%s::{kind}[]" for kind in ("bigint", *kinds))
    sql = (
        f"UPDATE {table} AS t SET {settings} FROM unnest({lists}) AS v(key, {', '.join(columns)}) "
        f"WHERE t.id = v.key {where and 'AND ' + where}"
    )
    with prepared(len(rows)) as cursor:
        cursor.execute(sql, [list(values) for values in zip(*rows, strict=True)])


def _is_json(field: models.Field) -> bool:
    return isinstance(field, models.JSONField)


def _array_type(field: models.Field) -> str:
    if _is_json(field):
        return "text"
    kind = str(field.rel_db_type(connection) if field.is_relation else field.db_type(connection))
    return kind.partition("(")[0]


def _cast(field: models.Field, name: str) -> str:
    return f"{name}::jsonb" if _is_json(field) else name


def _array(field: models.Field, values: list[Any]) -> list[Any]:
    if _is_json(field):
        return [None if value is None else json.dumps(value, cls=field.encoder) for value in values]
    return values
