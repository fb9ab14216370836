"""Folders that people send along with their work: kept by what is in them, so that the same one is sent once."""

import uuid

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.kernel.planes import TenantOwned


class FolderUpload(TenantOwned):
    """The archive of a folder that somebody sent for work of his own.

    `sha256` is of the whole archive, whose `pieces` lie with those of the work folders under `uid`; `whole_at` says
    when all of them were there. `used_at` is the last time that it was sent or asked for.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    owner = models.ForeignKey(
        "identity.User", on_delete=models.PROTECT, related_name="+", verbose_name=_("sent by")
    )
    sha256 = models.CharField(max_length=64)
    size_bytes = models.PositiveBigIntegerField(_("size (bytes)"))
    pieces = models.PositiveIntegerField()
    whole_at = models.DateTimeField(null=True, blank=True)
    used_at = models.DateTimeField(default=timezone.now, db_index=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("sent folder")
        verbose_name_plural = _("sent folders")
        constraints = [
            models.UniqueConstraint(name="folder_upload_once", fields=["tenant", "owner", "sha256"]),
        ]

    def __str__(self) -> str:
        return self.sha256[:12]


class FolderUse(models.Model):
    """Work that begins in a sent folder, until that work is over."""

    workload_uid = models.UUIDField(_("workload"), unique=True)
    upload = models.ForeignKey(FolderUpload, on_delete=models.PROTECT, related_name="uses")

    class Meta:
        verbose_name = _("use of a sent folder")
        verbose_name_plural = _("uses of sent folders")

    def __str__(self) -> str:
        return str(self.workload_uid)
