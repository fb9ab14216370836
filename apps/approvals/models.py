"""Running approvals: process instances, what waits for people, and what they decided."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from apps.approvals.states import DecisionKind, InstanceState, TaskState
from apps.kernel.money import MoneyField
from apps.kernel.planes import SharedForeignKey


def _chinese() -> bool:
    return (get_language() or "").startswith("zh")


class ProcessInstance(models.Model):
    """One run of a process over a subject (a form). `state_json` is the engine's own word, tied to the template's
    version: a new version of the process applies to new forms only (PLAT-CFG-22). `amount`: what the subject costs in
    all, in CNY; None where nothing is priced."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    process_template = SharedForeignKey("catalog.ProcessTemplate")
    state_json = models.TextField()
    subject_kind = models.CharField(max_length=16)
    subject_uid = models.UUIDField()
    subject_no = models.CharField(_("business number"), max_length=32)
    title_zh = models.CharField(_("title in Chinese"), max_length=200)
    title_en = models.CharField(_("title in English"), max_length=200)
    applicant = SharedForeignKey("identity.User", verbose_name=_("applicant"))
    applicant_name = models.CharField(_("applicant"), max_length=120)
    organization = models.ForeignKey(
        "orgs.Organization", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    business_system = models.ForeignKey(
        "orgs.BusinessSystem", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    organization_name = models.CharField(_("organization"), max_length=120, blank=True)
    business_system_name = models.CharField(_("business system"), max_length=120, blank=True)
    amount = MoneyField(_("amount"), null=True, blank=True)
    state = models.CharField(_("state"), max_length=16, choices=InstanceState, default=InstanceState.RUNNING)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("process")
        verbose_name_plural = _("processes")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["subject_uid"], condition=models.Q(state="running"), name="process_running_once"
            ),
            models.CheckConstraint(
                name="process_state_known", condition=models.Q(state__in=InstanceState.values)
            ),
        ]
        indexes = [models.Index(fields=["subject_uid", "-created_at"], name="process_by_subject")]

    def __str__(self) -> str:
        return self.subject_no

    @property
    def title(self) -> str:
        """The title in the language of the reader."""
        return self.title_zh if _chinese() else self.title_en

    @property
    def colour(self) -> str:
        """The state by whose colour it is shown: a form is blue while it is decided on, and so is its process."""
        return "approving" if self.state == InstanceState.RUNNING else self.state


class HumanTask(models.Model):
    """A step that waits for people (PLAT-TODO-1). `roles` are tenant roles, `operator_roles` those of the operator
    side, `user_ids` people named by the process or found through a post or an organization when it opened."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    instance = models.ForeignKey(ProcessInstance, on_delete=models.PROTECT, related_name="tasks")
    engine_task_id = models.CharField(max_length=64)
    node_id = models.CharField(max_length=120)
    name_zh = models.CharField(_("step in Chinese"), max_length=120)
    name_en = models.CharField(_("step in English"), max_length=120)
    roles = ArrayField(models.CharField(max_length=100), default=list, verbose_name=_("candidate roles"))
    operator_roles = ArrayField(
        models.CharField(max_length=100), default=list, verbose_name=_("candidate operator roles")
    )
    user_ids = ArrayField(models.BigIntegerField(), default=list, verbose_name=_("candidates by name"))
    rule = models.CharField(_("rule"), max_length=8, default="one_of")
    allow_refuse = models.BooleanField(_("may refuse"), default=True)
    allow_send_back = models.BooleanField(_("may send back"), default=True)
    state = models.CharField(_("state"), max_length=16, choices=TaskState, default=TaskState.WAITING)
    due_at = models.DateTimeField(_("deadline"), null=True, blank=True)
    urged_at = models.DateTimeField(_("urged at"), null=True, blank=True)
    done_at = models.DateTimeField(_("done at"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("approval task")
        verbose_name_plural = _("approval tasks")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["instance", "engine_task_id"], name="task_once"),
            models.CheckConstraint(name="task_state_known", condition=models.Q(state__in=TaskState.values)),
        ]
        indexes = [
            GinIndex(fields=["roles"], name="task_roles", condition=models.Q(state="waiting")),
            GinIndex(fields=["user_ids"], name="task_users"),
        ]

    def __str__(self) -> str:
        return f"{self.instance.subject_no}: {self.name}"

    @property
    def name(self) -> str:
        """The step's name in the language of the reader."""
        return self.name_zh if _chinese() else self.name_en

    @property
    def is_overdue(self) -> bool:
        """Whether it still waits after it was due."""
        return self.state == TaskState.WAITING and self.due_at is not None and self.due_at < timezone.now()

    @property
    def side(self) -> str:
        return "operator" if self.operator_roles else "tenant"

    @property
    def decisions(self) -> list[str]:
        """What may be decided here, in the order a page shows it."""
        offered = [DecisionKind.APPROVE.value]
        offered += [DecisionKind.REFUSE.value] if self.allow_refuse else []
        return offered + ([DecisionKind.SEND_BACK.value] if self.allow_send_back else [])


class Decision(models.Model):
    """What one person decided on a task: once, for good."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    task = models.ForeignKey(HumanTask, on_delete=models.PROTECT, related_name="given")
    user = SharedForeignKey("identity.User", verbose_name=_("decided by"))
    user_name = models.CharField(_("decided by"), max_length=120)
    role = models.CharField(_("in the role"), max_length=100)
    decision = models.CharField(_("decision"), max_length=16, choices=DecisionKind)
    comment = models.CharField(_("comment"), max_length=1000, blank=True)
    at = models.DateTimeField(_("time"), auto_now_add=True)

    class Meta:
        verbose_name = _("decision")
        verbose_name_plural = _("decisions")
        ordering = ["at", "pk"]
        constraints = [models.UniqueConstraint(fields=["task", "user"], name="decision_once")]

    def __str__(self) -> str:
        return f"{self.task}: {self.decision}"
