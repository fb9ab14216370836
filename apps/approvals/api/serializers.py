from typing import Any

from rest_framework import serializers

from apps.approvals.models import Decision, HumanTask, ProcessInstance
from apps.cases.models import Case
from apps.identity.api.sound import SoundSerializer, TextField
from apps.kernel.money import bill_round


class DecideIn(SoundSerializer):
    decision = serializers.ChoiceField(["approve", "refuse", "send_back"])
    comment = TextField(max_length=1000, required=False, allow_blank=True, default="")


class DecisionOut(serializers.ModelSerializer):
    class Meta:
        model = Decision
        fields = ["user_name", "role", "decision", "comment", "at"]


class TaskRowOut(serializers.Serializer):
    """A task in an inbox, of one tenant or of all."""

    uid = serializers.UUIDField()
    no = serializers.CharField()
    tenant = serializers.CharField()
    title = serializers.CharField()
    step = serializers.CharField()
    applicant_name = serializers.CharField()
    state = serializers.CharField()
    due_at = serializers.DateTimeField(allow_null=True)
    urged_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    amount = serializers.DecimalField(
        max_digits=28, decimal_places=2, allow_null=True, help_text="What it costs in all, in CNY."
    )

    def to_representation(self, row: HumanTask | Case) -> dict[str, Any]:
        common = {
            "uid": str(row.uid),
            "state": row.state,
            "due_at": row.due_at,
            "urged_at": row.urged_at,
            "created_at": row.created_at,
        }
        amount = row.amount if isinstance(row, Case) else row.instance.amount
        common["amount"] = None if amount is None else str(bill_round(amount))
        if isinstance(row, Case):
            step, _colon, title = row.title.partition(": ")
            mine = {"no": row.no, "tenant": row.tenant.schema_name, "applicant_name": row.applicant_name}
            return {**common, **mine, "step": step, "title": title}
        instance, view = row.instance, self.context["view"]
        mine = {"no": instance.subject_no, "tenant": view.tenant.schema_name, "title": instance.title}
        return {**common, **mine, "applicant_name": instance.applicant_name, "step": row.name}


class TaskOut(serializers.ModelSerializer):
    no = serializers.CharField(source="instance.subject_no")
    title = serializers.CharField(source="instance.title")
    subject_kind = serializers.CharField(source="instance.subject_kind")
    subject = serializers.UUIDField(source="instance.subject_uid")
    process = serializers.CharField(source="instance.process_template.name")
    process_state = serializers.CharField(source="instance.state")
    applicant_name = serializers.CharField(source="instance.applicant_name")
    organization = serializers.CharField(source="instance.organization_name")
    business_system = serializers.CharField(source="instance.business_system_name")
    step = serializers.CharField(source="name")
    decisions = serializers.ListField(child=serializers.CharField())
    given = DecisionOut(many=True)

    class Meta:
        model = HumanTask
        fields = [
            "uid", "no", "title", "subject_kind", "subject", "process", "process_state", "applicant_name",
            "organization", "business_system", "step", "side", "rule", "state", "decisions", "given", "due_at",
            "urged_at", "done_at", "created_at",
        ]  # fmt: skip


class ProcessStepOut(serializers.ModelSerializer):
    step = serializers.CharField(source="name")
    given = DecisionOut(many=True)

    class Meta:
        model = HumanTask
        fields = ["uid", "step", "side", "rule", "state", "given", "due_at", "done_at", "created_at"]


class ProcessOut(serializers.ModelSerializer):
    """One run of an approval: the time line."""

    process = serializers.CharField(source="process_template.name")
    tasks = ProcessStepOut(many=True)

    class Meta:
        model = ProcessInstance
        fields = ["uid", "process", "state", "created_at", "tasks"]
