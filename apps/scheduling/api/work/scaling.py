"""Rules that scale elastic work: of a queue for operators, of one's own work for its owner (ELA-907)."""

from uuid import UUID

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.identity.api.base import ApiView
from apps.identity.api.sound import SoundSerializer
from apps.scheduling.api.serializers.queues import WindowSerializer
from apps.scheduling.api.work.workloads import WorkView, read
from apps.scheduling.models import ScalingRule
from apps.scheduling.permissions import SchedulingPermission
from apps.scheduling.selectors.scaling import rules_of_queue, rules_of_work
from apps.scheduling.selectors.workloads import queue_get
from apps.scheduling.services.scaling import (
    queue_rule_make,
    queue_rule_remove,
    work_rule_make,
    work_rule_remove,
)
from apps.scheduling.states import ScalingBy
from apps.scheduling.text.scaling import rule_sentence

_MOST = 10**6


class ScalingRuleIn(SoundSerializer):
    """By queue depth (how many wait) or utilisation (percent of its shares): `low`, `high`, `step` and
    `grows_when_high`, which is true for utilisation and false for queue depth where it is not sent. By window:
    `shares` at most inside `windows`."""

    by = serializers.ChoiceField(choices=ScalingBy.choices)
    low = serializers.IntegerField(min_value=0, max_value=_MOST, required=False)
    high = serializers.IntegerField(min_value=1, max_value=_MOST, required=False)
    grows_when_high = serializers.BooleanField(required=False)
    step = serializers.IntegerField(min_value=1, max_value=512, required=False)
    shares = serializers.IntegerField(min_value=1, max_value=512, required=False)
    windows = WindowSerializer(many=True, required=False)
    cooldown_s = serializers.IntegerField(min_value=0, max_value=7 * 86_400, default=300)


class ScalingRuleOut(serializers.ModelSerializer):
    windows = serializers.SerializerMethodField()
    sentence = serializers.SerializerMethodField()

    class Meta:
        model = ScalingRule
        fields = [
            "uid", "by", "low", "high", "grows_when_high", "step", "shares", "windows", "cooldown_s", "sentence",
            "created_at",
        ]  # fmt: skip

    @extend_schema_field(WindowSerializer(many=True))
    def get_windows(self, row: ScalingRule) -> list[dict[str, int]]:
        names = ("weekday", "from_minute", "to_minute")
        return [dict(zip(names, span, strict=True)) for span in row.windows]

    def get_sentence(self, row: ScalingRule) -> str:
        return rule_sentence(row)


def _given(request: Request) -> dict[str, object]:
    body = read(ScalingRuleIn, request)
    if "windows" in body:
        body["windows"] = [
            (each["weekday"], each["from_minute"], each["to_minute"]) for each in body["windows"]
        ]
    return body


class QueueRulesView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW
    pagination_class = None

    @extend_schema(responses=ScalingRuleOut(many=True))
    def get(self, request: Request, code: str) -> Response:
        """The rules by which elastic work of the queue is scaled."""
        return Response(ScalingRuleOut(rules_of_queue(queue_get(code)), many=True).data)

    @extend_schema(request=ScalingRuleIn, responses={201: ScalingRuleOut})
    def post(self, request: Request, code: str) -> Response:
        """Scale all elastic work of the queue by one more rule, within the bounds of each."""
        row = queue_rule_make(actor=self.actor, queue=queue_get(code), given=_given(request))
        return Response(ScalingRuleOut(row).data, status=201)


class QueueRuleView(ApiView):
    plane = "provider"
    permission = SchedulingPermission.VIEW

    @extend_schema(responses={204: None})
    def delete(self, request: Request, code: str, rule: UUID) -> Response:
        """Remove it; what it asked for ends with it."""
        queue_rule_remove(actor=self.actor, queue=queue_get(code), uid=rule)
        return Response(status=204)


class WorkloadRulesView(WorkView):
    pagination_class = None

    @extend_schema(responses=ScalingRuleOut(many=True))
    def get(self, request: Request, uid: UUID) -> Response:
        """The work's own scaling rules; those of its queue hold beside them."""
        return Response(ScalingRuleOut(rules_of_work(self.row(uid)), many=True).data)

    @extend_schema(request=ScalingRuleIn, responses={201: ScalingRuleOut})
    def post(self, request: Request, uid: UUID) -> Response:
        """Scale one's own elastic work by one more rule, between its least and its most."""
        row = self.row(uid)
        made = work_rule_make(
            actor=self.actor, tenant=row.tenant, workload_uid=row.uid, given=_given(request)
        )
        return Response(ScalingRuleOut(made).data, status=201)


class WorkloadRuleView(WorkView):
    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID, rule: UUID) -> Response:
        """Remove it; what it asked for ends with it."""
        row = self.row(uid)
        work_rule_remove(actor=self.actor, tenant=row.tenant, workload_uid=row.uid, uid=rule)
        return Response(status=204)
