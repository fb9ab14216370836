"""What organizations may hold, hold, and have given on: the five figures at every level of the tree (PLAT-TEN-18)."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Sum

from apps.scheduling.models import OrganizationQuota, QuotaHold, QuotaOrganization, TenantQuota
from apps.scheduling.states import HoldState, QuotaItem
from apps.scheduling.types import QuotaFigures
from apps.tenancy.models import Tenant


@dataclass(frozen=True, slots=True)
class OrganizationQuotaLine:
    """Of one item: what an organization and all below it use and have in process, its quota with the five figures
    (None: only what is above bounds it), and the most that what is above could give it."""

    item: str
    used: int
    in_process: int
    quota: QuotaFigures | None
    most: int


def line_above(organization: UUID | None, above: Mapping[UUID, UUID | None]) -> Iterator[UUID]:
    """An organization and all above it, by the tree that `above` says."""
    while organization is not None and organization in above:
        yield organization
        organization = above[organization]


def quota_organizations(tenant: Tenant) -> dict[UUID, str]:
    """The organizations of a tenant that can hold quota, by name."""
    return dict(QuotaOrganization.objects.of(tenant).order_by("name").values_list("uid", "name"))


def organizations_above(schema: str, organization: UUID | None) -> list[UUID]:
    """An organization of a tenant and all above it; none for none."""
    if organization is None:
        return []
    above = dict(QuotaOrganization.objects.of(schema).values_list("uid", "parent_id"))
    return list(line_above(organization, above))


def organization_quota_list(tenant: Tenant, uid: UUID) -> list[OrganizationQuotaLine]:
    """A line for each item, whether or not the organization has a quota of its own of it."""
    above = dict(QuotaOrganization.objects.of(tenant).values_list("uid", "parent_id"))
    sums: Counter[tuple[str, str]] = Counter()
    held = QuotaHold.objects.of(tenant).exclude(state=HoldState.RELEASED).exclude(organization=None)
    for organization, item, state, amount in (
        held.values_list("organization", "item", "state").annotate(sum=Sum("amount")).order_by()
    ):
        if uid in line_above(organization, above):
            sums[item, state] += amount
    own = {row.item: row for row in OrganizationQuota.objects.of(tenant).filter(organization=uid)}
    givers = _givers(tenant, above.get(uid))
    return [
        _line(
            item,
            sums[item, HoldState.USED],
            sums[item, HoldState.IN_PROCESS],
            own.get(item),
            givers.get(item),
        )
        for item in QuotaItem.values
    ]


def _givers(tenant: Tenant, parent: UUID | None) -> dict[str, TenantQuota | OrganizationQuota]:
    """What is right above, by item: the upper organization's quotas, at the top the tenant's."""
    if parent is None:
        return {row.item: row for row in TenantQuota.objects.of(tenant).filter(model="")}
    return {row.item: row for row in OrganizationQuota.objects.of(tenant).filter(organization=parent)}


def _line(
    item: str,
    used: int,
    in_process: int,
    own: OrganizationQuota | None,
    giver: TenantQuota | OrganizationQuota | None,
) -> OrganizationQuotaLine:
    figures = (
        QuotaFigures(item=item, total=own.total, allocated=own.allocated, used=used, in_process=in_process)
        if own
        else None
    )
    left = max(0, giver.total - giver.allocated) if giver else 0
    return OrganizationQuotaLine(item, used, in_process, figures, left + (own.total if own else 0))


def hold_organization(tenant: Tenant, holder_uid: UUID | None) -> UUID | None:
    """The organization against whose quotas something is held; None for nobody's."""
    if holder_uid is None:
        return None
    holds = QuotaHold.objects.of(tenant).filter(holder_uid=holder_uid, organization__isnull=False)
    return holds.values_list("organization", flat=True).first()
