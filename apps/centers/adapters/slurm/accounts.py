"""The accounts that tenants have at a Slurm cluster: one of its users each, with a folder of its own."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from apps.centers.adapters.answers import text
from apps.centers.adapters.base import CenterRefused

# Becomes part of a path and of an address.
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}")
# Who may do anything at a cluster, as Slurm is usually set up; which other users may, its accounts say.
_MIGHTY = frozenset({"root", "slurm", "slurmctld", "munge"})


def tenant_user(named: str, *, own: str, has_key: bool) -> str:
    """The user that a tenant's jobs run under. Raises CenterRefused for one that may do more than a tenant, for the
    centre's own, and where the portal cannot act as any user there."""
    user = named.strip()
    if not _USER.fullmatch(user):
        raise CenterRefused(
            _("%(user)s is no name of a user: letters, digits, dots, dashes and underscores, at most 32.")
            % {"user": repr(user[:40])}
        )
    if user in _MIGHTY:
        raise CenterRefused(
            _("%(user)s may do anything at the cluster: a tenant's jobs do not run under it.")
            % {"user": user}
        )
    if user == own.strip():
        raise CenterRefused(
            _("%(user)s is the centre's own user: name one that nobody else's work runs under.")
            % {"user": user}
        )
    if not has_key:
        raise CenterRefused(
            _(
                "A token is one user's: for users of tenants give the centre the cluster's signing key as its"
                " credential."
            )
        )
    return user


def administrator_check(record: Mapping[str, Any], user: str) -> None:
    """Raises CenterRefused where the accounts say that a user may do more at the cluster than run jobs."""
    level = text(record, "administrator_level")
    if level not in ("", "None", "Not Set"):
        raise CenterRefused(
            _("%(user)s is an administrator of the cluster (%(level)s): a tenant's jobs do not run under it.")
            % {"user": user, "level": level[:32]}
        )
    if record.get("coordinators"):
        raise CenterRefused(
            _("%(user)s coordinates an account of the cluster, and may end others' jobs there.")
            % {"user": user}
        )


def private_folder_check(folder: str) -> None:
    """Raises CenterRefused unless a tenant's folder, as the portal sees it, is closed to all but a user and a group,
    and nobody but who owns the folder above it can have put it there."""
    above, _slash, name = folder.rpartition("/")
    try:
        at = os.open(above or "/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            held_above = os.fstat(at)
            held = os.stat(name, dir_fd=at, follow_symlinks=False)
        finally:
            os.close(at)
    except OSError as error:
        raise CenterRefused(
            _("The folder %(folder)s of this tenant's user cannot be opened: %(cause)s")
            % {"folder": folder, "cause": os.strerror(error.errno or 0)}
        ) from error
    if not stat.S_ISDIR(held.st_mode) or held.st_uid == 0:
        raise CenterRefused(
            _("%(folder)s is no folder of a user's own: make it, and give it to the user.")
            % {"folder": folder}
        )
    if held.st_mode & stat.S_IRWXO:
        raise CenterRefused(
            _("Others may enter %(folder)s: close it to them (chmod o-rwx).") % {"folder": folder}
        )
    if held_above.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CenterRefused(
            _(
                "Others may put a folder in the place of %(folder)s: close the one above it to writing (chmod go-w)."
            )
            % {"folder": folder}
        )
