"""Many rows at once, each like one that real calls have left behind."""

from django.db import connection
from django.db.models import Model


def copied(row: Model, source: str, **changes: str) -> None:
    """Insert a row like `row` for each row of `source`, without triggers, whose work is not what is measured.

    Foreign keys are not looked at either: whoever changes one names a row that there is.

    Args:
        source: what follows FROM, as `generate_series(1, 100) AS n`; its columns can stand in `changes`.
        changes: by column what SQL gives for it, where it is not `row`'s own value.
    """
    table, key = row._meta.db_table, row._meta.pk.column
    given = {
        field.column: f'origin."{field.column}"'
        for field in row._meta.concrete_fields
        if field.column != key or key in changes
    }
    given |= changes
    columns, values = ", ".join(f'"{name}"' for name in given), ", ".join(given.values())
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        try:
            cursor.execute(
                f"INSERT INTO {table} ({columns}) SELECT {values} FROM {table} origin, {source}"
                f' WHERE origin."{key}" = {row.pk}'
            )
        finally:
            if not connection.needs_rollback:
                cursor.execute("SET session_replication_role = origin")
