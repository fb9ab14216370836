"""What a program keeps between its attempts: on which node it lies, and its archive on the way to another."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.kernel.planes import TenantOwned


class WorkFolder(TenantOwned):
    """The folder of one share of work that waits for another attempt, or has had several.

    `node` is where it lies and `slice_uid` the last attempt that ran in it. Where its work goes on on another node,
    `transfer` names its archive at the portal, from `asked_at` on; `moved_at` is the last sign that it gets on,
    `sent_at` when all of it was here. `given_up` says why it never will be ("": it may): `lost`, `silent`, `refused`;
    `problem` is the node's own sentence. `outputs_only`: its work is over, and of it the outputs alone are wanted.
    """

    workload_uid = models.UUIDField(_("workload"))
    share = models.PositiveIntegerField(_("share"))
    node = models.ForeignKey("fleet.Node", on_delete=models.PROTECT, related_name="+", verbose_name=_("node"))
    slice_uid = models.UUIDField()
    given_up = models.CharField(max_length=16, blank=True)
    problem = models.CharField(max_length=500, blank=True)
    outputs_only = models.BooleanField(default=False)
    transfer = models.UUIDField(null=True, blank=True, unique=True)
    asked_at = models.DateTimeField(null=True, blank=True)
    moved_at = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    pieces = models.PositiveIntegerField(default=0)
    size_bytes = models.PositiveBigIntegerField(_("size (bytes)"), default=0)
    sha256 = models.CharField(max_length=64, blank=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("work folder")
        verbose_name_plural = _("work folders")
        constraints = [
            models.UniqueConstraint(name="work_folder_once", fields=["workload_uid", "share"]),
        ]

    def __str__(self) -> str:
        return folder_key(self.workload_uid, self.share)

    @property
    def is_ready(self) -> bool:
        """Whether another node can begin: its archive is here, or will never be."""
        return self.sent_at is not None or bool(self.given_up)


def folder_key(workload_uid: object, share: int) -> str:
    """What nodes call the folder of a share."""
    return f"{workload_uid}.{share}"
