import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from django.conf import settings
from django.db import connection
from psycopg import sql

from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.databases import connect
from apps.conformance.harness.record import CaseFailed, NotRun, Record
from apps.conformance.test_cases.base import TestCase

# What must be equal, by what it is known by and what was decided about it; these hardly change within seconds.
TABLES = {
    "fleet_node": ("uid", "name", "is_drained"),
    "fleet_device": ("uid", "model", "memory_mib", "is_enabled", "is_sliced", "oversubscribe_permille"),
    "fleet_resourcegroup": ("code",),
    "fleet_spec": ("code", "compute_percent", "memory_mib", "is_enabled"),
    "identity_user": ("username", "password", "is_active"),
    "identity_membership": ("user_id", "tenant_id", "is_active"),
    "tenancy_tenant": ("schema_name", "name", "state"),
    "scheduling_queue": ("code", "state", "ordering", "priority"),
    "scheduling_tenantquota": ("tenant_id", "item", "total"),
    "scheduling_schedulingpolicy": ("placing", "ordering"),
    "scheduling_allocation": ("slice_uid",),
}
COMMAND_S = 240


class Backup(TestCase):
    """Key information is backed up by one command and restored by one into an empty database (POOL-11c)."""

    number = "11c"
    seconds = 40

    def run(self, pool: CaseContext, say: Record) -> None:
        name = pool.name("restored").replace("-", "_")
        self._database(pool, name)
        file = pool.folder / name / "pool.backup"
        pool.note("folder", str(file.parent))
        file.parent.mkdir(parents=True, exist_ok=True)
        live = str(connection.settings_dict["NAME"])
        before = _rows(live)
        told = _manage("pool_backup", str(file))
        after = _rows(live)
        say.step("S1", "pool_backup", told, mib=round(file.stat().st_size / 2**20, 2))
        elsewhere = file.parent / "restored"
        told = _manage("pool_restore", str(file), WEIR_DATABASE_URL=_url(name), WEIR_VAR_DIR=str(elsewhere))
        say.step("S2", "pool_restore into an empty database and data folder", told)
        found = _rows(name)
        for table in TABLES:
            # The pool is in use: what was there before and after the backup must be in it, and nothing that never was.
            lost = (before[table] & after[table]) - found[table]
            invented = found[table] - before[table] - after[table]
            counts = f"{len(after[table])} rows, {len(found[table])} restored"
            told = f"{table}: {counts}, {len(lost)} lost, {len(invented)} that never were"
            say.expect("E2", not lost and not invented, told)
        kept, files = _files(Path(settings.MEDIA_ROOT)), _files(elsewhere / "media")
        say.expect("E2", files.items() <= kept.items(), f"uploaded files: {len(kept)}, {len(files)} restored")

    @staticmethod
    def _database(pool: CaseContext, name: str) -> None:
        pool.note("database", name)
        try:
            with closing(connect("postgres")) as admin:
                admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        except psycopg.errors.InsufficientPrivilege as error:
            raise NotRun(
                "the portal's database account may not make an empty database to restore into"
            ) from error


def _files(root: Path) -> dict[str, int]:
    """What is uploaded, with sizes. One that was added since the backup is not in it."""
    return {str(path.relative_to(root)): path.stat().st_size for path in root.rglob("*") if path.is_file()}


def _manage(*words: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=Path(settings.BASE_DIR),
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )
    if done.returncode:
        raise CaseFailed(f"{words[0]} failed: {done.stderr.strip()[-300:]}")
    return done.stdout.strip().splitlines()[0]


def _url(name: str) -> str:
    """The portal's own database address with another database."""
    given = urlsplit(os.environ["WEIR_DATABASE_URL"])
    return urlunsplit(given._replace(path=f"/{name}"))


def _rows(name: str) -> dict[str, set[str]]:
    """What each table holds."""
    with closing(connect(name)) as database:
        return {table: {str(row) for row in database.execute(_query(table)).fetchall()} for table in TABLES}


def _query(table: str) -> sql.Composed:
    columns = sql.SQL(", ").join(map(sql.Identifier, TABLES[table]))
    return sql.SQL("SELECT {} FROM public.{} ORDER BY id").format(columns, sql.Identifier(table))
