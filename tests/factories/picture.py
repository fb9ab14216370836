"""All rows of all planes as one figure per table: what is the same before and after has not been changed."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

# Signing in leaves its own marks, and so does an act that was refused: no change of anything.
_APART = ("identity_signin", "identity_apitoken", "django_session", "django_migrations")
_ROWS = {"audit_record": "WHERE name NOT IN ('api_token_make', 'act_refused')"}


def picture() -> dict[str, str]:
    """A digest of each table's rows, whatever the current schema."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT schemaname, tablename FROM pg_tables"
            " WHERE schemaname IN ('public', 'acme', 'globex') AND tablename <> ALL(%s)",
            [list(_APART)],
        )
        parts = [
            f"SELECT '{schema}.{table}', md5(coalesce(string_agg(row, '|' ORDER BY row), ''))"
            f" FROM (SELECT (to_jsonb(t) - 'last_login')::text AS row"
            f' FROM "{schema}"."{table}" t {_ROWS.get(table, "")}) AS told'
            for schema, table in cursor.fetchall()
        ]
        cursor.execute(" UNION ALL ".join(parts))
        return dict(cursor.fetchall())


@contextmanager
def nothing_changes() -> Iterator[None]:
    """Whatever is tried inside leaves every row of every plane as it was."""
    before = picture()
    yield
    after = picture()
    assert [table for table in before if before[table] != after[table]] == []
