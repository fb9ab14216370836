"""`manage.py release_key_make [--out FILE] [--name NAME]`: the key that releases of this pool are signed with."""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.kernel.actor import SYSTEM
from apps.rollouts.release_build import public_key_of
from apps.rollouts.services.releases import release_key_trust


class Command(BaseCommand):
    help = "Make a signing key (once), and trust it. Nodes that join afterwards take it along."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--out", type=Path, default=settings.WEIR_RELEASE_KEY, help="private key file")
        parser.add_argument("--name", default="release key", help="what people call it")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["out"]
        try:
            key = key_read(path) if path.exists() else _made(path)
        except (OSError, ValueError) as error:
            raise CommandError(f"{path} cannot be used: {error}") from error
        release_key_trust(actor=SYSTEM, public_key=public_key_of(key), name=options["name"])
        self.stdout.write(public_key_of(key))


def _made(path: Path) -> Ed25519PrivateKey:
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(pem)
    return key


def key_read(path: Path) -> Ed25519PrivateKey:
    """The private key of a file. Raises OSError, ValueError."""
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(key, Ed25519PrivateKey):
        raise ValueError("it is no Ed25519 key")
    return key
