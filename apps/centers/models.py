"""The centres of the network, what each holds, the specifications that users name, and which centre offers which."""

from django.db import models
from django.db.models import F, Func, IntegerField, Q
from django.db.models.lookups import LessThan
from django.utils.translation import gettext_lazy as _

from apps.centers.adapters.base import Quantities
from apps.centers.states import OPEN_STATES, CenterStatus, RemoteState, Serves, Trouble, Wanted
from apps.centers.types import AMOUNT_MOST, AMOUNTS, SPEC_AMOUNT_MOST, quantity_texts

# "Under 64 bytes" of tables 1 and 3.
TEXT_BYTES = 63
ID_PATTERN = r"^[a-z0-9][a-z0-9-]{0,31}$"
GRADE_MOST = 5
SECONDS_MOST = 7 * 86_400
# Of an hour, in the least unit of money: what a price of the catalogue may be.
PRICE_MOST = 10**10 - 1
POWER_MOST_W = 10**9
ERROR_MOST = 500
# What every engine takes as a name: small letters, digits and dashes inside.
KEY_PATTERN = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
OWNER_MOST = 200
# Of a specification: the columns of `AMOUNTS`, in their order.
AMOUNT_COLUMNS = ("cpu", "gpu", "npu", "mlu", "memory_mb", "storage_gb", "user_define")
# Of an offer: what is kept of it, each from 0.
_FIGURES = ("performance", "idle_power_w", "running_power_w")


def _short(name: str, field: str) -> models.CheckConstraint:
    size = Func(F(field), function="OCTET_LENGTH", output_field=IntegerField())
    return models.CheckConstraint(name=name, condition=LessThan(size, TEXT_BYTES + 1))


def _amount() -> "models.BigIntegerField[int, int]":
    return models.BigIntegerField(default=0)


