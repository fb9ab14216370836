from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.identity.api.sound import SoundSerializer, TextField
from apps.ticketing.ticket_form import label_of
from apps.ticketing.ticket_steps import step_name
from apps.tickets.models import Ticket, TicketEntry, TicketFile
from apps.tickets.selectors import fields_shown, receiver_shown


class TicketOut(serializers.ModelSerializer[Ticket]):
    category = serializers.CharField(source="category.path")
    category_name = serializers.CharField(source="category.name")
    title = serializers.CharField()
    subject = serializers.UUIDField(source="subject_uid", allow_null=True)
    assignee = serializers.CharField(source="assignee.display_name", default="")
    organization = serializers.CharField(source="organization_name")
    business_system = serializers.CharField(source="business_system_name")
    is_answer_overdue = serializers.BooleanField()
    is_solve_overdue = serializers.BooleanField()

    class Meta:
        model = Ticket
        fields = [
            "uid", "no", "category", "category_name", "title", "subject_kind", "subject", "subject_no", "side", "state",
            "is_manual", "submitter_name", "organization", "business_system", "assignee", "result", "created_at",
            "claimed_at", "done_at", "answer_due_at", "solve_due_at", "is_answer_overdue", "is_solve_overdue", "rating",
        ]  # fmt: skip


class TicketEntryOut(serializers.ModelSerializer[TicketEntry]):
    class Meta:
        model = TicketEntry
        fields = ["uid", "kind", "text", "user_name", "created_at"]


class TicketFileOut(serializers.ModelSerializer[TicketFile]):
    class Meta:
        model = TicketFile
        fields = ["uid", "name", "size", "content_type", "sha256", "created_at"]


class TicketValue(SoundSerializer):
    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    value = serializers.JSONField()
    is_writable = serializers.BooleanField()


class TicketStepShown(SoundSerializer):
    key = serializers.CharField()
    name = serializers.CharField()
    is_present = serializers.BooleanField()


class TicketWholeOut(TicketOut):
    """A ticket with what was said on it, and its form as far as its reader sees it."""

    receiver = serializers.SerializerMethodField()
    steps = serializers.SerializerMethodField()
    form = serializers.SerializerMethodField()
    entries = TicketEntryOut(many=True)
    files = TicketFileOut(many=True)

    class Meta(TicketOut.Meta):
        fields = [
            *TicketOut.Meta.fields,
            "text",
            "receiver",
            "steps",
            "form",
            "entries",
            "files",
            "rating_text",
        ]

    def get_receiver(self, row: Ticket) -> str:
        return receiver_shown(row)

    @extend_schema_field(TicketStepShown(many=True))
    def get_steps(self, row: Ticket) -> list[dict[str, Any]]:
        return [
            {"key": step["key"], "name": step_name(step), "is_present": step["key"] == row.step}
            for step in row.steps
        ]

    @extend_schema_field(TicketValue(many=True))
    def get_form(self, row: Ticket) -> list[dict[str, Any]]:
        return [
            {"name": field["name"], "label": label_of(field), "value": value, "is_writable": is_writable}
            for field, value, is_writable in fields_shown(self.context["actor"], row)
        ]


class TicketIn(SoundSerializer):
    category = serializers.UUIDField(help_text="One of `ticket-categories/offered`.")
    title = serializers.CharField(max_length=200)
    text = TextField(max_length=4000, default="", allow_blank=True)
    data = serializers.DictField(default=dict, help_text="The category's fields by their names.")  # type: ignore[assignment]


class TicketTextIn(SoundSerializer):
    text = TextField(max_length=4000)


class TicketAnswerIn(TicketTextIn):
    data = serializers.DictField(default=dict, help_text="Fields of the form that are written at this step.")  # type: ignore[assignment]


class TicketDataIn(SoundSerializer):
    data = serializers.DictField()  # type: ignore[assignment]


class TicketHandOverIn(SoundSerializer):
    user = serializers.UUIDField(help_text="One of `tickets/…/colleagues`.")
    text = TextField(max_length=4000, default="", allow_blank=True)


class TicketRateIn(SoundSerializer):
    rating = serializers.IntegerField(min_value=1, max_value=5)
    text = TextField(max_length=1000, default="", allow_blank=True)


class ColleagueOut(serializers.Serializer[Any]):
    uid = serializers.UUIDField()
    name = serializers.CharField(source="display_name")


class TicketFileIn(SoundSerializer):
    file = serializers.FileField()
