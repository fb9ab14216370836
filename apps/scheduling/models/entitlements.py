"""Who may use what of the pool, and when: windows, reservations, priorities, what a user may hold."""

import uuid
from datetime import datetime

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.kernel.planes import TenantOwned
from apps.scheduling.states import Purpose, ResourceTicketState

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

    @property
    def phase(self) -> str:
        """`coming`, `now` or `over`."""
        return phase_of(self.from_at, self.to_at)


# The highest priority that a tenant's user may name where no operator has said otherwise: the rest is the operators'.
MEMBER_MOST_PRIORITY = 100


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


class UserAmounts(models.Model):
    """The most that a user may hold; of what is empty nothing is said."""

    ITEMS = ("instances", "compute_percent", "memory_mib")

    instances = models.PositiveIntegerField(_("instances"), null=True, blank=True)
    compute_percent = models.PositiveIntegerField(_("compute share (%)"), null=True, blank=True)
    memory_mib = models.PositiveIntegerField(_("accelerator memory (MiB)"), null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def amounts(self) -> dict[str, int]:
        """What is said, by item."""
        said = {item: getattr(self, item) for item in self.ITEMS}
        return {item: amount for item, amount in said.items() if amount is not None}


def phase_of(from_at: datetime, until_at: datetime) -> str:
    """Where now is: before it (`coming`), within it (`now`) or after it (`over`)."""
    now = timezone.now()
    if now < from_at:
        return "coming"
    return "now" if now < until_at else "over"


class Spanned:
    """What holds from one instant to another."""

    from_at: datetime
    until_at: datetime

    @property
    def phase(self) -> str:
        """`coming`, `now` or `over`."""
        return phase_of(self.from_at, self.until_at)


class DefaultSpec(UserAmounts):
    """The one row of what every user of the platform may hold who has nothing else (PLAT-CLU-33)."""

    updated_at = models.DateTimeField(_("changed at"), auto_now=True)

    class Meta:
        verbose_name = _("default specification")
        verbose_name_plural = _("default specification")
        constraints = [models.CheckConstraint(name="default_spec_one", condition=Q(pk=1))]

    def __str__(self) -> str:
        return str(self._meta.verbose_name)


class SpecialSpec(Spanned, TenantOwned, UserAmounts):
    """What a user, or everyone of a tenant, may hold instead, while it is valid (PLAT-CLU-35)."""

    name = models.CharField(_("name"), max_length=80)
    user = models.ForeignKey(
        "identity.User", on_delete=models.CASCADE, null=True, blank=True, related_name="+",
        verbose_name=_("user"),
    )  # fmt: skip
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


class ResourceTicket(Spanned, TenantOwned, UserAmounts):
    """What somebody asked to hold for a time, for themselves or for each user of the tenant (PLAT-CLU-32).

    Once approved it raises what they may hold from `from_at` to `until_at`; it never lowers it.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    no = models.CharField(_("number"), max_length=32, unique=True)
    applicant = models.ForeignKey(
        "identity.User", on_delete=models.PROTECT, related_name="+", verbose_name=_("applicant")
    )
    user = models.ForeignKey(
        "identity.User", on_delete=models.PROTECT, null=True, blank=True, related_name="+",
        verbose_name=_("user"),
    )  # fmt: skip
    reason = models.CharField(_("what for"), max_length=500)
    from_at = models.DateTimeField(_("valid from"))
    until_at = models.DateTimeField(_("valid until"))
    state = models.CharField(
        _("state"), max_length=12, choices=ResourceTicketState, default=ResourceTicketState.WAITING
    )
    decided_by = models.ForeignKey(
        "identity.User", on_delete=models.PROTECT, null=True, related_name="+", verbose_name=_("decided by")
    )
    decided_at = models.DateTimeField(_("decided at"), null=True)
    comment = models.CharField(_("comment"), max_length=1000, blank=True)
    created_at = models.DateTimeField(_("asked at"), auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("resource ticket")
        verbose_name_plural = _("resource tickets")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(name="resource_ticket_span", condition=Q(until_at__gt=F("from_at")))
        ]
        indexes = [
            models.Index(
                fields=["tenant", "until_at"], name="resource_ticket_force", condition=Q(state="approved")
            )
        ]

    def __str__(self) -> str:
        return self.no


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
