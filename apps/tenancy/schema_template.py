"""The schema new tenants' schemas are copied from: migrated once for each state of the code, then cloned.

To migrate a schema is to render every model of every step of its history: seconds of processor time for each tenant.
To copy one that has been migrated is a few hundred statements that the database itself writes down.
"""

import hashlib
from importlib import import_module
from pathlib import Path

from django.apps import apps
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from django_tenants.migration_executors.standard import StandardExecutor

from apps.kernel.planes import in_public

# No tenant's schema: theirs have no underscore.
TEMPLATE = "tenant_template"
_TURN = 0x7E4A47
_MIGRATE = {
    "verbosity": 0,
    "interactive": False,
    "database": "default",
    "app_label": None,
    "migration_name": None,
    "plan": False,
    "fake": False,
    "fake_initial": False,
    "run_syncdb": False,
    "check_unapplied": False,
    "check": False,
    "prune": False,
    "skip_checks": True,
    "force_color": False,
    "no_color": True,
}


class TemplateError(RuntimeError):
    """A programming error: a tenant app's migration makes something that is not copied to new tenants."""


def schema_make(schema: str) -> None:
    """Make a tenant's schema with all its tables, in the caller's transaction: seconds only where code is new.

    Whoever makes another tenant meanwhile waits until this transaction ends.

    Raises:
        TemplateError: see `template_ensure`.
    """
    with transaction.atomic(), in_public():
        template_ensure()
        _execute(f'CREATE SCHEMA "{schema}"')
        statements = _statements()
        _enter(schema)
        _execute(";\n".join(statements))


def schema_empty(schema: str) -> None:
    """Put a new tenant's schema in place of one with data, in the caller's transaction.

    Raises:
        TemplateError: see `template_ensure`.
    """
    with transaction.atomic(), in_public():
        # What the transaction has written and not yet checked holds its tables.
        _execute("SET CONSTRAINTS ALL IMMEDIATE")
        _execute(f'DROP SCHEMA "{schema}" CASCADE')
        schema_make(schema)


def template_ensure() -> None:
    """Make the template anew where the migrations are not those it was made with.

    All or nothing: a process that dies in the middle leaves the template that was there.

    Raises:
        TemplateError: the migrations made something in it that would not be copied; names it.
    """
    with transaction.atomic(), in_public():
        _execute(f"SELECT pg_advisory_xact_lock({_TURN})")
        wanted = fingerprint()
        if _made_with() == wanted:
            return
        _execute(f"DROP SCHEMA IF EXISTS {TEMPLATE} CASCADE")
        _execute(f"CREATE SCHEMA {TEMPLATE}")
        StandardExecutor(args=(), options=_MIGRATE).run_migrations(tenants=[TEMPLATE])
        if left_out := [name for (name,) in _rows(_LEFT_OUT)]:
            raise TemplateError(
                f"a tenant's migrations make {', '.join(left_out)}, which new tenants would not get: "
                "teach apps/tenancy/schema_template.py to copy it"
            )
        _execute(f"COMMENT ON SCHEMA {TEMPLATE} IS '{wanted}'")


def fingerprint() -> str:
    """Of the text of all migrations, Django's own and other packages' as well: 64 hexadecimal digits."""
    digest = hashlib.sha256()
    for app in apps.get_app_configs():
        name, _is_explicit = MigrationLoader.migrations_module(app.label)
        try:
            folder = Path(next(iter(import_module(name).__path__)))
        except ModuleNotFoundError:
            continue
        for file in sorted(folder.glob("*.py")):
            digest.update(f"{app.label}/{file.name}".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _made_with() -> str | None:
    rows = _rows(
        f"SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = '{TEMPLATE}'"
    )
    return rows[0][0] if rows else None


def _statements() -> list[str]:
    """What makes the schema that is alone on the search path a copy; names in the template are written without it."""
    _enter(TEMPLATE)
    return [statement for _turn, _name, statement in _rows(_COPY)]


def _enter(schema: str) -> None:
    connection.set_schema(schema, include_public=False)


def _execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def _rows(query: str) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchall()


# Names are PostgreSQL's own words for its parts, so that each is made again by the name it has.
_COPY = f"""
WITH template AS (SELECT oid FROM pg_namespace WHERE nspname = '{TEMPLATE}'),
held AS (SELECT c.* FROM pg_class c JOIN template ON c.relnamespace = template.oid)
SELECT 1 AS turn, relname::text AS name,
    format('CREATE TABLE %I (LIKE {TEMPLATE}.%I INCLUDING ALL EXCLUDING INDEXES)', relname, relname) AS statement
    FROM held WHERE relkind = 'r'
UNION ALL
-- Rows come before what looks at rows: nothing is checked or done a second time.
SELECT 2, relname, format('INSERT INTO %1$I (%2$s) OVERRIDING SYSTEM VALUE SELECT %2$s FROM {TEMPLATE}.%1$I', relname,
    (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
     WHERE attrelid = held.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = ''))
    FROM held WHERE relkind = 'r'
UNION ALL
SELECT 3, sequencename, format('SELECT setval(%L, %s)', quote_ident(sequencename), last_value)
    FROM pg_sequences WHERE schemaname = '{TEMPLATE}' AND last_value IS NOT NULL
UNION ALL
SELECT CASE contype WHEN 'f' THEN 6 ELSE 4 END, conname,
    format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(k.oid, true))
    FROM pg_constraint k JOIN template ON k.connamespace = template.oid WHERE contype IN ('p', 'u', 'x', 'f')
UNION ALL
SELECT 5, relname, pg_get_indexdef(held.oid, 0, true)
    FROM held WHERE relkind = 'i'
    AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = held.oid AND contype IN ('p', 'u', 'x'))
UNION ALL
SELECT 7, tgname, pg_get_triggerdef(t.oid, true)
    FROM pg_trigger t JOIN held ON t.tgrelid = held.oid WHERE NOT tgisinternal
ORDER BY turn, name
"""
# Views, partitions, functions, types of their own, sequences that no column owns, rules, policies.
_LEFT_OUT = f"""
WITH template AS (SELECT oid FROM pg_namespace WHERE nspname = '{TEMPLATE}'),
held AS (SELECT c.* FROM pg_class c JOIN template ON c.relnamespace = template.oid)
SELECT relname::text FROM held WHERE relkind NOT IN ('r', 'i', 'S') OR relispartition OR relpersistence <> 'p'
    OR relkind = 'S' AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = held.oid AND deptype = 'i')
UNION ALL SELECT proname FROM pg_proc JOIN template ON pronamespace = template.oid
UNION ALL SELECT typname FROM pg_type t JOIN template ON t.typnamespace = template.oid
    WHERE typtype IN ('d', 'e', 'r') OR typtype = 'c' AND EXISTS (
        SELECT FROM pg_class WHERE oid = t.typrelid AND relkind = 'c')
UNION ALL SELECT rulename FROM pg_rewrite JOIN held ON ev_class = held.oid WHERE rulename <> '_RETURN'
UNION ALL SELECT polname FROM pg_policy JOIN held ON polrelid = held.oid
"""
