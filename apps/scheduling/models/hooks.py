"""The hooks' outbox: who is still to be told of what happened to a job (ELA-1102)."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.scheduling.states import HookCallState, HookKind


class HookCall(models.Model):
    """One call of one hook, written in the transaction in which the thing happened and carried out after it.

    `next_try_at`: nobody else tries it before; `params` is what the hook is told beside the fields.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    hook = models.CharField(_("hook"), max_length=80)
    kind = models.CharField(_("what happened"), max_length=16, choices=HookKind)
    schema = models.CharField(_("tenant"), max_length=63)
    workload_uid = models.UUIDField(_("workload"))
    at = models.DateTimeField(_("at"))
    params = models.JSONField(_("figures"), default=dict)
    state = models.CharField(_("state"), max_length=12, choices=HookCallState, default=HookCallState.PENDING)
    tries = models.PositiveSmallIntegerField(_("tries"), default=0)
    error = models.CharField(_("error"), max_length=300, blank=True)
    next_try_at = models.DateTimeField(_("next try at"), default=timezone.now)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("hook call")
        verbose_name_plural = _("hook calls")
        ordering = ["-pk"]
        indexes = [models.Index(fields=["next_try_at"], name="hook_call_due", condition=Q(state="pending"))]

    def __str__(self) -> str:
        return f"{self.hook} {self.kind} {self.workload_uid}"
