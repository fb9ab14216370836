"""The catalogue as the API shows it. Money and exact figures are text."""

from decimal import Decimal
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.catalog.models import (
    Category,
    Commodity,
    CommodityComponent,
    Coupon,
    CouponActivity,
    PriceLine,
    PriceVersion,
    ProcessTemplate,
)
from apps.catalog.types import decimal_text
from apps.identity.api.sound import MomentField, SoundSerializer

_XML_MAX_BYTES = 512 * 1024


@extend_schema_field(OpenApiTypes.STR)
class Money(serializers.ReadOnlyField):
    """An exact decimal as text, without idle zeros."""

    def to_representation(self, value: Decimal) -> str:
        return decimal_text(value)


class PriceStepOut(serializers.Serializer[Any]):
    """A tier of a price that a quantity went through: so much of it, at this price."""

    above = serializers.CharField()
    upto = serializers.CharField(allow_null=True)
    quantity = serializers.CharField()
    price = serializers.CharField()
    amount = serializers.CharField()


class CategoryOut(serializers.ModelSerializer):
    parent = serializers.SlugRelatedField("code", read_only=True, allow_null=True)

    class Meta:
        model = Category
        fields = ["code", "name_zh", "name_en", "parent", "position", "is_enabled"]


class ComponentRangeOut(serializers.ModelSerializer):
    component = serializers.CharField(source="component.code")
    name_zh = serializers.CharField(source="component.name_zh")
    name_en = serializers.CharField(source="component.name_en")
    amount_unit = serializers.CharField(source="component.amount_unit")

    class Meta:
        model = CommodityComponent
        fields = ["component", "name_zh", "name_en", "amount_unit", "minimum", "maximum", "step", "default"]


class CommodityOut(serializers.ModelSerializer):
    category = CategoryOut()
    components = ComponentRangeOut(many=True)

    class Meta:
        model = Commodity
        fields = [
            "uid",
            "number",
            "name_zh",
            "name_en",
            "intro_zh",
            "intro_en",
            "icon",
            "supplier",
            "kind",
            "category",
            "components",
            "min_duration_s",
            "max_duration_s",
            "is_open_ended",
            "retires_at",
            "max_count",
            "is_listed",
            "is_enabled",
            "version",
        ]


class PriceLineOut(serializers.ModelSerializer):
    component = serializers.CharField(source="component.code")
    per = serializers.CharField(source="component.unit", help_text="What one price is for: %, GiB, core.")

    class Meta:
        model = PriceLine
        fields = ["component", "per", "mode", "unit", "tier_method", "tiers"]


class PriceVersionOut(serializers.ModelSerializer):
    lines = PriceLineOut(many=True)

    class Meta:
        model = PriceVersion
        fields = ["uid", "number", "effective_from", "published_at", "lines"]


class PriceLineIn(SoundSerializer):
    component = serializers.CharField(max_length=48)
    tiers = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField(allow_null=True), min_length=2, max_length=2),
        max_length=50,
        help_text='[[upto or null, "price"], ...], rising from 0.',
    )
    mode = serializers.CharField(max_length=16, default="on_demand")
    unit = serializers.CharField(max_length=8, default="hour")
    tier_method = serializers.CharField(max_length=16, default="flat")


class PricesIn(SoundSerializer):
    lines = PriceLineIn(many=True)
    effective_from = MomentField(required=False, allow_null=True, default=None)


class ProcessTemplateOut(serializers.ModelSerializer):
    class Meta:
        model = ProcessTemplate
        fields = ["uid", "key", "version", "name_zh", "name_en", "created_at"]


class ProcessTemplateIn(SoundSerializer):
    key = serializers.SlugField(max_length=80)
    name_zh = serializers.CharField(max_length=120, default="")
    name_en = serializers.CharField(max_length=120, default="")
    file = serializers.FileField(help_text="BPMN 2.0, at most 512 KiB.")

    def validate_file(self, file: object) -> object:
        if file.size > _XML_MAX_BYTES:  # type: ignore[attr-defined]
            raise serializers.ValidationError("> 512 KiB")
        return file


class ActivityOut(serializers.ModelSerializer):
    face_value = Money()
    minimum_spend = Money()
    left_count = serializers.IntegerField()
    claimed_by_tenant = serializers.IntegerField()

    class Meta:
        model = CouponActivity
        fields = [
            "uid",
            "name_zh",
            "name_en",
            "face_value",
            "quantity",
            "left_count",
            "per_tenant_limit",
            "claimed_by_tenant",
            "minimum_spend",
            "ratio_percent",
            "valid_from",
            "valid_until",
            "created_at",
        ]


class CouponOut(serializers.ModelSerializer):
    activity = serializers.UUIDField(source="activity.uid")
    name_zh = serializers.CharField(source="activity.name_zh")
    name_en = serializers.CharField(source="activity.name_en")
    face_value = Money()
    remaining = Money()
    minimum_spend = Money(source="activity.minimum_spend")
    ratio_percent = serializers.IntegerField(source="activity.ratio_percent")
    valid_from = serializers.DateTimeField(source="activity.valid_from")
    valid_until = serializers.DateTimeField(source="activity.valid_until")

    class Meta:
        model = Coupon
        fields = [
            "uid",
            "code",
            "activity",
            "name_zh",
            "name_en",
            "state",
            "face_value",
            "remaining",
            "minimum_spend",
            "ratio_percent",
            "valid_from",
            "valid_until",
            "created_at",
        ]
