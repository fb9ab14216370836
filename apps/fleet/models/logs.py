"""Tables of what nodes tell beside their state: what slices print, and when silence was last looked for."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

LOG_MAX_BYTES = 16 * 1024 * 1024


class LogChunk(models.Model):
    """A piece of a slice's output; `offset` and `size` count UTF-8 bytes."""

    slice = models.ForeignKey("fleet.Slice", on_delete=models.CASCADE, related_name="log_chunks")
    offset = models.PositiveBigIntegerField()
    size = models.PositiveIntegerField()
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("output")
        verbose_name_plural = _("output")
        ordering = ["slice", "offset"]
        constraints = [
            models.UniqueConstraint(fields=["slice", "offset"], name="log_chunk_once"),
            models.CheckConstraint(name="log_chunk_bounded", condition=Q(offset__lt=LOG_MAX_BYTES)),
        ]

    def __str__(self) -> str:
        return f"{self.slice_id}@{self.offset}"


class Watch(models.Model):
    """When the nodes were last checked: silence while nobody listened is not held against a node."""

    is_only = models.BooleanField(default=True, unique=True)
    checked_at = models.DateTimeField()
    listening_since_at = models.DateTimeField()

    class Meta:
        verbose_name = _("watch")
        verbose_name_plural = _("watch")
        constraints = [models.CheckConstraint(name="watch_only_one", condition=Q(is_only=True))]

    def __str__(self) -> str:
        return str(self.checked_at)
