"""`manage.py pool_restore FILE`: a backup into the empty database that WEIR_DATABASE_URL names, all or nothing."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from apps.rollouts.snapshots import Database, SnapshotFailed, snapshot_manifest, snapshot_restore


class Command(BaseCommand):
    help = __doc__
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            manifest = snapshot_manifest(file)
            rows = snapshot_restore(Database.of(connection.settings_dict), file)
        except SnapshotFailed as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{sum(rows.values())} rows in {len(rows)} tables, as of {manifest['at']}")
        self.stdout.write("If this code is newer than the backup: `manage.py migrate_schemas` next.")
