"""The shape of what the pages of data are sent."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.centers.forms import MarkedForm
from apps.centers.models import Center
from apps.jointcloud.engine.types import MOST, MOST_COUNT
from apps.jointcloud.models import Dataset, DatasetCopy
from apps.jointcloud.models.data import ADDRESS_BYTES, DIGEST_LENGTH, DataAccess
from apps.jointcloud.types import CopyFacts, DatasetFacts
from apps.kernel.forms import SoundForm
from apps.kernel.unit_fields import FILES, SECONDS, UnitField

_COUNTS = ("succeeded", "interrupted", "failed", "current_downloads")


class DatasetsForm(SoundForm):
    search = forms.CharField(required=False, max_length=63)


class DatasetForm(MarkedForm):
    """What is said of data; its name and version cannot be changed."""

    mark = "dataset"
    size_bytes = UnitField(FILES, most=MOST, label=_("Size"))
    files = forms.IntegerField(  # type: ignore[assignment]
        label=_("Files"), min_value=0, max_value=MOST_COUNT
    )
    digest = forms.CharField(
        label=_("Digest"),
        max_length=DIGEST_LENGTH,
        required=False,
        help_text=_("sha256: and 64 digits; empty: not known."),
    )
    moves = forms.ChoiceField(
        label=_("Copies at other centres"),
        choices=[("", _("none are made: the data is private")), ("yes", _("may be made"))],
        required=False,
    )
    field_order = ("data_name", "data_version", "size_bytes", "files", "digest", "moves")

    def __init__(self, *args: Any, row: Dataset | None = None, **kwargs: Any) -> None:
        if row is not None:
            said = {name: getattr(row, name) for name in ("size_bytes", "files", "digest")}
            kwargs["initial"] = said | {"moves": "yes" if row.may_move else ""}
        super().__init__(*args, **kwargs)
        if row is None:
            self.fields["data_name"] = forms.CharField(
                label=_("Name"), max_length=63, help_text=_("Letters, digits, points and dashes: imagenet.")
            )
            self.fields["data_version"] = forms.CharField(label=_("Version"), max_length=63, initial="1")
            for name in ("data_name", "data_version"):
                self.dress(name, self.fields[name])
        self.order_fields(self.field_order)

    def facts(self, given: Mapping[str, Any]) -> DatasetFacts:
        """Of what was sent, what is said of the data."""
        return DatasetFacts(
            size_bytes=given["size_bytes"],
            files=given["files"],
            digest=given["digest"],
            may_move=bool(given["moves"]),
        )


class CopyForm(MarkedForm):
    """What is said of a copy at a centre; what is left empty is not known, or not limited."""

    mark = "copy"
    ai_center_id = forms.ChoiceField(label=_("AI computing centre"))
    dataset_url = forms.CharField(
        label=_("Where it lies"),
        max_length=ADDRESS_BYTES,
        help_text=_("A path there, /share/imagenet, or s3://bucket/folder."),
    )
    access = forms.ChoiceField(label=_("Work may"), choices=DataAccess.choices)
    digest = forms.CharField(label=_("Digest there"), max_length=DIGEST_LENGTH, required=False)
    download_rate_limit = forms.IntegerField(
        label=_("Rate limit (kB/s)"), min_value=1, max_value=MOST_COUNT, required=False
    )
    concurrency_limit = forms.IntegerField(
        label=_("Downloads at once, at most"), min_value=1, max_value=MOST_COUNT, required=False
    )
    succeeded = forms.IntegerField(
        label=_("Downloads that succeeded"), min_value=0, max_value=MOST_COUNT, required=False
    )
    interrupted = forms.IntegerField(
        label=_("Downloads that were interrupted"), min_value=0, max_value=MOST_COUNT, required=False
    )
    failed = forms.IntegerField(
        label=_("Downloads that failed"), min_value=0, max_value=MOST_COUNT, required=False
    )
    current_downloads = forms.IntegerField(
        label=_("Downloads now"), min_value=0, max_value=MOST_COUNT, required=False
    )
    download_cost = UnitField(SECONDS, least=0, most=MOST_COUNT, label=_("A download takes"), required=False)
    network_topology = forms.CharField(label=_("Place in the network"), max_length=63, required=False)

    def __init__(
        self, *args: Any, centers: Iterable[Center], row: DatasetCopy | None = None, **kwargs: Any
    ) -> None:
        if row is not None:
            names = ("access", "digest", "concurrency_limit", "network_topology", *_COUNTS)
            kwargs["initial"] = {name: getattr(row, name) for name in names} | {
                "ai_center_id": row.center.ai_center_id,
                "dataset_url": row.address,
                "download_rate_limit": row.rate_limit,
                "download_cost": row.mean_time_s,
            }
        super().__init__(*args, **kwargs)
        choice = self.fields["ai_center_id"]
        assert isinstance(choice, forms.ChoiceField)
        choice.choices = [(center.ai_center_id, center.name) for center in centers]

    @property
    def main_fields(self) -> list[forms.BoundField]:
        """What is said of every copy."""
        return [self[name] for name in ("ai_center_id", "dataset_url", "access", "digest")]

    @property
    def download_fields(self) -> list[forms.BoundField]:
        """What is rarely said: how the copy is downloaded, as programs tell it."""
        main = {field.name for field in self.main_fields}
        return [self[name] for name in self.fields if name not in main]

    @property
    def tells_downloads(self) -> bool:
        """Whether something is said of its downloads."""
        return any(self.initial.get(field.name) for field in self.download_fields)

    def copy(self, given: Mapping[str, Any]) -> CopyFacts:
        """Of what was sent, what is said of the copy."""
        return CopyFacts(
            ai_center_id=given["ai_center_id"],
            address=given["dataset_url"],
            access=given["access"],
            digest=given["digest"],
            rate_limit=given["download_rate_limit"],
            concurrency_limit=given["concurrency_limit"],
            mean_time_s=given["download_cost"],
            network_topology=given["network_topology"],
            **{name: given[name] or 0 for name in _COUNTS},
        )
