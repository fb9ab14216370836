"""Categories of tickets with their forms and rules, and the working calendar, on the wire."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.identity.api.sound import SoundSerializer
from apps.ticketing.models import RoutingRule, SpecialDay, TicketCategory, WorkingHours
from apps.ticketing.selectors import receiver_text
from apps.ticketing.states import FieldKind, FieldState, ReceiverKind, Side


class TicketFieldData(SoundSerializer):
    """A field of a ticket's form."""

    name = serializers.CharField(
        max_length=48, required=False, help_text="Its key in `data`; made of the label if left out."
    )
    label_zh = serializers.CharField(max_length=80, required=False, allow_blank=True)
    label_en = serializers.CharField(max_length=80, required=False, allow_blank=True)
    kind = serializers.ChoiceField(choices=FieldKind.choices, default=FieldKind.TEXT)
    is_required = serializers.BooleanField(default=False)
    choices = serializers.ListField(child=serializers.CharField(max_length=80), max_length=40, default=list)
    value = serializers.JSONField(required=False, help_text="What stands there before anybody writes in it.")
    opening = serializers.ChoiceField(
        choices=FieldState.choices, default=FieldState.READ_WRITE, help_text="For who opens the ticket."
    )
    handling = serializers.ChoiceField(
        choices=FieldState.choices, default=FieldState.READ_WRITE, help_text="For who works on it."
    )
    steps = serializers.DictField(
        child=serializers.ChoiceField(choices=FieldState.choices),
        default=dict,
        help_text="For who works on it at the step of that key, where that is otherwise.",
    )


class TicketStepData(SoundSerializer):
    """A step that tickets of a category go through."""

    key = serializers.CharField(
        max_length=8, required=False, help_text="Of a step that stays; left out for a new one."
    )
    name_zh = serializers.CharField(max_length=80, required=False, allow_blank=True)
    name_en = serializers.CharField(max_length=80, required=False, allow_blank=True)


class RoutingRuleOut(serializers.ModelSerializer[RoutingRule]):
    receiver_name = serializers.SerializerMethodField()

    class Meta:
        model = RoutingRule
        fields = ["uid", "step", "field", "value", "side", "kind", "receiver", "receiver_name"]

    def get_receiver_name(self, row: RoutingRule) -> str:
        return receiver_text(row)


class RoutingRuleIn(SoundSerializer):
    side = serializers.ChoiceField(choices=Side.choices, default=Side.OPERATOR)
    kind = serializers.ChoiceField(choices=ReceiverKind.choices)
    receiver = serializers.CharField(
        max_length=120,
        help_text="The centre's: a role's code, a login account, an organization's identifier. A tenant's: the name of "
        "a role, organization or post, or a login account.",
    )
    step = serializers.CharField(
        max_length=8,
        default="",
        allow_blank=True,
        help_text="The key of one of the steps; empty: the first.",
    )
    field = serializers.CharField(max_length=48, default="", allow_blank=True)
    value = serializers.CharField(max_length=200, default="", allow_blank=True)


class TicketCategoryOfferedOut(serializers.ModelSerializer[TicketCategory]):
    """A category in which a ticket can be opened, with the fields that are then shown."""

    name = serializers.CharField()
    hint = serializers.CharField()
    parent = serializers.UUIDField(source="parent.uid", default=None, allow_null=True)  # type: ignore[assignment]
    form = serializers.SerializerMethodField()

    class Meta:
        model = TicketCategory
        fields = ["uid", "path", "parent", "name", "hint", "form", "answer_minutes", "solve_minutes"]

    @extend_schema_field(TicketFieldData(many=True))
    def get_form(self, row: TicketCategory) -> list[dict[str, Any]]:
        return [field for field in row.fields if field["opening"] != FieldState.HIDDEN]


class TicketCategoryOut(serializers.ModelSerializer[TicketCategory]):
    parent = serializers.UUIDField(source="parent.uid", default=None, allow_null=True)  # type: ignore[assignment]
    rules = RoutingRuleOut(many=True)
    form = TicketFieldData(many=True, source="fields")
    steps = TicketStepData(many=True)

    class Meta:
        model = TicketCategory
        fields = [
            "uid", "builtin", "path", "parent", "name_zh", "name_en", "hint_zh", "hint_en", "form", "steps", "rules",
            "answer_minutes", "solve_minutes", "is_enabled",
        ]  # fmt: skip


class TicketCategoryChangeIn(SoundSerializer):
    """What is not named stays as it is."""

    name_zh = serializers.CharField(max_length=80, required=False)
    name_en = serializers.CharField(max_length=80, required=False)
    hint_zh = serializers.CharField(max_length=300, required=False, allow_blank=True)
    hint_en = serializers.CharField(max_length=300, required=False, allow_blank=True)
    answer_minutes = serializers.IntegerField(min_value=1, required=False, allow_null=True)
    solve_minutes = serializers.IntegerField(min_value=1, required=False, allow_null=True)
    is_enabled = serializers.BooleanField(required=False)
    form = TicketFieldData(many=True, required=False)
    steps = TicketStepData(
        many=True,
        required=False,
        help_text="All steps in their order; a step that is left out goes with its rules.",
    )


class TicketCategoryIn(TicketCategoryChangeIn):
    parent = serializers.UUIDField(help_text="O&M, or a category below it.")  # type: ignore[assignment]
    name_zh = serializers.CharField(max_length=80)
    name_en = serializers.CharField(max_length=80)


class WorkingSpan(serializers.ModelSerializer[WorkingHours]):
    weekday = serializers.IntegerField(min_value=0, max_value=6, help_text="0 is Monday.")

    class Meta:
        model = WorkingHours
        fields = ["weekday", "opens", "closes"]


class SpecialDayOut(serializers.ModelSerializer[SpecialDay]):
    class Meta:
        model = SpecialDay
        fields = ["day", "name", "weekday"]


class SpecialDaysIn(SoundSerializer):
    first = serializers.DateField()
    last = serializers.DateField(required=False, help_text="The first, if left out.")
    name = serializers.CharField(max_length=80)
    weekday = serializers.IntegerField(
        min_value=0, max_value=6, allow_null=True, default=None, help_text="Worked like it; null: closed."
    )


class WorkingHoursData(SoundSerializer):
    hours = WorkingSpan(many=True, help_text="Without any every hour counts.")


class WorkingHoursOut(WorkingHoursData):
    timezone = serializers.CharField()
    special_days = SpecialDayOut(many=True)
