"""How tickets are asked for and to whom they go: categories with their forms and rules, and the working calendar."""

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.kernel.translatable import localized
from apps.ticketing.states import Builtin, ReceiverKind, Side


class TicketCategory(models.Model):
    """A class of tickets: three are built in, the operators' own stand below O&M (PLAT-CFG-28, PLAT-CFG-29).

    `path` leads from the built-in one down to it; below a path are those that begin with it. `fields` are those of its
    form: `{name, kind, label_zh, label_en, is_required, choices, value, opening, handling, steps}`, where `opening` and
    `handling` are a `FieldState` each, of who opens the ticket and of who handles it, and `steps` has by a step's key
    that of who handles it there, where it is otherwise (PLAT-CFG-26). `steps` of the category are those that a ticket
    goes through one after the other, `{key, name_zh, name_en}`; without any it has one without a name (PLAT-CFG-25).
    Targets are minutes of working time.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    builtin = models.CharField(max_length=16, choices=Builtin, null=True, blank=True, unique=True)
    path = models.CharField(max_length=80, unique=True, editable=False)
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="children"
    )
    name_zh = models.CharField(_("name in Chinese"), max_length=80)
    name_en = models.CharField(_("name in English"), max_length=80)
    hint_zh = models.CharField(_("hint in Chinese"), max_length=300, blank=True)
    hint_en = models.CharField(_("hint in English"), max_length=300, blank=True)
    fields = models.JSONField(_("fields"), default=list, blank=True)
    steps = models.JSONField(_("steps"), default=list, blank=True)
    answer_minutes = models.PositiveIntegerField(_("time to the first answer"), null=True, blank=True)
    solve_minutes = models.PositiveIntegerField(_("time to the solution"), null=True, blank=True)
    is_enabled = models.BooleanField(_("enabled"), default=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("ticket category")
        verbose_name_plural = _("ticket categories")
        ordering = ["path"]
        constraints = [
            models.UniqueConstraint(
                fields=["parent", "name_zh"], name="ticket_category_name_zh_once", nulls_distinct=False
            ),
            models.UniqueConstraint(
                fields=["parent", "name_en"], name="ticket_category_name_en_once", nulls_distinct=False
            ),
            models.CheckConstraint(
                name="ticket_category_place",
                condition=models.Q(builtin__isnull=False, parent=None)
                | models.Q(builtin__isnull=True, parent__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The name in the language of the reader."""
        return localized(self.name_zh, self.name_en)

    @property
    def hint(self) -> str:
        return localized(self.hint_zh, self.hint_en)

    @property
    def depth(self) -> int:
        """How many categories stand above it."""
        return self.path.count("/")


class RoutingRule(models.Model):
    """To whom a category's tickets go at a step, the first fitting rule first (PLAT-CFG-25).

    `step` is the step's key, empty for the first. It fits when `field` has the `value`, always without a field.
    `receiver` is a role's code, a login account or the uid of an organization of the centre; on the tenant's side the
    name of a role, organization or post, or a login account, of whichever tenant it is.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    category = models.ForeignKey(TicketCategory, on_delete=models.CASCADE, related_name="rules")
    step = models.CharField(_("step"), max_length=8, blank=True)
    field = models.CharField(_("field"), max_length=48, blank=True)
    value = models.CharField(_("value"), max_length=200, blank=True)
    side = models.CharField(_("side"), max_length=8, choices=Side, default=Side.OPERATOR)
    kind = models.CharField(_("kind of receiver"), max_length=16, choices=ReceiverKind)
    receiver = models.CharField(_("receiver"), max_length=120)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("routing rule")
        verbose_name_plural = _("routing rules")
        # Those with a condition come first.
        ordering = [models.F("field").desc(), "pk"]
        constraints = [
            models.UniqueConstraint(fields=["category", "step", "field", "value"], name="routing_rule_once")
        ]

    def __str__(self) -> str:
        return f"{self.category}: {self.receiver}"


class WorkingHours(models.Model):
    """A span of a weekday (0 is Monday) in which the centre works; midnight as the end is that of the day."""

    weekday = models.PositiveSmallIntegerField(_("weekday"))
    opens = models.TimeField(_("from"))
    closes = models.TimeField(_("until"))

    class Meta:
        verbose_name = _("working hours")
        verbose_name_plural = _("working hours")
        ordering = ["weekday", "opens"]
        constraints = [
            models.CheckConstraint(name="working_hours_weekday", condition=models.Q(weekday__lte=6)),
        ]

    def __str__(self) -> str:
        return f"{self.weekday}: {self.opens}–{self.closes}"


class SpecialDay(models.Model):
    """A day that is otherwise than its weekday: closed, or worked like another weekday."""

    day = models.DateField(_("day"), unique=True)
    name = models.CharField(_("name"), max_length=80)
    weekday = models.PositiveSmallIntegerField(_("worked like"), null=True, blank=True)

    class Meta:
        verbose_name = _("special day")
        verbose_name_plural = _("special days")
        ordering = ["day"]
        constraints = [
            models.CheckConstraint(
                name="special_day_weekday", condition=models.Q(weekday=None) | models.Q(weekday__lte=6)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.name}"
