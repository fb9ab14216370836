"""`manage.py pool_backup FILE`: the whole pool in one file, as it is at this instant; its keys in FILE.keys."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.kernel.actor import SYSTEM
from apps.rollouts.services.backups import backup_make


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        row = backup_make(actor=SYSTEM, path=file.absolute())
        if not row.is_good:
            raise CommandError(row.reason)
        self.stdout.write(f"{file} ({row.size} bytes)")
