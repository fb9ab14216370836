"""`manage.py release_build --release X [--key FILE] [--out FILE]`: pack and sign the agent of this tree."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from pydantic import ValidationError

from apps.rollouts.release_build import release_pack, release_sign
from portal.management.commands.release_key_make import key_read


class Command(BaseCommand):
    help = "Make a release of the node agent: FILE, and FILE.sig with its signature. Upload both."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        # --version is Django's own.
        parser.add_argument("--release", required=True, help="the release's version, for example 1.4.0")
        parser.add_argument("--key", type=Path, default=settings.WEIR_RELEASE_KEY, help="private key file")
        parser.add_argument("--out", type=Path, help="default: weir-agent-<version>.zip")
        parser.add_argument("--root", type=Path, default=settings.BASE_DIR, help="the source tree")

    def handle(self, *args: Any, **options: Any) -> None:
        version = options["release"]
        path: Path = options["out"] or Path(f"weir-agent-{version}.zip")
        try:
            content = release_pack(options["root"], version)
            signature = release_sign(key_read(options["key"]), version, content)
            path.write_bytes(content)
            path.with_name(f"{path.name}.sig").write_text(signature + "\n")
        except ValidationError as error:
            raise CommandError(f"no version: {version} (letters, digits, . + _ -)") from error
        except (OSError, ValueError) as error:
            raise CommandError(f"{error}; a key is made with `manage.py release_key_make`") from error
        self.stdout.write(f"{path} ({len(content)} bytes)")
