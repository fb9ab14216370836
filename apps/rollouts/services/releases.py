"""Releases come in signed; who may sign (POOL-12.20)."""

import hashlib
import io
import zipfile
import zlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import ValidationError

from apps.fleet.permissions import FleetPermission as P
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import InvalidInput, NotFound, TooLarge
from apps.kernel.service import service
from apps.rollouts.errors import ReleaseKnown, ReleaseUnsound
from apps.rollouts.models import Release, ReleaseKey
from node_agent.protocol.releases import MANIFEST, MANIFEST_BYTES, RELEASE_BYTES, Manifest, signed_text

_UNREADABLE = (
    zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValidationError, RuntimeError, NotImplementedError,
)  # fmt: skip


@service(P.MANAGE)
def release_add(*, actor: Actor, content: bytes, signature: str, notes: str = "") -> Release:
    """Take in a release. Its version is what its manifest says; nothing unsigned gets in.

    Raises ReleaseUnsound, ReleaseKnown, TooLarge.
    """
    if len(content) > RELEASE_BYTES:
        raise TooLarge()
    manifest, sha256 = _manifest(content), hashlib.sha256(content).hexdigest()
    act_subject("release", manifest.version, sha256=sha256)
    key = _signer(signed_text(manifest.version, sha256), signature)
    signature = bytes.fromhex(signature).hex()
    if Release.objects.filter(version=manifest.version).exists():
        raise ReleaseKnown()
    try:
        with transaction.atomic():
            return Release.objects.create(
                version=manifest.version,
                content=content,
                size=len(content),
                file_count=len(manifest.files),
                sha256=sha256,
                signature=signature,
                key=key,
                notes=notes[:500],
                created_by=actor.name,
            )
    except IntegrityError as error:
        raise ReleaseKnown() from error


def _manifest(content: bytes) -> Manifest:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            if packed.getinfo(MANIFEST).file_size > MANIFEST_BYTES:
                raise ReleaseUnsound(_("The file is no release: its manifest is too long."))
            manifest = Manifest.model_validate_json(packed.read(MANIFEST))
            if set(packed.namelist()) != {*manifest.files, MANIFEST}:
                raise ReleaseUnsound(_("The file holds other files than its manifest names."))
    except _UNREADABLE as error:
        raise ReleaseUnsound(_("The file is no release: its archive or manifest cannot be read.")) from error
    return manifest


def _signer(text: bytes, signature: str) -> ReleaseKey:
    try:
        raw = bytes.fromhex(signature)
    except ValueError as error:
        raise ReleaseUnsound(fields={"signature": _("128 hexadecimal digits.")}) from error
    for key in ReleaseKey.objects.filter(revoked_at=None):
        try:
            Ed25519PublicKey.from_public_bytes(bytes.fromhex(key.public_key)).verify(raw, text)
        except InvalidSignature:
            continue
        return key
    raise ReleaseUnsound(_("The signature is not by a key that is trusted here."))


@service(P.MANAGE)
def release_key_trust(*, actor: Actor, public_key: str, name: str) -> ReleaseKey:
    """Let releases be signed with this key. Agents that already hold a key do not take it by themselves."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
    except ValueError as error:
        raise InvalidInput(fields={"public_key": _("64 hexadecimal digits of an Ed25519 key.")}) from error
    act_subject("release_key", public_key)
    row, _is_new = ReleaseKey.objects.get_or_create(
        public_key=public_key.lower(), defaults={"name": name[:80]}
    )
    return row


@service(P.MANAGE)
def release_key_revoke(*, actor: Actor, public_key: str) -> ReleaseKey:
    """Take in nothing more that is signed with this key, nor roll it out; no node takes it from now on."""
    act_subject("release_key", public_key)
    row = ReleaseKey.objects.select_for_update(no_key=True).filter(public_key=public_key).first()
    if row is None:
        raise NotFound(_("There is no such key."))
    if row.revoked_at is None:
        row.revoked_at = timezone.now()
        row.save(update_fields=["revoked_at"])
    return row
