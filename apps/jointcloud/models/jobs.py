"""Jobs over several centres (tables 7 and 8), the attempts of their replicas, and why each went where it did.

Centres and specifications stand here by their codes and with what was agreed when work was sent: a job is read and
settled after both have gone, and after its tenant's schema has.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Func, IntegerField, Q
from django.db.models.lookups import LessThan
from django.utils.translation import gettext_lazy as _

from apps.jointcloud.states import OPEN, DecisionKind, ReplicaState, WorkState
from apps.kernel.planes import TenantOwned

JOB_ID_LENGTH = 32
# "Under 64 bytes" and "under 128 bytes" of tables 7 and 8.
SHORT_BYTES = 63
LONG_BYTES = 127
REASON_MOST = 500
KEY_MOST = 48


def _bytes(name: str, field: str, most: int) -> models.CheckConstraint:
    size = Func(F(field), function="OCTET_LENGTH", output_field=IntegerField())
    return models.CheckConstraint(name=name, condition=LessThan(size, most + 1))


class Job(TenantOwned):
    """A job of a tenant (table 7): one task or several, each of which runs at some centre.

    `created_at` is when the request was received, `dispatched_at` when the last replica was given to its centre: the
    scheduling time is the one less the other (formula 3). `weights`: its own, a list of [policy, permille], or nothing
    for those in force. `replaces_lost`: what was lost with its centre is placed anew. `revision` counts what people
    have changed of it, and not what becomes of it. `labels`: by what its cost is told apart, as it was called when the
    job was submitted.
    """

    job_id = models.CharField(_("job"), max_length=JOB_ID_LENGTH, unique=True)
    name = models.CharField(_("name"), max_length=LONG_BYTES)
    desc = models.CharField(_("description"), max_length=LONG_BYTES, blank=True)
    submitted_by = models.ForeignKey(
        "identity.User", on_delete=models.PROTECT, null=True, related_name="+", verbose_name=_("submitted by")
    )
    organization_uid = models.UUIDField(null=True, blank=True)
    business_system_uid = models.UUIDField(null=True, blank=True)
    job_type = models.CharField(_("job type"), max_length=SHORT_BYTES)
    priority = models.SmallIntegerField(_("priority"), default=0)
    is_gang = models.BooleanField(_("all tasks or none"), default=False)
    weights = models.JSONField(_("weights"), null=True, blank=True)
    labels = models.JSONField(default=dict, blank=True)
    success_policy = models.CharField(_("succeeds when"), max_length=32)
    failure_policy = models.CharField(_("fails when"), max_length=32)
    retries = models.PositiveSmallIntegerField(_("tried again at most"), null=True, blank=True)
    retries_made = models.PositiveSmallIntegerField(_("tried again"), default=0)
    replaces_lost = models.BooleanField(_("placed anew when lost"), default=True)
    state = models.CharField(_("state"), max_length=12, choices=WorkState, default=WorkState.PENDING)
    created_at = models.DateTimeField(_("submitted at"))
    dispatched_at = models.DateTimeField(_("dispatched at"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)
    revision = models.PositiveIntegerField(default=1)
    stop_asked_at = models.DateTimeField(_("stop asked at"), null=True, blank=True)
    stop_asked_by = models.ForeignKey(
        "identity.User", on_delete=models.PROTECT, null=True, related_name="+", verbose_name=_("stopped by")
    )

    class Meta(TenantOwned.Meta):
        verbose_name = _("job over several centres")
        verbose_name_plural = _("jobs over several centres")
        ordering = ["-created_at", "-pk"]
        indexes = [
            models.Index(fields=["tenant", "-created_at", "-id"], name="jointcloud_job_of_tenant"),
            models.Index(fields=["created_at"], name="jointcloud_job_open", condition=Q(state__in=OPEN)),
        ]
        constraints = [
            _bytes("jointcloud_job_name_short", "name", LONG_BYTES),
            _bytes("jointcloud_job_desc_short", "desc", LONG_BYTES),
            models.CheckConstraint(name="jointcloud_job_state", condition=Q(state__in=WorkState.values)),
            models.CheckConstraint(
                name="jointcloud_job_retries",
                condition=Q(retries=None, retries_made=0) | Q(retries__gte=2, retries_made__lte=F("retries")),
            ),
            models.CheckConstraint(
                name="jointcloud_job_ended",
                condition=Q(state__in=OPEN, ended_at=None) | (~Q(state__in=OPEN) & ~Q(ended_at=None)),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Task(models.Model):
    """A task of a job (table 8), and what it asks of the centres that run its replicas.

    `centers`: the codes of the centres that were named for it; none is all. `waits_for`: why it waits, as the last
    cycle said it: a list of [code, figures].
    """

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="tasks")
    number = models.PositiveIntegerField(_("number"))
    name = models.CharField(_("name"), max_length=SHORT_BYTES)
    command = models.TextField(_("start command"))
    image_id = models.CharField(_("image"), max_length=SHORT_BYTES, blank=True)
    resourcespec = models.CharField(_("network specification"), max_length=SHORT_BYTES)
    replicas = models.PositiveIntegerField(_("replicas"), default=1)
    centers = ArrayField(models.CharField(max_length=SHORT_BYTES), default=list, blank=True)
    min_security_grade = models.PositiveSmallIntegerField(_("security grade at least"), default=0)
    deadline_at = models.DateTimeField(_("deadline"), null=True, blank=True)
    duration_s = models.PositiveIntegerField(_("expected to run for (s)"), null=True, blank=True)
    may_split = models.BooleanField(_("replicas may go to several centres"), default=False)
    state = models.CharField(_("state"), max_length=12, choices=WorkState, default=WorkState.PENDING)
    waits_for = models.JSONField(default=list, blank=True)

    class Meta:
        verbose_name = _("task of a job")
        verbose_name_plural = _("tasks of jobs")
        ordering = ["job", "number"]
        constraints = [
            models.UniqueConstraint(fields=["job", "number"], name="jointcloud_task_number_once"),
            models.UniqueConstraint(fields=["job", "name"], name="jointcloud_task_name_once"),
            _bytes("jointcloud_task_name_short", "name", SHORT_BYTES),
            models.CheckConstraint(name="jointcloud_task_replicas", condition=Q(replicas__gte=1)),
            models.CheckConstraint(name="jointcloud_task_state", condition=Q(state__in=WorkState.values)),
        ]

    def __str__(self) -> str:
        return self.name


class Replica(models.Model):
    """One attempt to run one replica of a task at one centre. Only the current one says how the replica stands.

    `key` is that of the remote task, and so the engine's own name of it. `price_minor`: of an hour there, as it was
    when the attempt was sent, and `cost_minor` what the centre gets for it, None where nothing was agreed. `again`: it
    was taken back and is placed anew once nothing of it runs.

    `charge_uid`: what its use is charged by, None where it is not charged as a job. `seen_from` and `seen_until`: when
    it was seen to run, by the portal's clock. `lost_at`: since when it counts as lost: what it runs later is nobody's
    who asked for it. `is_settled`: a `Settlement` says what it came to.
    """

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField(_("replica"))
    attempt = models.PositiveIntegerField(_("attempt"))
    key = models.CharField(_("key"), max_length=KEY_MOST, unique=True)
    ai_center_id = models.CharField(_("AI computing centre"), max_length=SHORT_BYTES)
    center_name = models.CharField(_("name of the centre"), max_length=SHORT_BYTES)
    price_minor = models.BigIntegerField(_("price of an hour"))
    cost_minor = models.BigIntegerField(_("cost of an hour"), null=True, blank=True)
    charge_uid = models.UUIDField(null=True, blank=True)
    seen_from = models.DateTimeField(null=True, blank=True)
    seen_until = models.DateTimeField(null=True, blank=True)
    lost_at = models.DateTimeField(null=True, blank=True)
    is_settled = models.BooleanField(default=False)
    state = models.CharField(_("state"), max_length=12, choices=ReplicaState, default=ReplicaState.PENDING)
    reason = models.CharField(_("what the centre says"), max_length=REASON_MOST, blank=True)
    is_current = models.BooleanField(default=True)
    again = models.BooleanField(default=False)
    placed_at = models.DateTimeField(_("placed at"))
    started_at = models.DateTimeField(_("started at"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)

    class Meta:
        verbose_name = _("attempt of a replica")
        verbose_name_plural = _("attempts of replicas")
        ordering = ["task", "number", "attempt"]
        indexes = [
            models.Index(
                fields=["ai_center_id"], name="jointcloud_replica_open", condition=Q(state__in=OPEN)
            ),
            models.Index(fields=["placed_at"], name="jointcloud_replica_placed"),
            models.Index(
                fields=["ended_at"],
                name="jointcloud_replica_unsettled",
                condition=Q(is_settled=False, charge_uid__isnull=False) & ~Q(state__in=OPEN),
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["task", "number", "attempt"], name="jointcloud_attempt_once"),
            models.UniqueConstraint(
                fields=["task", "number"], name="jointcloud_replica_once", condition=Q(is_current=True)
            ),
            models.CheckConstraint(
                name="jointcloud_replica_state", condition=Q(state__in=ReplicaState.values)
            ),
            models.CheckConstraint(
                name="jointcloud_replica_replaced",
                condition=~Q(state__in=[ReplicaState.REFUSED.value, ReplicaState.LOST.value])
                | Q(is_current=False),
            ),
            models.CheckConstraint(name="jointcloud_replica_price", condition=Q(price_minor__gte=0)),
        ]

    def __str__(self) -> str:
        return self.key


class Decision(models.Model):
    """What was decided on a task, in the order in which it was.

    `reasons`: a list of [code, figures]. `standings`: how the centres stood, those that were refused with the first
    reason and the others with their scores.
    """

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="decisions")
    kind = models.CharField(_("kind"), max_length=12, choices=DecisionKind)
    at = models.DateTimeField(_("at"))
    ai_center_id = models.CharField(_("AI computing centre"), max_length=SHORT_BYTES, blank=True)
    score = models.PositiveSmallIntegerField(_("score"), null=True, blank=True)
    replicas = models.PositiveIntegerField(_("replicas"), default=0)
    message = models.CharField(_("what the centre says"), max_length=REASON_MOST, blank=True)
    reasons = models.JSONField(default=list, blank=True)
    standings = models.JSONField(default=list, blank=True)

    class Meta:
        verbose_name = _("decision on a task")
        verbose_name_plural = _("decisions on tasks")
        ordering = ["task", "at", "pk"]
        indexes = [models.Index(fields=["task", "at", "id"], name="jointcloud_decision_of_task")]
        constraints = [
            models.CheckConstraint(name="jointcloud_decision_kind", condition=Q(kind__in=DecisionKind.values))
        ]

    def __str__(self) -> str:
        return f"{self.task_id} {self.kind}"
