"""Work for a person, or for automatic delivery."""

import uuid

from django.db import models
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from apps.kernel.planes import SharedForeignKey
from apps.tickets.states import TicketKind, TicketState


class Ticket(models.Model):
    """A piece of work on a subject (an order) of this tenant, done by `side` (PLAT-TODO-8). Without an assignee
    while in delivery, it is delivered automatically. `executed_at`: when its assignee carried it out; it is done once
    what was asked for is there."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    no = models.CharField(_("business number"), max_length=32, unique=True)
    kind = models.CharField(_("kind"), max_length=16, choices=TicketKind, default=TicketKind.DELIVERY)
    title_zh = models.CharField(_("title in Chinese"), max_length=200)
    title_en = models.CharField(_("title in English"), max_length=200)
    subject_kind = models.CharField(max_length=16)
    subject_uid = models.UUIDField()
    subject_no = models.CharField(_("for"), max_length=32)
    side = models.CharField(_("side"), max_length=8, default="operator")
    state = models.CharField(_("state"), max_length=16, choices=TicketState, default=TicketState.WAITING)
    submitter = SharedForeignKey("identity.User", verbose_name=_("submitted by"))
    submitter_name = models.CharField(_("submitted by"), max_length=120)
    organization = models.ForeignKey(
        "orgs.Organization", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    business_system = models.ForeignKey(
        "orgs.BusinessSystem", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    organization_name = models.CharField(_("organization"), max_length=120, blank=True)
    business_system_name = models.CharField(_("business system"), max_length=120, blank=True)
    assignee = SharedForeignKey("identity.User", null=True, blank=True, verbose_name=_("claimed by"))
    result = models.JSONField(_("result"), default=dict)
    claimed_at = models.DateTimeField(_("claimed at"), null=True, blank=True)
    executed_at = models.DateTimeField(_("carried out at"), null=True, blank=True)
    done_at = models.DateTimeField(_("done at"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("work ticket")
        verbose_name_plural = _("work tickets")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                name="ticket_state_known", condition=models.Q(state__in=TicketState.values)
            ),
            models.UniqueConstraint(
                fields=["kind", "subject_uid"],
                condition=models.Q(state__in=["waiting", "delivering"]),
                name="ticket_open_once",
            ),
        ]
        indexes = [models.Index(fields=["subject_uid"], name="ticket_by_subject")]

    def __str__(self) -> str:
        return self.no

    @property
    def title(self) -> str:
        """The title in the language of the reader."""
        return self.title_zh if (get_language() or "").startswith("zh") else self.title_en
