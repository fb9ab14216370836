"""Work for a person, or for automatic delivery."""

import uuid
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext as _text
from django.utils.translation import gettext_lazy as _

from apps.kernel.attached_files import AttachedFile
from apps.kernel.errors import Conflict
from apps.kernel.planes import SharedForeignKey
from apps.kernel.translatable import localized
from apps.ticketing.states import Side
from apps.ticketing.ticket_steps import step_called
from apps.tickets.states import OPEN, EntryKind, TicketState


class Ticket(models.Model):
    """A piece of work of this tenant, done by `side` (PLAT-TODO-8): on a subject (an order), or what somebody asked for
    by a category's form.

    It waits for `roles` and `user_ids`, found by the category's rule when it was opened; without any of them for all of
    its side. Without an assignee while in progress, it is delivered automatically; one that `is_manual` never is.
    `executed_at`: when its assignee carried it out; that of an order is done once what was asked for is there. `fields`
    is the form as it was when the ticket was opened, `steps` are the steps of its category as they were then, and
    `step` is the key of the one it is at. Due times count the centre's working hours; they move on by the time that it
    was asked back.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    no = models.CharField(_("business number"), max_length=32, unique=True)
    category = SharedForeignKey("ticketing.TicketCategory", verbose_name=_("category"))
    title_zh = models.CharField(_("title in Chinese"), max_length=200)
    title_en = models.CharField(_("title in English"), max_length=200)
    text = models.TextField(_("description"), blank=True)
    fields = models.JSONField(_("fields"), default=list)
    data = models.JSONField(_("further fields"), default=dict)
    steps = models.JSONField(_("steps"), default=list)
    step = models.CharField(_("step"), max_length=8, blank=True)
    subject_kind = models.CharField(max_length=16, blank=True)
    subject_uid = models.UUIDField(null=True, blank=True)
    subject_no = models.CharField(_("for"), max_length=32, blank=True)
    side = models.CharField(_("side"), max_length=8, choices=Side, default=Side.OPERATOR)
    roles = ArrayField(models.CharField(max_length=100), default=list, verbose_name=_("candidate roles"))
    user_ids = ArrayField(models.BigIntegerField(), default=list, verbose_name=_("candidates by name"))
    is_manual = models.BooleanField(_("carried out by a person"), default=False)
    receiver = models.CharField(_("receiver"), max_length=160, blank=True)
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
    answer_due_at = models.DateTimeField(_("answer due"), null=True, blank=True)
    solve_due_at = models.DateTimeField(_("solution due"), null=True, blank=True)
    answered_at = models.DateTimeField(_("answered at"), null=True, blank=True)
    asked_at = models.DateTimeField(_("asked back at"), null=True, blank=True)
    claimed_at = models.DateTimeField(_("claimed at"), null=True, blank=True)
    executed_at = models.DateTimeField(_("carried out at"), null=True, blank=True)
    done_at = models.DateTimeField(_("done at"), null=True, blank=True)
    rating = models.PositiveSmallIntegerField(_("rating"), null=True, blank=True)
    rating_text = models.CharField(_("remark on the rating"), max_length=1000, blank=True)
    rated_at = models.DateTimeField(_("rated at"), null=True, blank=True)
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
            models.CheckConstraint(
                name="ticket_rating", condition=models.Q(rating=None) | models.Q(rating__range=(1, 5))
            ),
            models.UniqueConstraint(
                fields=["category", "subject_uid"],
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
        return localized(self.title_zh, self.title_en)

    @property
    def is_by_hand(self) -> bool:
        """Whether somebody opened it by a form; else it is the delivery of an order."""
        return not self.subject_kind

    @property
    def step_name(self) -> str:
        """What the present step is called in the language of the reader; empty for a ticket without steps."""
        return step_called(self.steps, self.step)

    def order_uid(self) -> uuid.UUID:
        """The order that it delivers; Conflict for one that somebody opened by hand."""
        if self.subject_uid is None:
            raise Conflict(
                _text("The ticket %(no)s is for no order.") % {"no": self.no},
                cure=_text("Finish it instead."),
            )
        return self.subject_uid

    @property
    def topic(self) -> str:
        """What its page watches."""
        return f"{self.subject_kind}.{self.subject_uid}" if self.subject_kind else f"ticket.{self.uid}"

    @property
    def is_answer_overdue(self) -> bool:
        return _is_late(self.answer_due_at, self.answered_at or self._stopped_at)

    @property
    def is_solve_overdue(self) -> bool:
        return _is_late(self.solve_due_at, self.done_at or self._stopped_at)

    @property
    def _stopped_at(self) -> Any:
        """When its clocks stood still: while it is asked back, or once it is over without having been done."""
        return self.asked_at if self.state in OPEN else self.updated_at


def _is_late(due_at: Any, at: Any) -> bool:
    return due_at is not None and (at or timezone.now()) > due_at


class TicketEntry(models.Model):
    """What was done with a ticket, and what was said at it: its time line, in which both sides talk."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    ticket = models.ForeignKey(Ticket, on_delete=models.CASCADE, related_name="entries")
    kind = models.CharField(_("kind"), max_length=16, choices=EntryKind)
    text = models.TextField(_("text"), blank=True)
    user = SharedForeignKey("identity.User", null=True, blank=True, verbose_name=_("by"))
    user_name = models.CharField(_("by"), max_length=120, blank=True)
    created_at = models.DateTimeField(_("time"), auto_now_add=True)

    class Meta:
        verbose_name = _("entry of a ticket")
        verbose_name_plural = _("entries of tickets")
        ordering = ["created_at", "pk"]

    def __str__(self) -> str:
        return f"{self.ticket}: {self.kind}"


class TicketFile(AttachedFile):
    """A file that goes with a ticket, of either side (PLAT-CFG-27)."""

    ticket = models.ForeignKey(Ticket, on_delete=models.CASCADE, related_name="files")
