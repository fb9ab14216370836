"""What work waits for besides room: other work."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.kernel.planes import TenantOwned
from apps.scheduling.states import AfterWork


class WorkloadDependency(models.Model):
    """A workload waits for another one of its tenant, submitted before it: in a circle nothing can wait. `is_open`
    until that holds."""

    workload = models.ForeignKey("scheduling.Workload", on_delete=models.CASCADE, related_name="dependencies")
    on = models.ForeignKey("scheduling.Workload", on_delete=models.CASCADE, related_name="dependents")
    kind = models.CharField(_("waits until"), max_length=16, choices=AfterWork)
    is_open = models.BooleanField(default=True)

    class Meta:
        verbose_name = _("dependency")
        verbose_name_plural = _("dependencies")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["workload", "on", "kind"], name="dependency_once"),
            models.CheckConstraint(name="dependency_kind", condition=Q(kind__in=AfterWork.values)),
            models.CheckConstraint(
                name="dependency_on_earlier", condition=Q(on_id__lt=models.F("workload_id"))
            ),
        ]
        indexes = [models.Index(fields=["on"], name="dependency_open", condition=Q(is_open=True))]

    def __str__(self) -> str:
        return f"{self.workload_id} {self.kind} {self.on_id}"


class WorkloadArray(TenantOwned):
    """Work that was submitted as one, for a row of numbers: a workload for each (its `array_index`), `at_once` of them
    at the most let to their queue before the next. With `stopped_at` it ends as one."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    no = models.CharField(_("number"), max_length=40, unique=True)
    name = models.CharField(_("name"), max_length=120)
    spec = models.CharField(_("tasks"), max_length=64)
    size = models.PositiveIntegerField(_("tasks"))
    at_once = models.PositiveIntegerField(_("at once at most"), null=True, blank=True)
    stopped_at = models.DateTimeField(_("ended as one at"), null=True, blank=True)
    stop_reason = models.CharField(_("why it was ended"), max_length=200, blank=True)
    created_at = models.DateTimeField(_("submitted at"), auto_now_add=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("array")
        verbose_name_plural = _("arrays")
        ordering = ["-created_at", "-pk"]
        indexes = [models.Index(fields=["tenant", "-created_at"], name="array_of_tenant")]

    def __str__(self) -> str:
        return self.no
