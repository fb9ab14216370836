"""Test databases: one template for each state of the migrations, one clone for each process that tests."""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import psycopg
from django.contrib.contenttypes.models import ContentType
from django.db import connection, connections
from psycopg import sql

ROOT = Path(__file__).resolve().parents[2]
# Benchmarks measure what is flushed to disk; tests do without.
DURABLE = os.environ.get("WEIR_TEST_DURABLE") == "1"
VAR = ROOT / "var" / ("bench" if DURABLE else "test")
TENANTS = {"acme": "Acme Research", "globex": "Globex Labs"}
_KEPT_TEMPLATES = 4


def fingerprint() -> str:
    """Changes with anything that decides what a provisioned tenant holds: migrations, planes, roles, wiring, quota."""
    portal, quota = ROOT / "portal", ROOT / "apps/scheduling/services/quota/quotas.py"
    files = [*ROOT.glob("apps/*/migrations/*.py"), quota]
    files += [
        portal / name for name in ("roles.py", "wiring.py", "subscribers/tenants.py", "settings/planes.py")
    ]
    files.append(ROOT / "apps/tenancy/schema_template.py")
    digest = hashlib.sha256()
    for file in sorted([*files, Path(__file__)]):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def parts(url: str) -> dict[str, str]:
    """A database URL as Django's settings."""
    split = urlsplit(url)
    host = parse_qs(split.query).get("host", [split.hostname or ""])[0]
    return {
        "USER": unquote(split.username or ""),
        "PASSWORD": unquote(split.password or ""),
        "HOST": host,
        "PORT": str(split.port or ""),
    }


def connect(url: str, database: str) -> psycopg.Connection:
    found = parts(url)
    return psycopg.connect(
        host=found["HOST"] or None,
        port=found["PORT"] or None,
        user=found["USER"],
        password=found["PASSWORD"] or None,
        dbname=database,
        autocommit=True,
    )


@contextmanager
def turn(what: str = "databases") -> Iterator[None]:
    """One process at a time makes templates and clones."""
    VAR.mkdir(parents=True, exist_ok=True)
    with (VAR / f"{what}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def exists(admin: psycopg.Connection, name: str) -> bool:
    return admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone() is not None


def create(admin: psycopg.Connection, name: str, template: str = "template1") -> None:
    drop(admin, name)
    admin.execute(
        sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
    )


def drop(admin: psycopg.Connection, name: str) -> None:
    admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def old_templates_drop(admin: psycopg.Connection) -> None:
    rows = admin.execute(
        "SELECT datname FROM pg_database WHERE datname LIKE 'weir_tpl_%%' ORDER BY oid DESC OFFSET %s",
        [_KEPT_TEMPLATES],
    ).fetchall()
    for (name,) in rows:
        drop(admin, name)


def use(name: str) -> None:
    """Django's connection leads to that database from now on."""
    connections.close_all()
    connection.settings_dict["NAME"] = name
    ContentType.objects.clear_cache()


@contextmanager
def clone(admin: psycopg.Connection, template: str, name: str) -> Iterator[None]:
    """Django's connection leads to a copy of a database, which is gone afterwards."""
    before = connection.settings_dict["NAME"]
    connections.close_all()
    create(admin, name, template)
    use(name)
    yield
    use(before)
    drop(admin, name)


class Baseline:
    """The rows a fresh clone holds, and the way back to them after a test that really commits.

    `connect` opens a connection of its own, which ends with each use: the database can be copied between tests.
    """

    def __init__(self, connect: Callable[[], psycopg.Connection]) -> None:
        self.connect = connect
        self.rows: list[tuple[sql.Identifier, bytes]] = []
        with connect() as connection:
            self.tables = [
                sql.Identifier(schema, name)
                for schema, name in connection.execute(
                    "SELECT schemaname, tablename FROM pg_tables"
                    " WHERE schemaname IN ('public', 'acme', 'globex')"
                    " AND tablename <> 'django_migrations' ORDER BY 1, 2"
                )
            ]
            for table in self.tables:
                copied = _copied_out(connection, table)
                if copied:
                    self.rows.append((table, copied))

    def _filled(self, cursor: psycopg.Cursor) -> list[sql.Identifier]:
        """The tables that hold rows: few, and to empty those alone is ten times as fast as to truncate all."""
        looks = [
            sql.SQL("SELECT {} WHERE EXISTS (SELECT FROM {})").format(sql.Literal(number), table)
            for number, table in enumerate(self.tables)
        ]
        found = cursor.execute(sql.SQL(" UNION ALL ").join(looks)).fetchall()
        return [self.tables[number] for (number,) in found]

    def restore(self) -> None:
        """Back to the fresh clone's rows, in all three schemas; other schemas made meanwhile are dropped."""
        with self.connect() as connection, connection.transaction(), connection.cursor() as cursor:
            # Neither foreign keys nor append-only triggers stand in the way of a clean slate.
            cursor.execute("SET LOCAL session_replication_role = replica")
            for (schema,) in cursor.execute(
                "SELECT nspname FROM pg_namespace WHERE nspname NOT IN ('public', 'acme', 'globex',"
                " 'tenant_template', 'information_schema') AND nspname NOT LIKE 'pg\\_%'"
            ).fetchall():
                cursor.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))
            for table in self._filled(cursor):
                cursor.execute(sql.SQL("DELETE FROM {}").format(table))
            for table, rows in self.rows:
                with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(table)) as copy:
                    copy.write(rows)


def _copied_out(connection: psycopg.Connection, table: sql.Identifier) -> bytes:
    with connection.cursor() as cursor, cursor.copy(sql.SQL("COPY {} TO STDOUT").format(table)) as copy:
        return b"".join(bytes(block) for block in copy)
