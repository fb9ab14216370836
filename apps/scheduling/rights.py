"""Who may use what of the pool, and when: windows, reservations, priorities, special specifications."""

import uuid

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from apps.kernel.planes import TenantOwned
from apps.scheduling.states import Purpose

MINUTES_A_DAY = 24 * 60


class Weekly(models.Model):
    """A span of a weekday (Monday is 0), in minutes of the centre's day."""

    weekday = models.PositiveSmallIntegerField(_("weekday"))
    from_minute = models.PositiveSmallIntegerField(_("from (minute)"))
    to_minute = models.PositiveSmallIntegerField(_("until (minute)"))

    class Meta:
        abstract = True
        constraints = [
            models.CheckConstraint(
                name="%(class)s_span",
                condition=Q(weekday__lte=6, to_minute__lte=MINUTES_A_DAY, from_minute__lt=F("to_minute")),
            )
        ]


class QueueWindow(Weekly):
    """When work of a queue may start, every week; a queue without one starts work at any time."""

    queue = models.ForeignKey(
        "scheduling.Queue", on_delete=models.CASCADE, related_name="windows", verbose_name=_("queue")
    )

    class Meta(Weekly.Meta):
        verbose_name = _("window")
        verbose_name_plural = _("windows")
        ordering = ["queue", "weekday", "from_minute"]

    def __str__(self) -> str:
        return f"{self.queue_id} {self.weekday} {self.from_minute}-{self.to_minute}"


class Reservation(models.Model):
    """Part of the pool kept for a tenant or a queue from one instant to another (ELA-305).

    Either of named devices, or of `count` devices of which `compute_percent` and `memory_mib` each are kept.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(_("name"), max_length=80)
    tenant = models.ForeignKey(
        "tenancy.Tenant", on_delete=models.PROTECT, null=True, blank=True, related_name="+",
        verbose_name=_("tenant"),
    )  # fmt: skip
    queue = models.ForeignKey(
        "scheduling.Queue", on_delete=models.PROTECT, null=True, blank=True, related_name="reservations",
        verbose_name=_("queue"),
    )  # fmt: skip
    device_uids = models.JSONField(_("devices"), default=list, blank=True)
    count = models.PositiveIntegerField(_("number of devices"), default=0)
    compute_percent = models.PositiveSmallIntegerField(_("compute of each (%)"), default=100)
    memory_mib = models.PositiveIntegerField(_("memory of each (MiB)"), default=0)
    model = models.CharField(_("model"), max_length=200, blank=True)
    from_at = models.DateTimeField(_("from"))
    to_at = models.DateTimeField(_("until"))
    made_by = models.ForeignKey(
        "identity.User", on_delete=models.PROTECT, null=True, related_name="+", verbose_name=_("made by")
    )
    cancelled_at = models.DateTimeField(_("called off at"), null=True, blank=True)
    created_at = models.DateTimeField(_("made at"), auto_now_add=True)

    class Meta:
        verbose_name = _("reservation")
        verbose_name_plural = _("reservations")
        ordering = ["from_at", "pk"]
        constraints = [
            models.CheckConstraint(name="reservation_span", condition=Q(to_at__gt=F("from_at"))),
            models.CheckConstraint(
                name="reservation_holder", condition=Q(tenant__isnull=False) | Q(queue__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return self.name


class UserPriority(models.Model):
    """The priority of a user's work where it names none, and the most it may name."""

    user = models.OneToOneField(
        "identity.User", on_delete=models.CASCADE, related_name="+", verbose_name=_("user")
    )
    priority = models.IntegerField(_("priority"), default=0)
    most_priority = models.IntegerField(_("highest priority"), default=0)
    may_urgent = models.BooleanField(_("may submit urgent work"), default=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("user priority")
        verbose_name_plural = _("user priorities")
        constraints = [
            models.CheckConstraint(name="user_priority_bounds", condition=Q(priority__lte=F("most_priority")))
        ]

    def __str__(self) -> str:
        return f"{self.user} {self.priority}"


class SpecialSpec(TenantOwned):
    """A quota of its own for a user, or for everyone of a tenant, while it is valid (PLAT-CLU-35)."""

    name = models.CharField(_("name"), max_length=80)
    user = models.ForeignKey(
        "identity.User", on_delete=models.CASCADE, null=True, blank=True, related_name="+",
        verbose_name=_("user"),
    )  # fmt: skip
    instances = models.PositiveIntegerField(_("instances"), null=True, blank=True)
    compute_percent = models.PositiveIntegerField(_("compute share (%)"), null=True, blank=True)
    memory_mib = models.PositiveIntegerField(_("accelerator memory (MiB)"), null=True, blank=True)
    from_at = models.DateTimeField(_("valid from"))
    until_at = models.DateTimeField(_("valid until"))
    is_enabled = models.BooleanField(_("enabled"), default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("special specification")
        verbose_name_plural = _("special specifications")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(name="special_spec_span", condition=Q(until_at__gt=F("from_at")))
        ]

    def __str__(self) -> str:
        return self.name


class ValidityRule(models.Model):
    """When the work of certain users may start, by its purpose (PLAT-AICFG-27)."""

    name = models.CharField(_("name"), max_length=80, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("validity rule")
        verbose_name_plural = _("validity rules")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class ValidityUser(models.Model):
    """A user whom a validity rule binds."""

    rule = models.ForeignKey(ValidityRule, on_delete=models.CASCADE, related_name="users")
    user = models.ForeignKey("identity.User", on_delete=models.CASCADE, related_name="+")

    class Meta:
        verbose_name = _("user of a validity rule")
        verbose_name_plural = _("users of a validity rule")
        constraints = [models.UniqueConstraint(fields=["rule", "user"], name="validity_user_once")]

    def __str__(self) -> str:
        return f"{self.rule_id} {self.user_id}"


class ValidityPeriod(Weekly):
    """A span of the week in which work of a purpose may start under a rule."""

    rule = models.ForeignKey(ValidityRule, on_delete=models.CASCADE, related_name="periods")
    purpose = models.CharField(_("purpose"), max_length=16, choices=Purpose)

    class Meta(Weekly.Meta):
        verbose_name = _("validity period")
        verbose_name_plural = _("validity periods")
        ordering = ["rule", "purpose", "weekday", "from_minute"]

    def __str__(self) -> str:
        return f"{self.rule_id} {self.purpose} {self.weekday}"
