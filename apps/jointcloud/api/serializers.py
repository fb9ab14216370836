"""Bodies and answers about where work would go, and how centres are chosen."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.centers.models import GRADE_MOST
from apps.centers.states import ServiceType
from apps.identity.api.sound import MomentField, SoundSerializer
from apps.jointcloud.engine.types import MOST, MOST_COUNT, MOST_REPLICAS, ONE, Settings
from apps.jointcloud.models.settings import FAILURES_MOST, SECONDS_MOST
from apps.jointcloud.services.task_data import MOST_DATA
from apps.jointcloud.services.tries import TASKS_MOST, Trial, TriedTask
from apps.jointcloud.text import policy_name

CODES_MOST = 64
_CODE_LENGTH = 32


def part_text(permille: int) -> str:
    """A weight as a part of 1, to a thousandth."""
    return f"{permille // ONE}.{permille % ONE:03d}"


def _codes(help_text: str) -> serializers.ListField:
    child = serializers.CharField(max_length=_CODE_LENGTH)
    return serializers.ListField(child=child, default=list, max_length=CODES_MOST, help_text=help_text)


class WeightsField(serializers.DictField):
    """Parts of 1 by policy, as texts or figures; together 1."""

    child = serializers.CharField(max_length=32)


class TriedTaskIn(SoundSerializer):
    name = serializers.CharField(max_length=63, default="")
    resource_spec_id = serializers.CharField(max_length=_CODE_LENGTH)
    image_id = serializers.CharField(max_length=63, default="", allow_blank=True)
    data = serializers.ListField(  # type: ignore[assignment]
        child=serializers.CharField(max_length=127),
        default=list,
        max_length=MOST_DATA,
        help_text="What it reads, each as NAME or NAME:VERSION.",
    )
    replicas = serializers.IntegerField(min_value=1, max_value=MOST_REPLICAS, default=1)
    center_ids = _codes("Centres that are named for it; none is all.")
    deadline = MomentField(default=None, allow_null=True, help_text="When it has to have ended.")
    duration_s = serializers.IntegerField(
        min_value=1,
        max_value=MOST_COUNT,
        default=None,
        allow_null=True,
        help_text="How long it is expected to run.",
    )
    latency_us = serializers.IntegerField(
        min_value=1,
        max_value=MOST_COUNT,
        default=None,
        allow_null=True,
        help_text="The most that the way may take.",
    )
    security_grade = serializers.IntegerField(
        min_value=0, max_value=GRADE_MOST, default=0, help_text="The least that a centre has to have."
    )
    may_split = serializers.BooleanField(
        default=False, help_text="Its replicas may go to several centres where none takes all."
    )


class PlacementTryIn(SoundSerializer):
    tasks = TriedTaskIn(many=True, min_length=1, max_length=TASKS_MOST)  # type: ignore[call-arg]
    job_type = serializers.ChoiceField(choices=ServiceType.choices, default="", allow_blank=True)
    is_gang = serializers.BooleanField(default=False, help_text="All tasks start together, or none.")
    weights = WeightsField(
        default=None,
        allow_null=True,
        help_text="Parts of 1 by policy, which sum to 1; those in force where nothing is said.",
    )
    tenant = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=63,
        help_text="For operators: the code of the tenant whose job it would be. A tenant's own try is for that tenant.",
    )


class SentenceOut(serializers.Serializer[Any]):
    """A sentence in the reader's language, and its code for programs."""

    code = serializers.CharField()
    message = serializers.CharField()


class PolicyScoreOut(serializers.Serializer[Any]):
    """The score of a centre under a policy, 0 to 100. `is_known`: whether the policy has a figure of it.
    `milli_points`: score times weight, in thousandths of a point; they add up to the weighted sum."""

    policy = serializers.CharField()
    name = serializers.CharField()
    score = serializers.IntegerField()
    is_known = serializers.BooleanField()
    weight = serializers.CharField()
    milli_points = serializers.IntegerField()


class TriedCenterOut(serializers.Serializer[Any]):
    """A centre before a task: refused for `reasons`, or a candidate with its scores, the final one and its rank from
    1. `price`: of an hour and replica, in minor currency."""

    ai_center_id = serializers.CharField()
    center_name = serializers.CharField()
    is_candidate = serializers.BooleanField()
    rank = serializers.IntegerField(allow_null=True)
    final_score = serializers.IntegerField(allow_null=True)
    price = serializers.IntegerField(allow_null=True)
    scores = PolicyScoreOut(many=True)
    reasons = SentenceOut(many=True)


class PlacedOut(serializers.Serializer[Any]):
    """So many replicas would go to this centre."""

    ai_center_id = serializers.CharField()
    center_name = serializers.CharField()
    replicas = serializers.IntegerField()


