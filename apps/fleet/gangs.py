"""What the shares of elastic work are told of its size."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class GangSize(models.Model):
    """Which of how many shares each slice of a workload is (ELA-906); what is neither elastic nor of replicas has none.

    `places`: by slice its `share`, the `shares` there are, how many are a replica, and the `step` at which it was told.
    """

    workload_uid = models.UUIDField(_("workload"), unique=True)
    places = models.JSONField(_("places"), default=dict)

    class Meta:
        verbose_name = _("size of a gang")
        verbose_name_plural = _("sizes of gangs")

    def __str__(self) -> str:
        return str(self.workload_uid)
