"""What programs write of themselves: series of figures, by workload, share and name."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.kernel.planes import TenantOwned
from node_agent.protocol.metric_bounds import NAME_CHARACTERS


class MetricSeries(TenantOwned):
    """One series of a share of a workload: at each of its `steps`, which rise, a value and when it was (seconds since
    1970, by the node's clock). Of a long one points are left out evenly (`steps_thinned`)."""

    workload_uid = models.UUIDField(_("workload"))
    share = models.PositiveIntegerField(_("share"))
    name = models.CharField(_("metric"), max_length=NAME_CHARACTERS)
    steps = ArrayField(models.BigIntegerField(), default=list)
    values = ArrayField(models.FloatField(), default=list)
    times = ArrayField(models.FloatField(), default=list)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("metric")
        verbose_name_plural = _("metrics")
        ordering = ["name", "workload_uid", "share"]
        constraints = [
            models.UniqueConstraint(fields=["workload_uid", "share", "name"], name="metric_series_once")
        ]
        indexes = [models.Index(fields=["updated_at"], name="metric_series_age")]

    def __str__(self) -> str:
        return f"{self.workload_uid}.{self.share} {self.name}"
