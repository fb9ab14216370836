"""`manage.py pool_restore FILE`: a backup into the empty database that WEIR_DATABASE_URL names, all or nothing."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from apps.rollouts.backup_database import BackupError, Database, backup_manifest, backup_restore
from apps.rollouts.backup_keys import key_id, keys_path, keys_read, keys_write


class Command(BaseCommand):
    help = __doc__
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            manifest = backup_manifest(file)
            keys_told = _keys(file, str(manifest.get("key", "")))
            rows = backup_restore(Database.of(connection.settings_dict), file, settings.MEDIA_ROOT)
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from error
        count = manifest["files"]["count"]
        self.stdout.write(
            f"{sum(rows.values())} rows in {len(rows)} tables and {count} files, as of {manifest['at']}"
        )
        self.stdout.write(keys_told)
        self.stdout.write("If this code is newer than the backup: `manage.py migrate_schemas` next.")


def _keys(file: Path, wanted: str) -> str:
    """What the portal needs to open what is encrypted in the backup; a key that is not its own is brought to light."""
    if key_id(settings.SECRET_KEY) == wanted:
        return "Keys: this portal has the backup's WEIR_SECRET_KEY."
    beside = keys_path(file)
    if not beside.exists():
        return (
            f"Keys: this portal has another WEIR_SECRET_KEY and {beside} is not there. Running sessions cannot be "
            "opened again until the old key stands in WEIR_SECRET_KEY or WEIR_SECRET_KEY_FALLBACKS."
        )
    keys = keys_read(beside, settings.WEIR_BACKUP_PASSPHRASE)
    if wanted not in map(key_id, keys):
        raise BackupError(f"{beside} belongs to another backup: its key is not the one this one needs")
    place = settings.MEDIA_ROOT.parent / "restored.keys"
    place.parent.mkdir(parents=True, exist_ok=True)
    keys_write(place, keys, "")
    return (
        f"Keys: the backup's are now in {place}, readable by its owner. Start the portal with the first as "
        "WEIR_SECRET_KEY (the others in WEIR_SECRET_KEY_FALLBACKS), then delete that file."
    )
