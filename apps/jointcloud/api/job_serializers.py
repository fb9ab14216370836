"""Jobs on the wire, by the printed names of tables 7 to 9."""

from functools import cached_property
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.catalog.api.serializers import Money
from apps.centers.selectors import center_names
from apps.centers.states import ServiceType
from apps.identity.api.sound import MomentField, ProgramField, SoundSerializer, TextField
from apps.jointcloud.engine.outcome import FAILURE_RULES, SUCCESS_RULES
from apps.jointcloud.job_text import decision_text, reasons_read, state_text
from apps.jointcloud.models import Decision, Job, Replica, Task
from apps.jointcloud.selectors.costs import JobCost, job_cost
from apps.jointcloud.selectors.jobs import job_decisions, job_tasks
from apps.jointcloud.services.task_data import MOST_DATA
from apps.jointcloud.states import DecisionKind, ReplicaState, WorkState
from apps.jointcloud.text import cause_text, reason_text

_INT_MOST = 2**31 - 1


class JobTaskIn(SoundSerializer):
    """A task (table 8) and what it asks of its centre."""

    name = serializers.CharField(max_length=64)
    command = ProgramField(max_length=32_768, help_text="What starts it: a line, or a script of sh.")
    resourcespec = serializers.CharField(max_length=64, help_text="The code of a network specification.")
    image_id = serializers.CharField(max_length=64, required=False, allow_blank=True, default="")
    replicas = serializers.IntegerField(min_value=1, max_value=_INT_MOST, default=1)
    centers = serializers.ListField(
        child=serializers.CharField(max_length=64),
        required=False,
        default=list,
        max_length=200,
        help_text="Codes of the centres that may run it; none is all.",
    )
    data = serializers.ListField(  # type: ignore[assignment]
        child=serializers.CharField(max_length=127),
        required=False,
        default=list,
        max_length=MOST_DATA,
        help_text="What it reads, each as NAME or NAME:VERSION: where it lies stands in WEIR_DATA_NAME.",
    )
    min_security_grade = serializers.IntegerField(min_value=0, max_value=_INT_MOST, default=0)
    deadline_at = MomentField(allow_null=True, required=False, default=None)
    duration_s = serializers.IntegerField(
        min_value=1, max_value=_INT_MOST, allow_null=True, required=False, default=None, help_text="Expected."
    )
    may_split = serializers.BooleanField(
        default=False, help_text="Its replicas may go to several centres where none takes all."
    )


class JobIn(SoundSerializer):
    """A job (table 7)."""

    name = serializers.CharField(max_length=128)
    desc = TextField(max_length=128, required=False, allow_blank=True, default="")
    tasks = serializers.JSONField(
        help_text="A list of tasks, or an object with the keys task1, task2 and so on: see JobTaskIn."
    )
    job_type = serializers.ChoiceField(ServiceType.choices, default=ServiceType.BATCH.value)
    priority = serializers.IntegerField(min_value=-9, max_value=9, default=0)
    is_gang = serializers.BooleanField(default=False, help_text="All tasks find a centre, or none is sent.")
    weights = serializers.DictField(
        child=serializers.CharField(max_length=32),
        allow_null=True,
        required=False,
        default=None,
        help_text="By policy, as parts of 1 that sum to 1; nothing: those in force.",
    )
    success_policy = serializers.ChoiceField(sorted(SUCCESS_RULES), default="all_succeeded")
    failure_policy = serializers.ChoiceField(sorted(FAILURE_RULES), default="any_failed")
    retries = serializers.IntegerField(
        min_value=0,
        max_value=_INT_MOST,
        allow_null=True,
        required=False,
        default=None,
        help_text="At least 2.",
    )
    replaces_lost = serializers.BooleanField(
        default=True, help_text="What is lost with its centre is placed anew."
    )


class JobChangeIn(SoundSerializer):
    """What changes of a job that has not ended; what is not given stays."""

    name = serializers.CharField(max_length=128, required=False)
    desc = TextField(max_length=128, required=False, allow_blank=True)
    priority = serializers.IntegerField(min_value=-9, max_value=9, required=False)
    weights = serializers.DictField(
        child=serializers.CharField(max_length=32),
        allow_null=True,
        required=False,
        help_text="By policy, as parts of 1 that sum to 1; null: those in force.",
    )
    deadline_at = MomentField(allow_null=True, required=False, help_text="Of all its tasks; null: none.")
    revision = serializers.IntegerField(
        min_value=1, max_value=_INT_MOST, required=False, help_text="That is meant: another is refused."
    )


class JobReplicaOut(serializers.ModelSerializer[Replica]):
    """The attempt that stands for a replica."""

    state = serializers.ChoiceField(ReplicaState.choices)
    reason = serializers.SerializerMethodField()

    class Meta:
        model = Replica
        fields = (
            "number", "attempt", "ai_center_id", "center_name", "state", "reason", "price_minor", "placed_at",
            "started_at", "ended_at",
        )  # fmt: skip

    def get_reason(self, row: Replica) -> str:
        return cause_text(row.reason)