class TriedTaskOut(serializers.Serializer[Any]):
    """One task: where it would go (nowhere: it would wait), why, and how every centre stands before it."""

    name = serializers.CharField()
    placed = PlacedOut(many=True)
    sentences = SentenceOut(many=True)
    centers = TriedCenterOut(many=True)


class TrialOut(serializers.Serializer[Any]):
    """What would become of the job at this instant. `model`: the evaluation model in force."""

    at = serializers.DateTimeField()
    model = serializers.CharField()
    weights = serializers.DictField(child=serializers.CharField())
    is_placed = serializers.BooleanField()
    tasks = TriedTaskOut(many=True)


def trial_rows(trial: Trial, names: list[str]) -> dict[str, Any]:
    """A trial as it is answered; `names`: what the tasks are called, in their order."""
    return {
        "at": trial.at,
        "model": trial.model,
        "weights": {policy: part_text(permille) for policy, permille in trial.weights},
        "is_placed": trial.is_placed,
        "tasks": [
            _task_row(trial, task, name or task.name) for task, name in zip(trial.tasks, names, strict=True)
        ],
    }


def _task_row(trial: Trial, task: TriedTask, name: str) -> dict[str, Any]:
    names = trial.names
    return {
        "name": name,
        "placed": [
            {"ai_center_id": code, "center_name": names.get(code, code), "replicas": count}
            for code, count in task.placed.items()
        ],
        "sentences": task.sentences,
        "centers": [
            {
                "ai_center_id": each.centre_id,
                "center_name": names.get(each.centre_id, each.centre_id),
                "is_candidate": each.is_candidate,
                "rank": each.rank,
                "final_score": each.final,
                "price": each.price,
                "scores": [
                    {
                        "policy": score.policy,
                        "name": policy_name(score.policy),
                        "score": score.score,
                        "is_known": score.is_known,
                        "weight": part_text(score.permille),
                        "milli_points": score.score * score.permille,
                    }
                    for score in each.scores
                ],
                "reasons": task.refusals[each.centre_id],
            }
            for each in task.evaluation.centres
        ],
    }


class PlacementSettingsOut(serializers.Serializer[Any]):
    """How centres are chosen. `number`: the version, 0 where nobody has changed anything yet; `weights`: parts of 1 by
    policy. Spans in seconds."""

    number = serializers.IntegerField()
    weights = serializers.SerializerMethodField()
    model = serializers.CharField()
    stale_s = serializers.IntegerField()
    cool_off_failures = serializers.IntegerField()
    cool_off_s = serializers.IntegerField()
    move_bytes = serializers.IntegerField()
    usual_duration_s = serializers.IntegerField()
    changed_by = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField(allow_null=True)

    @extend_schema_field(serializers.DictField(child=serializers.CharField()))
    def get_weights(self, row: Any) -> dict[str, str]:
        """Those of all policies that have one."""
        return {policy: part_text(permille) for policy, permille in row.weights}

    def get_changed_by(self, row: Any) -> str:
        """The name of an account; empty where it was none."""
        who = getattr(row, "changed_by", None)
        return str(who.username) if who else ""


def usual_row(usual: Settings) -> dict[str, Any]:
    """The usual settings as a version that nobody made."""
    names = (
        "stale_s",
        "cool_off_failures",
        "cool_off_s",
        "move_bytes",
        "usual_duration_s",
        "model",
        "weights",
    )
    return {name: getattr(usual, name) for name in names} | {"number": 0, "created_at": None}


class PlacementSettingsIn(SoundSerializer):
    number = serializers.IntegerField(
        min_value=0,
        required=False,
        help_text="The version that is meant; another one in force is a conflict.",
    )
    weights = WeightsField(required=False, help_text="Parts of 1 by policy; those not named are 0.")
    model = serializers.CharField(max_length=48, required=False)
    stale_s = serializers.IntegerField(min_value=1, max_value=SECONDS_MOST, required=False)
    cool_off_failures = serializers.IntegerField(min_value=1, max_value=FAILURES_MOST, required=False)
    cool_off_s = serializers.IntegerField(min_value=0, max_value=SECONDS_MOST, required=False)
    move_bytes = serializers.IntegerField(min_value=0, max_value=MOST, required=False)
    usual_duration_s = serializers.IntegerField(min_value=1, max_value=MOST_COUNT, required=False)


class ScoreOut(serializers.Serializer[Any]):
    score = serializers.IntegerField()


class WireScoreOut(serializers.Serializer[Any]):
    """The envelope of Annex A with a score from 0 to 100."""

    status = serializers.IntegerField()
    code = serializers.CharField(max_length=256)
    errorMsg = serializers.CharField(max_length=128, allow_blank=True)
    data = ScoreOut()  # type: ignore[assignment]
