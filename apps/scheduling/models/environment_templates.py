"""Templates of development environments: what a user starts with one click (PLAT-AICFG-9)."""

import uuid

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.scheduling.states import GpuKind, Software


class EnvironmentTemplate(models.Model):
    """A development environment as operators prepare it: software and amounts under a name.

    What was started from it keeps what it was started with. Of a whole card the memory is the card's. An empty vendor
    or model is any. Without `host_cpu_milli` and `host_memory_mib` nothing is said of the host. It is ended after
    `idle_timeout_s` without use of its device. `image` is the version of an image of the centre that it runs in,
    instead of the built-in software, and `image_name` what that was called.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(
        _("name"),
        max_length=36,
        validators=[
            RegexValidator(
                r"\A[a-z0-9-]{1,36}\Z", _("Digits, lower-case letters and hyphens only, 36 at the most.")
            )
        ],
    )
    description = models.CharField(_("description"), max_length=500, blank=True)
    software = models.CharField(_("image"), max_length=24, choices=Software, default=Software.JUPYTERLAB)
    image = models.CharField(_("container image"), max_length=36, blank=True)
    image_name = models.CharField(max_length=100, blank=True)
    gpu_kind = models.CharField(_("GPU type"), max_length=8, choices=GpuKind, default=GpuKind.SHARE)
    vendor = models.CharField(_("vendor"), max_length=64, blank=True)
    model = models.CharField(_("model"), max_length=200, blank=True)
    compute_percent = models.PositiveSmallIntegerField(_("compute share (%)"))
    memory_mib = models.PositiveIntegerField(_("accelerator memory (MiB)"))
    host_cpu_milli = models.PositiveIntegerField(_("processor (thousandths of a core)"), default=0)
    host_memory_mib = models.PositiveIntegerField(_("main memory (MiB)"), default=0)
    idle_timeout_s = models.PositiveIntegerField(_("idle at most (s)"), null=True, blank=True)
    removed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("environment template")
        verbose_name_plural = _("environment templates")
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["name"], name="environment_template_name_once", condition=Q(removed_at=None)
            ),
            models.CheckConstraint(
                name="environment_template_amounts",
                condition=Q(compute_percent__range=(1, 100), memory_mib__gte=1),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def image_text(self) -> str:
        """What it runs: an image of the centre, or the built-in software."""
        return self.image_name or str(Software(self.software).label)
