from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.audit.chain_heads import heads_verify
from apps.audit.selectors import chain_verify


class Command(BaseCommand):
    help = "Check the operation log against its hash chain and the heads kept outside of the database."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--heads", type=Path, default=Path(settings.WEIR_AUDIT_HEADS), metavar="FILE")

    def handle(self, *args: Any, heads: Path, **options: Any) -> None:
        report = chain_verify()
        if report.broken_seal is not None:
            raise CommandError(
                f"Seal {report.broken_seal} does not hold: {report.reason}. "
                "Somebody changed the log past its guards: compare the database with a backup."
            )
        count, reason = heads_verify(heads) if heads.exists() else (0, "")
        if reason:
            raise CommandError(
                f"The log's end was cut off, or {heads} is not of this log: {reason}. "
                "Compare the database with a backup, and the file with a copy of it."
            )
        self.stdout.write(f"{report.records} records under {report.seals} seals: nothing was changed.")
        kept = (
            f"{count} heads kept in {heads} agree."
            if count
            else f"No head is kept in {heads}: a cut end is unseen."
        )
        self.stdout.write(kept)
