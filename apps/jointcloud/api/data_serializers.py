"""Data of jobs on the wire, by the names that table 6 prints. As in its sample, the figures of a place are texts; they
are taken as figures, too (JC-Q-13)."""

import re
from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.identity.api.sound import SoundSerializer
from apps.jointcloud.engine.types import MOST, MOST_COUNT
from apps.jointcloud.models import Dataset, DatasetCopy
from apps.jointcloud.models.data import ADDRESS_BYTES, DIGEST_LENGTH, DataAccess
from apps.jointcloud.services.data import MOST_COPIES
from apps.jointcloud.services.data_sources import DataSources, RankedCopy
from apps.jointcloud.text import reason_text
from apps.jointcloud.types import CopyFacts

_STATE = re.compile(r"([0-9]{1,10})/([0-9]{1,10})/([0-9]{1,10})", re.ASCII)
# What table 6 calls the columns of a copy.
_PRINTED = {
    "dataset_url": "address",
    "download_rate_limit": "rate_limit",
    "concurrency_limit": "concurrency_limit",
    "current_downloads": "current_downloads",
    "download_cost": "mean_time_s",
}
_STATE_HELP = "Downloads of it that succeeded, were interrupted and failed so far: 12/1/0."


def state_text(row: DatasetCopy) -> str:
    """How downloads of a copy ended so far, as `_STATE_HELP` says; "" where there was none."""
    counts = (row.succeeded, row.interrupted, row.failed)
    return "/".join(map(str, counts)) if any(counts) else ""


@extend_schema_field({"type": "string"})
class FigureField(serializers.IntegerField):
    """A whole number, as a figure or as a text; "" is None."""

    def to_internal_value(self, data: Any) -> Any:
        return None if data == "" else super().to_internal_value(data)


def _figure(least: int, help_text: str) -> FigureField:
    return FigureField(
        min_value=least,
        max_value=MOST_COUNT,
        required=False,
        allow_null=True,
        default=None,
        help_text=help_text,
    )


class DataPlaceChangeIn(SoundSerializer):
    """What a centre holds of data."""

    dataset_url = serializers.CharField(
        max_length=ADDRESS_BYTES, help_text="A path from the root, or s3://bucket/folder."
    )
    access = serializers.ChoiceField(DataAccess.choices, default=DataAccess.READ.value)
    digest = serializers.CharField(max_length=DIGEST_LENGTH, required=False, allow_blank=True, default="")
    download_state = serializers.CharField(
        max_length=32, required=False, allow_blank=True, default="", help_text=_STATE_HELP
    )
    download_rate_limit = _figure(1, "In kB/s; nothing: none.")
    concurrency_limit = _figure(1, "Downloads at once; nothing: none.")
    current_downloads = _figure(0, "Downloads now.")
    network_topology = serializers.CharField(max_length=63, required=False, allow_blank=True, default="")
    download_cost = _figure(0, "How long a download took so far, in seconds.")

    def validate_download_state(self, text: str) -> tuple[int, int, int]:
        match = _STATE.fullmatch(text or "0/0/0")
        if match is None:
            raise serializers.ValidationError(
                _("Say how many succeeded, were interrupted and failed, like 12/1/0.")
            )
        return int(match[1]), int(match[2]), int(match[3])


class DataPlaceIn(DataPlaceChangeIn):
    """What a centre holds of data, and which."""

    ai_center_id = serializers.CharField(max_length=64)


def copy_facts(given: dict[str, Any], ai_center_id: str) -> CopyFacts:
    """What a body of `DataPlaceChangeIn` says of a copy."""
    succeeded, interrupted, failed = given["download_state"] or (0, 0, 0)
    values = {ours: given[printed] for printed, ours in _PRINTED.items()}
    return CopyFacts(
        ai_center_id=ai_center_id,
        access=given["access"],
        digest=given["digest"],
        network_topology=given["network_topology"],
        succeeded=succeeded,
        interrupted=interrupted,
        failed=failed,
        **values | {"current_downloads": given["current_downloads"] or 0},
    )


