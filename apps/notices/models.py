"""In-site messages (PLAT-TODO-15)."""

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.kernel.translatable import sentence


class Message(models.Model):
    """A sentence to one user, kept as English source and figures: its language is chosen at reading."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    user = models.ForeignKey(
        "identity.User", on_delete=models.PROTECT, related_name="+", verbose_name=_("user")
    )
    tenant = models.ForeignKey(
        "tenancy.Tenant", null=True, on_delete=models.PROTECT, related_name="+", verbose_name=_("tenant")
    )
    msgid = models.CharField(max_length=240)
    params = models.JSONField(default=dict)
    # Both languages as sent, for the search by title only.
    search_text = models.TextField(default="")
    link = models.CharField(_("link"), max_length=240, blank=True)
    read_at = models.DateTimeField(_("read at"), null=True, blank=True)
    created_at = models.DateTimeField(_("time"), auto_now_add=True)

    class Meta:
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        ordering = ["-created_at", "-pk"]
        indexes = [
            models.Index(fields=["user", "-created_at", "-id"], name="message_by_user"),
            models.Index(fields=["user"], name="message_unread", condition=models.Q(read_at=None)),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        return sentence(self.msgid, self.params)

    @property
    def is_read(self) -> bool:
        return self.read_at is not None
