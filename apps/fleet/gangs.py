"""What the shares of work that has several are told of each other."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class GangSize(models.Model):
    """Which of how many shares each slice of a workload is (ELA-906); what has one share and is not elastic
    has none.

    `places`: by slice its `share`, the `shares` there are, how many are a replica, where they
    meet, and the `step` at which it was told.
    """

    workload_uid = models.UUIDField(_("workload"), unique=True)
    places = models.JSONField(_("places"), default=dict)

    class Meta:
        verbose_name = _("size of a gang")
        verbose_name_plural = _("sizes of gangs")

    def __str__(self) -> str:
        return str(self.workload_uid)
