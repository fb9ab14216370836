"""Containers of running work that are wanted as a layer of a new image, and how far each is on its way here."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.kernel.planes import TenantOwned


class ContainerSave(TenantOwned):
    """What the work of a slice has changed over its image, asked of its node at `asked_at`.

    Its pieces lie with those of work folders under `uid`; `moved_at` is the last sign that it gets on, `sent_at` when
    all of it was here. `given_up` says why it never will be ("": it may): `lost` with its node, `silent` for too long,
    `refused` by the node in the words of `problem`. `left_out`: how many things were there that no image holds.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    workload_uid = models.UUIDField(_("workload"))
    slice_uid = models.UUIDField()
    node = models.ForeignKey("fleet.Node", on_delete=models.PROTECT, related_name="+", verbose_name=_("node"))
    limit_bytes = models.PositiveBigIntegerField()
    asked_at = models.DateTimeField(auto_now_add=True)
    moved_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, blank=True)
    given_up = models.CharField(max_length=16, blank=True)
    problem = models.CharField(max_length=500, blank=True)
    pieces = models.PositiveIntegerField(default=0)
    size_bytes = models.PositiveBigIntegerField(_("size (bytes)"), default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    left_out = models.PositiveBigIntegerField(default=0)

    class Meta(TenantOwned.Meta):
        verbose_name = _("saved container")
        verbose_name_plural = _("saved containers")
        constraints = [
            models.UniqueConstraint(
                name="container_save_one_at_a_time",
                fields=["slice_uid"],
                condition=Q(sent_at=None, given_up=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.workload_uid}"
