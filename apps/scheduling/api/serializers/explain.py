"""When work starts, why it waits and what was decided on it, on the wire."""

from rest_framework import serializers


class NowOut(serializers.Serializer):
    """With how much the same work could start at once; 0 is none."""

    percent = serializers.IntegerField()
    shares = serializers.IntegerField()
    sentence = serializers.CharField()


class ExpectationOut(serializers.Serializer):
    """An expected start; nine of ten fall between `low_at` and `high_at`. All null: nobody can say."""

    start_at = serializers.DateTimeField(allow_null=True)
    low_at = serializers.DateTimeField(allow_null=True)
    high_at = serializers.DateTimeField(allow_null=True)
    basis = serializers.CharField()
    basis_text = serializers.CharField()
    sentence = serializers.CharField()
    why = serializers.CharField()


class DryRunOut(ExpectationOut):
    """When work would start if it were submitted now, the shares it would hold (`compute_percent` and `memory_mib` of
    each), and `now`: what could start at once."""

    shares = serializers.IntegerField()
    shares_per_replica = serializers.IntegerField()
    compute_percent = serializers.IntegerField()
    memory_mib = serializers.IntegerField()
    now = NowOut(allow_null=True)


class TimelineOut(serializers.Serializer):
    at = serializers.DateTimeField()
    kind = serializers.CharField()
    what = serializers.CharField()
    sentence = serializers.CharField()
    actor = serializers.CharField()


class StartEstimateOut(serializers.Serializer):
    made_at = serializers.DateTimeField()
    basis = serializers.CharField()
    start_at = serializers.DateTimeField(allow_null=True)
    low_at = serializers.DateTimeField(allow_null=True)
    high_at = serializers.DateTimeField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    is_kept = serializers.BooleanField(allow_null=True)


class ExplainOut(serializers.Serializer):
    """`expected` is null unless it waits; `ahead`: how many stand before it in its queue."""

    state = serializers.CharField()
    reason_code = serializers.CharField()
    reason = serializers.CharField()
    queue = serializers.CharField()
    position = serializers.IntegerField(allow_null=True)
    ahead = serializers.IntegerField(allow_null=True)
    expected = ExpectationOut(allow_null=True)
    start_estimate = StartEstimateOut(allow_null=True)
    decisions = TimelineOut(many=True)
