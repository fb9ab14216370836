"""What the adapter of a centre can do there, without a question to the centre."""

from collections.abc import Collection
from contextlib import suppress
from functools import lru_cache

from django.utils import translation

from apps.centers.adapters.base import Ability, CenterError
from apps.centers.models import Center
from apps.centers.services.sampling import center_adapter


def center_tells_logs(center: Center) -> bool:
    """Whether logs of jobs can be read there; not where its adapter cannot even be made of its settings."""
    return Ability.LOGS in _abilities(center.pk, center.revision)


def centers_telling_logs(codes: Collection[str]) -> set[str]:
    """Of the centres of these codes, those where logs of jobs can be read."""
    rows = Center.objects.filter(ai_center_id__in=list(codes))
    return {row.ai_center_id for row in rows if center_tells_logs(row)}


@lru_cache(maxsize=1024)
def _abilities(pk: int, revision: int) -> frozenset[Ability]:
    """By the settings that the revision stands for: an adapter opens its credential and its trust, which takes long."""
    center = Center.objects.filter(pk=pk, revision=revision).first()
    if center is None:
        return frozenset()
    adapter = None
    try:
        with translation.override("en"):
            adapter = center_adapter(center)
            return adapter.abilities
    except CenterError:
        return frozenset()
    finally:
        if adapter is not None:
            # An outsider's adapter may raise anything.
            with suppress(Exception):
                adapter.close()
