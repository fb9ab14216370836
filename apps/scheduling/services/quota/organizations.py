"""Quotas of a tenant's organizations, which add up in its tree (PLAT-TEN-18).

What an organization has is given out of what is above it, in one transaction that holds the tenant's quotas locked:
the sum of what is given on is never more than the giver has, whoever changes what at the same time.

Internal to the services of the app that keeps organizations.
"""

from collections.abc import Mapping
from uuid import UUID

from django.utils.translation import gettext as _

from apps.kernel.errors import Conflict, InvalidInput
from apps.scheduling.models import OrganizationQuota, QuotaHold, QuotaOrganization, TenantQuota, Workload
from apps.scheduling.states import QuotaItem
from apps.scheduling.text.quota_items import item_amount, item_name
from apps.tenancy.models import Tenant

MOST = 10**12
Giver = TenantQuota | OrganizationQuota


def organization_put(*, tenant: Tenant, uid: UUID, name: str, parent: UUID | None) -> None:
    """Make an organization known, or say its new name and place.

    Raises Conflict where what is above the new place has less left to give than the organization has.
    """
    row = QuotaOrganization.plain.filter(tenant=tenant, uid=uid).first()
    if row is None:
        QuotaOrganization.plain.create(tenant=tenant, uid=uid, name=name, parent_id=parent)
        return
    if row.parent_id != parent:
        _quotas_lock(tenant)
        held = list(OrganizationQuota.plain.filter(organization=row).order_by("item"))
        for quota in held:
            _give(row, quota.item, quota.total, 0)
        row.parent_id = parent
        for quota in held:
            _give(row, quota.item, 0, quota.total)
    row.name = name
    row.save(update_fields=["name", "parent"])


def organization_drop(*, tenant: Tenant, uid: UUID) -> None:
    """An organization goes that has none below: its quota returns to what is above, and so does what it holds."""
    row = QuotaOrganization.plain.filter(tenant=tenant, uid=uid).first()
    if row is None:
        return
    works = Workload.plain.filter(organization=row)
    list(works.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    _quotas_lock(tenant)
    works.update(organization=row.parent_id)
    QuotaHold.plain.filter(organization=row).update(organization=row.parent_id)
    for quota in OrganizationQuota.plain.filter(organization=row).order_by("item"):
        _give(row, quota.item, quota.total, 0)
        quota.delete()
    row.delete()


def organization_quotas_put(*, tenant: Tenant, uid: UUID, totals: Mapping[str, int | None]) -> None:
    """Set what an organization may hold of each item that is named, all or none; None: no quota of its own, then only
    what is above bounds it. What it holds beyond a new total stays; new asks are refused.

    Raises:
        InvalidInput: no such item, or not a number that a quota can be.
        Conflict: more than what is above has left to give, or less than the organization has given on.
    """
    for item, total in totals.items():
        if item not in QuotaItem.values or not (total is None or 0 <= total <= MOST):
            raise InvalidInput(
                _("A quota is one of %(items)s and a whole number from 0.")
                % {"items": ", ".join(QuotaItem.values)},
                fields={item: total},
            )
    row = QuotaOrganization.plain.select_related("parent", "tenant").get(tenant=tenant, uid=uid)
    _quotas_lock(tenant)
    for item, total in sorted(totals.items()):
        _total_put(row, item, total)


def _quotas_lock(tenant: Tenant) -> None:
    """Nobody else gives, takes or holds of the tenant's quotas until the transaction ends: as in `quota_rooms`."""
    list(
        TenantQuota.plain.select_for_update()
        .filter(tenant=tenant)
        .order_by("item", "model")
        .values_list("pk")
    )


def _total_put(row: QuotaOrganization, item: str, total: int | None) -> None:
    quota = OrganizationQuota.plain.filter(organization=row, item=item).first()
    if quota is None and total is None:
        return
    before = quota.total if quota else 0
    given_on = quota.allocated if quota else 0
    if given_on > (total or 0):
        raise Conflict(
            _("%(name)s has given %(amount)s of %(item)s to organizations below it.")
            % {"name": row.name, "amount": item_amount(item, given_on), "item": item_name(item)},
            cure=_("Take some back from them first."),
            fields={item: item_amount(item, given_on)},
        )
    if quota is None:
        quota = OrganizationQuota(tenant=row.tenant, organization=row, item=item)
    _give(row, item, before, total or 0)
    if total is None:
        quota.delete()
    else:
        quota.total = total
        quota.save()


def _give(row: QuotaOrganization, item: str, before: int, after: int) -> None:
    """What is above gives the organization `after` instead of `before`; Conflict where it has too little left."""
    giver = _giver(row, item)
    if giver is None:
        if not after and not before:
            return
        raise Conflict(
            _("%(name)s has no quota of %(item)s to give on.")
            % {"name": _giver_name(row), "item": item_name(item)},
            cure=_("Set a quota there first."),
            fields={item: 0},
        )
    left = giver.total - giver.allocated + before
    if after > max(left, before):
        raise Conflict(
            _("%(name)s can give %(left)s of %(item)s at most, not %(asked)s.")
            % {
                "name": _giver_name(row),
                "left": item_amount(item, max(0, left)),
                "item": item_name(item),
                "asked": item_amount(item, after),
            },
            cure=_("Ask for less, or take some back from the others."),
            fields={item: item_amount(item, max(0, left))},
        )
    giver.allocated += after - before
    giver.save(update_fields=["allocated", "updated_at"])


def _giver(row: QuotaOrganization, item: str) -> Giver | None:
    if row.parent_id is None:
        return TenantQuota.plain.filter(tenant=row.tenant_id, item=item, model="").first()
    return OrganizationQuota.plain.filter(organization=row.parent_id, item=item).first()


def _giver_name(row: QuotaOrganization) -> str:
    return str(row.parent or row.tenant)
