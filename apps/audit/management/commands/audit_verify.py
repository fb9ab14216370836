from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.audit.selectors import chain_verify


class Command(BaseCommand):
    help = "Check the operation log against its hash chain; fails at the first seal that does not hold."

    def handle(self, *args: Any, **options: Any) -> None:
        report = chain_verify()
        if report.broken_seal is not None:
            raise CommandError(
                f"Seal {report.broken_seal} does not hold: {report.reason}. "
                "Somebody changed the log past its guards: compare the database with a backup."
            )
        self.stdout.write(f"{report.records} records under {report.seals} seals: nothing was changed.")