class Center(models.Model):
    """An AI computing centre on the network (table 1), and how it is reached and watched.

    `revision` counts the changes of how it is reached: an answer to an older one is not believed. `status` is what its
    answers say of it; `is_drained` what an operator says: it gets no new work. `disbelieved_count`: how many reports of
    its jobs could not be true and changed nothing. `failing_since`: since when it was asked in vain, None once
    it has answered; `error_at`: when it last was. `serves`: whose work is sent there.
    """

    ai_center_id = models.CharField(_("number"), max_length=TEXT_BYTES, unique=True)
    name = models.CharField(_("name"), max_length=TEXT_BYTES, unique=True)
    region = models.CharField(_("region"), max_length=TEXT_BYTES, blank=True)
    status = models.PositiveSmallIntegerField(_("status"), choices=CenterStatus, default=CenterStatus.UNKNOWN)
    longitude = models.FloatField(_("longitude"), null=True, blank=True)
    latitude = models.FloatField(_("latitude"), null=True, blank=True)
    kind = models.CharField(_("kind"), max_length=48)
    settings = models.JSONField(default=dict, blank=True)
    revision = models.PositiveIntegerField(default=1)
    is_drained = models.BooleanField(_("gets no new work"), default=False)
    serves = models.CharField(_("serves"), max_length=5, choices=Serves, default=Serves.NAMED)
    security_grade = models.PositiveSmallIntegerField(_("security grade"), default=1)
    stale_after_s = models.PositiveIntegerField(_("unknown after (s)"), default=30)
    lost_after_s = models.PositiveIntegerField(_("unavailable after (s)"), default=300)
    answered_at = models.DateTimeField(_("last answer"), null=True, blank=True)
    trouble = models.CharField(_("trouble"), max_length=12, choices=Trouble, blank=True)
    error = models.CharField(_("last error"), max_length=ERROR_MOST, blank=True)
    error_at = models.DateTimeField(_("last error at"), null=True, blank=True)
    failing_since = models.DateTimeField(null=True, blank=True)
    disbelieved_count = models.PositiveBigIntegerField(_("reports not believed"), default=0)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("AI computing centre")
        verbose_name_plural = _("AI computing centres")
        ordering = ["name", "pk"]
        constraints = [
            models.CheckConstraint(name="center_id", condition=Q(ai_center_id__regex=ID_PATTERN)),
            _short("center_name_short", "name"),
            _short("center_region_short", "region"),
            models.CheckConstraint(name="center_status", condition=Q(status__in=CenterStatus.values)),
            models.CheckConstraint(name="center_serves", condition=Q(serves__in=Serves.values)),
            models.CheckConstraint(
                name="center_place",
                condition=Q(longitude=None, latitude=None)
                | Q(longitude__range=(-180, 180), latitude__range=(-90, 90)),
            ),
            models.CheckConstraint(name="center_grade", condition=Q(security_grade__range=(1, GRADE_MOST))),
            models.CheckConstraint(
                name="center_silence",
                condition=Q(stale_after_s__gte=1, lost_after_s__gt=F("stale_after_s"))
                & Q(lost_after_s__lte=SECONDS_MOST),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def geometry(self) -> list[float] | None:
        """[longitude, latitude], None where it was not said."""
        if self.longitude is None or self.latitude is None:
            return None
        return [self.longitude, self.latitude]

    @property
    def takes_work(self) -> bool:
        """Whether new work may be sent there now."""
        return self.status == CenterStatus.AVAILABLE and not self.is_drained


class CenterCredential(models.Model):
    """What the portal shows the centre to be let in: sealed, for the calls to it alone. Nothing shows it again."""

    center = models.OneToOneField(Center, on_delete=models.CASCADE, related_name="credential")
    sealed = models.TextField(editable=False)
    changed_by = models.ForeignKey(
        "identity.User", on_delete=models.PROTECT, null=True, related_name="+", verbose_name=_("set by")
    )
    changed_at = models.DateTimeField(_("set at"))

    class Meta:
        verbose_name = _("credential of a centre")
        verbose_name_plural = _("credentials of centres")

    def __str__(self) -> str:
        return str(self.center_id)


class CenterTenant(models.Model):
    """A tenant that a centre serves by name, and the account there that its work runs under.

    `account`: values by the names of the kind's `account_fields`; none: the centre's own account. No two tenants of a
    centre have the same `holder`, which says whose account it is there, whatever it is charged to.
    """

    center = models.ForeignKey(Center, on_delete=models.CASCADE, related_name="tenants")
    tenant = models.ForeignKey(
        "tenancy.Tenant", on_delete=models.PROTECT, related_name="+", verbose_name=_("tenant")
    )
    account = models.JSONField(_("account there"), default=dict, blank=True)
    holder = models.CharField(max_length=TEXT_BYTES, blank=True, editable=False)
    changed_by = models.ForeignKey(
        "identity.User", on_delete=models.PROTECT, null=True, related_name="+", verbose_name=_("set by")
    )
    changed_at = models.DateTimeField(_("set at"))

    class Meta:
        verbose_name = _("tenant of a centre")
        verbose_name_plural = _("tenants of centres")
        ordering = ["center", "tenant"]
        constraints = [
            models.UniqueConstraint(fields=["center", "tenant"], name="center_tenant_once"),
            models.UniqueConstraint(
                fields=["center", "holder"], name="center_holder_once", condition=~Q(holder="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tenant_id} @ {self.center_id}"


class CenterHolder(models.Model):
    """Whose a `holder` at a centre is for good: what the tenant's work left there under it stays the tenant's, though
    the tenant is taken off or gets another account.

    By the centre's code: one that is joined again under it is the same.
    """

    ai_center_id = models.CharField(max_length=TEXT_BYTES)
    holder = models.CharField(max_length=TEXT_BYTES)
    tenant = models.ForeignKey("tenancy.Tenant", on_delete=models.CASCADE, related_name="+")

    class Meta:
        verbose_name = _("account once held at a centre")
        verbose_name_plural = _("accounts once held at centres")
        constraints = [
            models.UniqueConstraint(fields=["ai_center_id", "holder"], name="center_holder_ever"),
        ]

    def __str__(self) -> str:
        return f"{self.holder} @ {self.ai_center_id}"


class CenterSample(models.Model):
    """What a centre said last that it holds (table 2) and what of it is in use (table 4). Memory in MB, storage in GB.

    `asked_at`: when it was asked for this; an answer to an earlier question never replaces it.
    """

    center = models.OneToOneField(Center, on_delete=models.CASCADE, related_name="sample")
    asked_at = models.DateTimeField()
    answered_at = models.DateTimeField(_("answered at"))
    version = models.CharField(_("version"), max_length=100, blank=True)
    nodes = _amount()
    running_tasks = _amount()
    waiting_tasks = _amount()
    total_cpu = _amount()
    total_gpu = _amount()
    total_npu = _amount()
    total_mlu = _amount()
    total_memory = _amount()
    total_storage = _amount()
    total_user_define = _amount()
    used_cpu = _amount()
    used_gpu = _amount()
    used_npu = _amount()
    used_mlu = _amount()
    used_memory = _amount()
    used_storage = _amount()
    used_user_define = _amount()

    class Meta:
        verbose_name = _("sample of a centre")
        verbose_name_plural = _("samples of centres")
        constraints = [
            *(
                models.CheckConstraint(
                    name=f"center_sample_{name}",
                    condition=Q(
                        **{
                            f"used_{name}__gte": 0,
                            f"used_{name}__lte": F(f"total_{name}"),
                            f"total_{name}__lte": AMOUNT_MOST,
                        }
                    ),
                )
                for name in AMOUNTS
            ),
            *(
                models.CheckConstraint(
                    name=f"center_sample_{name}", condition=Q(**{f"{name}__range": (0, AMOUNT_MOST)})
                )
                for name in ("nodes", "running_tasks", "waiting_tasks")
            ),
        ]

    def __str__(self) -> str:
        return str(self.center_id)

    @property
    def total(self) -> Quantities:
        """What the centre holds."""
        return Quantities(**{name: getattr(self, f"total_{name}") for name in AMOUNTS})

    @property
    def used(self) -> Quantities:
        """What of it is in use."""
        return Quantities(**{name: getattr(self, f"used_{name}") for name in AMOUNTS})

    @property
    def free(self) -> Quantities:
        """What of it is free: with what is in use it is the total."""
        return Quantities(
            **{name: getattr(self, f"total_{name}") - getattr(self, f"used_{name}") for name in AMOUNTS}
        )


class ResourceSpec(models.Model):
    """A specification of the network (table 3): what one replica holds, wherever it runs, and its price.

    `price_minor`: of a whole hour, in the least unit of money. `service_types`: codes with commas between them.
    """

    resource_spec_id = models.CharField(_("code"), max_length=TEXT_BYTES, unique=True)
    resource_spec_name = models.CharField(_("name"), max_length=TEXT_BYTES)
    cpu = models.PositiveIntegerField(_("CPU cores"), default=0)
    gpu = models.PositiveIntegerField(_("GPUs"), default=0)
    npu = models.PositiveIntegerField(_("NPUs"), default=0)
    mlu = models.PositiveIntegerField(_("MLUs"), default=0)
    memory_mb = models.PositiveIntegerField(_("memory (MB)"), default=0)
    storage_gb = models.PositiveIntegerField(_("storage (GB)"), default=0)
    user_define = models.PositiveIntegerField(_("user-defined resource"), default=0)
    service_type = models.CharField(_("job types"), max_length=TEXT_BYTES)
    price_minor = models.BigIntegerField(_("price of an hour"), default=0)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("network specification")
        verbose_name_plural = _("network specifications")
        ordering = ["resource_spec_id", "pk"]
        constraints = [
            models.CheckConstraint(name="resource_spec_id", condition=Q(resource_spec_id__regex=ID_PATTERN)),
            _short("resource_spec_name_short", "resource_spec_name"),
            models.CheckConstraint(
                name="resource_spec_price", condition=Q(price_minor__range=(0, PRICE_MOST))
            ),
            models.CheckConstraint(
                name="resource_spec_holds",
                condition=~Q(**dict.fromkeys(AMOUNT_COLUMNS, 0)),
            ),
            models.CheckConstraint(
                name="resource_spec_bounds",
                condition=Q(**{f"{column}__lte": SPEC_AMOUNT_MOST for column in AMOUNT_COLUMNS}),
            ),
        ]

    def __str__(self) -> str:
        return self.resource_spec_name

    @property
    def quantities(self) -> Quantities:
        """What one replica holds."""
        return Quantities(
            **{name: getattr(self, column) for name, column in zip(AMOUNTS, AMOUNT_COLUMNS, strict=True)}
        )

    @property
    def resource_quantity(self) -> dict[str, str]:
        """As table 3 writes it."""
        return quantity_texts(self.quantities)

    @property
    def service_types(self) -> list[str]:
        """The codes of the job types."""
        return self.service_type.split(",")


class SpecOffer(models.Model):
    """That a centre offers a specification: a row of the mapping of specifications to centres.

    `price_minor`: of an hour there, the specification's own where nothing is said. `cost_minor`: what the centre gets
    for an hour, as it was agreed with it; None where nothing was. `performance`: measured, by any one
    measure for all centres of a specification, more is better. Power in watts, of one replica's devices: idle while its
    data comes, and running.
    """

    spec = models.ForeignKey(ResourceSpec, on_delete=models.PROTECT, related_name="offers")
    center = models.ForeignKey(Center, on_delete=models.PROTECT, related_name="offers")
    price_minor = models.BigIntegerField(_("price of an hour"), null=True, blank=True)
    cost_minor = models.BigIntegerField(_("cost of an hour"), null=True, blank=True)
    performance = models.FloatField(_("performance"), null=True, blank=True)
    idle_power_w = models.FloatField(_("power while idle (W)"), null=True, blank=True)
    running_power_w = models.FloatField(_("power while running (W)"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("offer of a specification")
        verbose_name_plural = _("offers of specifications")
        ordering = ["spec", "center"]
        constraints = [
            models.UniqueConstraint(fields=["spec", "center"], name="spec_offer_once"),
            models.CheckConstraint(
                name="spec_offer_price", condition=Q(price_minor=None) | Q(price_minor__range=(0, PRICE_MOST))
            ),
            models.CheckConstraint(
                name="spec_offer_cost", condition=Q(cost_minor=None) | Q(cost_minor__range=(0, PRICE_MOST))
            ),
            *(
                models.CheckConstraint(
                    name=f"spec_offer_{name}",
                    condition=Q(**{name: None}) | Q(**{f"{name}__range": (0, POWER_MOST_W)}),
                )
                for name in _FIGURES
            ),
        ]

    def __str__(self) -> str:
        return f"{self.spec_id} @ {self.center_id}"

    @property
    def price_there_minor(self) -> int:
        """Of an hour at this centre."""
        return self.spec.price_minor if self.price_minor is None else self.price_minor

    @property
    def free_count(self) -> int | None:
        """How many replicas fit into what is free there by the last sample; None where nothing is known now."""
        sample = getattr(self.center, "sample", None)
        if sample is None or self.center.status != CenterStatus.AVAILABLE:
            return None
        wanted, free = self.spec.quantities, sample.free
        fits: list[int] = [
            getattr(free, name) // getattr(wanted, name) for name in AMOUNTS if getattr(wanted, name)
        ]
        return min(fits)


class RemoteTask(models.Model):
    """One attempt of one replica at a centre: what was sent under a key, what is wanted of it, how far it is.

    `key` becomes the engine's own name of the job. `owner` says who asked, in words of the layer above alone.
    `account`: what it runs under there, whatever becomes of its tenant's; none: the centre's own.
    `revision` counts its changes. `state_at`: since when it is so; `seen_at`: of which moment the centre's last report
    is. `sent_at`: when it was last begun to send. `running_at`: when it was first seen to run, by our clock.
    `is_accounted`: what the centre's own accounts say of it is known, or is waited for no more. `is_left`: it counts as
    over, and the centre may still have it.
    """

    center = models.ForeignKey(Center, on_delete=models.PROTECT, related_name="remote_tasks")
    key = models.CharField(_("key"), max_length=TEXT_BYTES, unique=True)
    owner = models.CharField(_("for"), max_length=OWNER_MOST)
    account = models.JSONField(default=dict, blank=True)
    quantities = models.JSONField(default=dict)
    image = models.CharField(_("image"), max_length=ERROR_MOST, blank=True)
    time_limit_s = models.PositiveIntegerField(_("time limit (s)"), null=True, blank=True)
    desired = models.CharField(_("wanted"), max_length=4, choices=Wanted, default=Wanted.RUN)
    state = models.CharField(_("state"), max_length=9, choices=RemoteState, default=RemoteState.NEW)
    state_at = models.DateTimeField(_("since"))
    is_left = models.BooleanField(default=False)
    native_id = models.CharField(_("number there"), max_length=TEXT_BYTES, blank=True)
    native_state = models.CharField(_("state there"), max_length=TEXT_BYTES, blank=True)
    cause = models.CharField(_("cause"), max_length=ERROR_MOST, blank=True)
    started_at = models.DateTimeField(_("started at"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)
    exit_code = models.IntegerField(_("exit code"), null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    running_at = models.DateTimeField(null=True, blank=True)
    is_accounted = models.BooleanField(default=False)
    seen_at = models.DateTimeField(_("last report"), null=True, blank=True)
    revision = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("remote task")
        verbose_name_plural = _("remote tasks")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(name="remote_task_key", condition=Q(key__regex=KEY_PATTERN)),
            models.CheckConstraint(name="remote_task_state", condition=Q(state__in=RemoteState.values)),
            models.CheckConstraint(name="remote_task_desired", condition=Q(desired__in=Wanted.values)),
            models.CheckConstraint(
                name="remote_task_left", condition=Q(is_left=False) | ~Q(state__in=OPEN_STATES)
            ),
        ]
        indexes = [
            models.Index(
                fields=["center", "id"],
                name="remote_task_open",
                condition=Q(state__in=OPEN_STATES) | Q(is_left=True),
            ),
            models.Index(fields=["center", "-created_at", "-id"], name="remote_task_listed"),
            models.Index(
                fields=["center", "id"], name="remote_task_unaccounted", condition=Q(is_accounted=False)
            ),
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def is_over(self) -> bool:
        """Whether it stays as it is."""
        return self.state not in OPEN_STATES


class RemoteMessage(models.Model):
    """Command and environment of a remote task, sealed: they may hold secrets. Gone when the task is over."""

    task = models.OneToOneField(RemoteTask, on_delete=models.CASCADE, related_name="message")
    sealed = models.TextField(editable=False)

    class Meta:
        verbose_name = _("message of a remote task")
        verbose_name_plural = _("messages of remote tasks")

    def __str__(self) -> str:
        return str(self.task_id)


class CenterUsage(models.Model):
    """What a centre's own accounts said of one remote task, as it said it: evidence, append-only by trigger.

    It names the centre and the task by what outlives both. `fault`: why it is not believed, "" where it is; of one task
    one record is believed. `raw`: the record as it came.
    """

    ai_center_id = models.CharField(_("AI computing centre"), max_length=TEXT_BYTES)
    key = models.CharField(_("key"), max_length=TEXT_BYTES)
    native_id = models.CharField(_("number there"), max_length=TEXT_BYTES)
    started_at = models.DateTimeField(_("started at"))
    ended_at = models.DateTimeField(_("ended at"))
    quantities = models.JSONField(default=dict)
    raw = models.TextField(_("record"))
    fault = models.CharField(_("why it is not believed"), max_length=ERROR_MOST, blank=True)
    told_at = models.DateTimeField(_("told at"))

    class Meta:
        verbose_name = _("use by a centre's accounts")
        verbose_name_plural = _("uses by centres' accounts")
        ordering = ["told_at", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["key"], name="center_usage_believed", condition=Q(fault="")),
            models.UniqueConstraint(
                fields=["key", "native_id", "started_at", "ended_at"], name="center_usage_once"
            ),
        ]
        indexes = [models.Index(fields=["ai_center_id", "-ended_at"], name="center_usage_of_center")]

    def __str__(self) -> str:
        return f"{self.ai_center_id}: {self.key}"
