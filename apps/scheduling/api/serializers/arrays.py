"""Arrays on the wire, and how far they are."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.scheduling.models import WorkloadArray
from apps.scheduling.selectors.arrays import progress_of


class ProgressOut(serializers.Serializer[Any]):
    """How many of an array's tasks wait, run, have finished, and have failed or were lost."""

    waiting = serializers.IntegerField()
    running = serializers.IntegerField()
    finished = serializers.IntegerField()
    failed = serializers.IntegerField()


class ArrayOfTaskOut(serializers.ModelSerializer[WorkloadArray]):
    """The array that work is a task of."""

    class Meta:
        model = WorkloadArray
        fields = ["uid", "no", "name", "spec", "size", "at_once"]


class ArrayOut(serializers.ModelSerializer[WorkloadArray]):
    progress = serializers.SerializerMethodField()

    class Meta:
        model = WorkloadArray
        fields = ["uid", "no", "name", "spec", "size", "at_once", "created_at", "stopped_at", "progress"]

    @extend_schema_field(ProgressOut)
    def get_progress(self, row: WorkloadArray) -> dict[str, int]:
        return progress_among(self, row.pk, "pk")


def progress_among(field: Any, array_pk: int, name: str) -> dict[str, int]:
    """An array's progress; of a list all of them are read at once."""
    rows = getattr(field.parent, "instance", None) or [field.instance]
    known = field.context.setdefault("progress", {})
    if array_pk not in known:
        known |= progress_of({pk for row in rows if (pk := getattr(row, name)) is not None})
    return dict(known[array_pk])
