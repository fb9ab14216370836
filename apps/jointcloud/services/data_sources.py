"""From where data would be copied to a centre: the sources in their order, for the storage that copies (JC-6.3.2).

Nothing is copied here.
"""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from apps.centers.selectors import center_get, centers_sampled
from apps.centers.states import CenterStatus
from apps.jointcloud.engine.reasons import Reason
from apps.jointcloud.engine.sources import Ranked, Source, choose_sources
from apps.jointcloud.errors import DataStays
from apps.jointcloud.models import Dataset, DatasetCopy
from apps.jointcloud.selectors.settings import settings_now
from apps.jointcloud.selectors.snapshot import distance_km
from apps.kernel.actor import Actor


@dataclass(frozen=True, slots=True)
class RankedCopy:
    """A copy that data may be copied from, with its scores of 0 to 100."""

    copy: DatasetCopy
    ranked: Ranked


@dataclass(frozen=True, slots=True)
class DataSources:
    """The copies, best first, and the others with why they are no sources; `is_there`: the centre has one itself."""

    is_there: bool
    sources: tuple[RankedCopy, ...]
    refused: tuple[tuple[DatasetCopy, Reason], ...]


def dataset_sources(row: Dataset, ai_center_id: str, *, actor: Actor) -> DataSources:
    """The sources of data for a centre; copies of another digest are none. Raises NotFound for a centre that there is
    not or that does not serve the tenant acted in, DataStays where the data may not be copied or is
    larger than data that moves."""
    target = center_get(ai_center_id, rows=centers_sampled(actor.tenant))
    most = settings_now().move_bytes
    if not row.may_move:
        raise DataStays(_("%(data)s is private: it is copied to no other centre.") % {"data": row})
    if row.size_bytes > most:
        raise DataStays(
            _("%(data)s has %(size)s bytes, and data of more than %(most)s does not move.")
            % {"data": row, "size": f"{row.size_bytes:,}", "most": f"{most:,}"}
        )
    copies = {copy.center.ai_center_id: copy for copy in row.copies.all() if copy.is_of_it}
    found = choose_sources(
        tuple(
            Source(
                centre_id=code,
                is_available=copy.center.status == CenterStatus.AVAILABLE,
                succeeded=copy.succeeded,
                interrupted=copy.interrupted,
                failed=copy.failed,
                rate_limit=copy.rate_limit,
                concurrency_limit=copy.concurrency_limit,
                current_downloads=copy.current_downloads,
                distance=distance_km(copy.center, target),
                mean_time_s=copy.mean_time_s,
            )
            for code, copy in copies.items()
        ),
        target.ai_center_id,
    )
    return DataSources(
        is_there=target.ai_center_id in copies,
        sources=tuple(RankedCopy(copies[each.centre_id], each) for each in found.sources),
        refused=tuple((copies[code], why) for code, why in found.refused),
    )