class DataPlaceOut(serializers.Serializer[Any]):
    """A place of data (table 6). `is_of_it`: whether its digest is that of the data, as far as both are known."""

    dataset_url = serializers.CharField(source="address")
    access = serializers.ChoiceField(DataAccess.choices)
    ai_center_id = serializers.CharField(source="center.ai_center_id")
    download_state = serializers.SerializerMethodField(help_text=_STATE_HELP)
    download_rate_limit = serializers.SerializerMethodField()
    concurrency_limit = serializers.SerializerMethodField()
    current_downloads = serializers.SerializerMethodField()
    network_topology = serializers.CharField(allow_blank=True)
    download_cost = serializers.SerializerMethodField()
    digest = serializers.CharField(allow_blank=True)
    is_of_it = serializers.BooleanField()
    seen_at = serializers.DateTimeField()

    def get_download_state(self, row: DatasetCopy) -> str:
        return state_text(row)

    def get_download_rate_limit(self, row: DatasetCopy) -> str:
        return _text(row.rate_limit)

    def get_concurrency_limit(self, row: DatasetCopy) -> str:
        return _text(row.concurrency_limit)

    def get_current_downloads(self, row: DatasetCopy) -> str:
        return _text(row.current_downloads)

    def get_download_cost(self, row: DatasetCopy) -> str:
        return _text(row.mean_time_s)


def _text(figure: int | None) -> str:
    return "" if figure is None else str(figure)


class DatasetChangeIn(SoundSerializer):
    size_bytes = serializers.IntegerField(min_value=0, max_value=MOST, required=False)
    files = serializers.IntegerField(min_value=0, max_value=MOST_COUNT, required=False)
    digest = serializers.CharField(
        max_length=DIGEST_LENGTH,
        required=False,
        allow_blank=True,
        help_text="sha256: and 64 digits, over the lines of sha256sum of its files in the order of their paths.",
    )
    may_move = serializers.BooleanField(
        required=False, help_text="It may be copied to other centres; data that may not is private."
    )


class DatasetIn(DatasetChangeIn):
    data_name = serializers.CharField(max_length=64)
    data_version = serializers.CharField(max_length=64, default="1")
    size_bytes = serializers.IntegerField(min_value=0, max_value=MOST)
    files = serializers.IntegerField(min_value=0, max_value=MOST_COUNT, default=0)
    location = DataPlaceIn(many=True, required=False, default=list, max_length=MOST_COPIES)  # type: ignore[call-arg]


class DatasetOut(serializers.ModelSerializer[Dataset]):
    """Data that jobs read (table 6), with a place for each centre that holds it. `tenant`: whose it is; "" for the
    centre's, which all tenants read."""

    tenant = serializers.SerializerMethodField()
    created_user = serializers.CharField(source="created_by.username", default="")
    location = DataPlaceOut(source="copies", many=True)

    class Meta:
        model = Dataset
        fields = (
            "data_id", "tenant", "data_name", "data_version", "created_at", "updated_at", "created_user", "size_bytes",
            "files", "digest", "may_move", "location",
        )  # fmt: skip

    def get_tenant(self, row: Dataset) -> str:
        return "" if row.tenant is None else row.tenant.schema_name


class DataSourceOut(serializers.Serializer[Any]):
    """A copy that data may be copied from. `score`: 0 to 100, that by which the list is in order; `scores`: under each
    evaluator (load, time, topology, state, rate), null where it knows no figure."""

    ai_center_id = serializers.CharField(source="copy.center.ai_center_id")
    dataset_url = serializers.CharField(source="copy.address")
    score = serializers.IntegerField(source="ranked.final")
    scores = serializers.SerializerMethodField()

    @extend_schema_field(serializers.DictField(child=serializers.IntegerField(allow_null=True)))
    def get_scores(self, row: RankedCopy) -> dict[str, int | None]:
        return dict(row.ranked.scores)


class DataNoSourceOut(serializers.Serializer[Any]):
    """A copy that is no source, and why."""

    ai_center_id = serializers.CharField()
    code = serializers.CharField()
    message = serializers.CharField()


class DataSourcesOut(serializers.Serializer[Any]):
    """From where data would be copied to a centre, best first. `is_there`: the centre has a copy itself."""

    is_there = serializers.BooleanField()
    sources = DataSourceOut(many=True)
    refused = serializers.SerializerMethodField()

    @extend_schema_field(DataNoSourceOut(many=True))
    def get_refused(self, row: DataSources) -> list[dict[str, str]]:
        return [
            {"ai_center_id": copy.center.ai_center_id, "code": str(why.code), "message": reason_text(why)}
            for copy, why in row.refused
        ]
