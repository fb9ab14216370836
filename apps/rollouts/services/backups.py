"""Backups on time: one at a time over all hosts, the newest kept (POOL-11c)."""

import socket
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.utils import timezone

from apps.kernel.actor import Actor, act_subject
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.rollouts.backup_database import BackupError, Database, backup_write
from apps.rollouts.backup_keys import key_id, keys_path, keys_write
from apps.rollouts.events import BackupFailed, BackupMade
from apps.rollouts.models import Backup
from apps.rollouts.services.server_processes import lease_hold

_TURN_S = 3600


@service()
def backup_make(*, actor: Actor, path: Path) -> Backup:
    """Write a snapshot of the pool into a file of this host, and its keys into one beside it; what came of it is kept
    either way."""
    began_at = timezone.now()
    row = Backup(host=socket.gethostname()[:200], path=str(path), started_at=began_at)
    act_subject("backup", path.name)
    try:
        row.size = backup_write(
            Database.of(connection.settings_dict),
            path,
            settings.MEDIA_ROOT,
            weir=settings.WEIR_VERSION,
            at=began_at.isoformat(),
            key=key_id(settings.SECRET_KEY),
        )
        keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
        keys_write(keys_path(path), keys, settings.WEIR_BACKUP_PASSPHRASE)
    except (BackupError, OSError) as error:
        row.reason = str(error)[:500]
        emit(BackupFailed(host=row.host, reason=row.reason), actor=actor)
    else:
        emit(BackupMade(host=row.host), actor=actor)
    row.finished_at = timezone.now()
    row.save()
    return row


@service(recorded=False)
def backup_due(*, actor: Actor) -> Backup | None:
    """Make a backup where the last good one is too old; remove this host's oldest beyond those to keep."""
    if not settings.WEIR_BACKUP_EVERY_H:
        return None
    fresh_at = timezone.now() - timedelta(hours=settings.WEIR_BACKUP_EVERY_H)
    if Backup.objects.filter(reason="", started_at__gt=fresh_at).exists():
        return None
    if not lease_hold(actor=actor, name="backup", holder=socket.gethostname(), ttl_s=_TURN_S):
        return None
    folder: Path = settings.WEIR_BACKUP_DIR
    row = backup_make(actor=actor, path=folder / f"weir-{timezone.now():%Y%m%d-%H%M%S}.backup")
    if row.is_good:
        _prune(folder)
    return row


def _prune(folder: Path) -> None:
    for old in sorted(folder.glob("weir-*.backup"))[: -settings.WEIR_BACKUP_KEEP]:
        old.unlink(missing_ok=True)
        keys_path(old).unlink(missing_ok=True)