class JobTaskOut(serializers.ModelSerializer[Task]):
    """A task (table 8), its replicas, and why it waits."""

    state = serializers.ChoiceField(WorkState.choices)
    centers = serializers.ListField(child=serializers.CharField())
    data = serializers.SerializerMethodField(help_text="What it reads, each as NAME:VERSION.")  # type: ignore[assignment]
    placed = JobReplicaOut(source="current", many=True)
    waits_for = serializers.SerializerMethodField()

    class Meta:
        model = Task
        fields = (
            "number", "name", "command", "image_id", "resourcespec", "replicas", "centers", "data",
            "min_security_grade", "deadline_at", "duration_s", "may_split", "state", "waits_for", "placed",
        )  # fmt: skip

    def get_data(self, row: Task) -> list[str]:
        return [str(each) for each in row.data.all()]

    def get_waits_for(self, row: Task) -> list[str]:
        return [reason_text(each, self.context["names"]) for each in reasons_read(row.waits_for)]


class JobDecisionOut(serializers.ModelSerializer[Decision]):
    """What was decided on a task, in a sentence."""

    task = serializers.IntegerField(source="task.number")
    kind = serializers.ChoiceField(DecisionKind.choices)
    text = serializers.SerializerMethodField()

    class Meta:
        model = Decision
        fields: tuple[str, ...] = ("task", "kind", "at", "ai_center_id", "score", "replicas", "text")

    def get_text(self, row: Decision) -> str:
        return decision_text(row, self.names)

    @property
    def names(self) -> dict[str, str]:
        """What the centres are called, by their codes."""
        return self.context["names"]  # type: ignore[no-any-return]


class JobDecisionWholeOut(JobDecisionOut):
    """What was decided on a task, in a sentence, and how the centres stood then."""

    standings = serializers.JSONField(help_text="Of each centre: its scores, or why it was refused.")

    class Meta(JobDecisionOut.Meta):
        fields = (*JobDecisionOut.Meta.fields, "standings")

    @property
    def names(self) -> dict[str, str]:
        """What the centres are called, by their codes."""
        return self.context["view"].names  # type: ignore[no-any-return]


class JobRowOut(serializers.ModelSerializer[Job]):
    """A job in a list."""

    id = serializers.CharField(source="job_id")
    tenant = serializers.CharField(source="tenant.schema_name")
    user_name = serializers.CharField(source="submitted_by.username", default="")
    created_user = serializers.CharField(source="submitted_by.username", default="")
    state = serializers.ChoiceField(WorkState.choices)

    class Meta:
        model = Job
        fields: tuple[str, ...] = (
            "id", "tenant", "name", "desc", "user_name", "created_user", "job_type", "priority", "is_gang", "state",
            "created_at", "dispatched_at", "ended_at", "stop_asked_at", "revision",
        )  # fmt: skip


class JobCostOut(serializers.Serializer[JobCost]):
    """What a job has cost so far, in CNY. `charged` is settled; `expected` is what runs or is not settled yet, by what
    the portal saw; `own_pool` what the portal's own pool charged for it."""

    charged = Money()
    expected = Money()
    own_pool = Money()
    total = Money()


class JobOut(JobRowOut):
    """A job (table 7) with its tasks (table 8), where their replicas are, and why there."""

    _found: list[Task] | None = None
    weights = serializers.SerializerMethodField()
    reason = serializers.SerializerMethodField()
    tasks = serializers.SerializerMethodField()
    decisions = serializers.SerializerMethodField()
    cost = serializers.SerializerMethodField()

    class Meta(JobRowOut.Meta):
        fields = (
            *JobRowOut.Meta.fields, "success_policy", "failure_policy", "retries", "retries_made", "replaces_lost",
            "weights", "reason", "tasks", "decisions", "cost",
        )  # fmt: skip

    def get_weights(self, row: Job) -> dict[str, str] | None:
        return None if row.weights is None else {name: f"{part / 1000:.3f}" for name, part in row.weights}

    def get_reason(self, row: Job) -> str:
        return state_text(row, self._tasks(row), self._names["names"])

    @extend_schema_field(JobTaskOut(many=True))
    def get_tasks(self, row: Job) -> Any:
        return JobTaskOut(self._tasks(row), many=True, context=self._names).data

    @extend_schema_field(JobDecisionOut(many=True))
    def get_decisions(self, row: Job) -> Any:
        return JobDecisionOut(job_decisions(row), many=True, context=self._names).data

    @extend_schema_field(JobCostOut)
    def get_cost(self, row: Job) -> Any:
        return JobCostOut(job_cost(row, timezone.now())).data

    @cached_property
    def _names(self) -> dict[str, dict[str, str]]:
        return {"names": center_names()}

    def _tasks(self, row: Job) -> list[Task]:
        if self._found is None:
            self._found = job_tasks(row)
        return self._found


class JobLogOut(serializers.Serializer[Any]):
    """A part of what a replica has printed: bytes `offset` to `next_offset`, as text of UTF-8."""

    text = serializers.CharField()
    offset = serializers.IntegerField()
    next_offset = serializers.IntegerField()
    is_whole = serializers.BooleanField(help_text="The replica has ended and nothing more is there.")
