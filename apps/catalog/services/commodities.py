"""Making, changing and listing commodities (PLAT-OPS-9 to -16)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.catalog.models import (
    PLACE,
    Category,
    Commodity,
    CommodityComponent,
    CommodityTenant,
    Component,
    ProcessApp,
)
from apps.catalog.permissions import CatalogPermission as P
from apps.catalog.selectors.ids import uid_of
from apps.catalog.selectors.prices import price_lines, price_version_get
from apps.catalog.services.commodity_checks import (
    count_check,
    delivery_check,
    icon_check,
    open_ended_check,
    priced_check,
    processes_check,
    work_check,
)
from apps.catalog.services.deciders import decidable_check
from apps.catalog.services.prices import price_publish
from apps.catalog.services.rows import row_check
from apps.catalog.states import CommodityKind, ProcessAppState
from apps.catalog.types import ComponentRange, PriceInput
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.service import service
from apps.tenancy.models import Tenant

WHERE = ("environment", "is_own_program", "image", "image_name", "is_open_ended", *PLACE)
_CHANGEABLE = frozenset(
    {
        "name_zh",
        "name_en",
        "intro_zh",
        "intro_en",
        "icon",
        "supplier",
        "category",
        "work",
        *WHERE,
        "process_app",
        "termination_app",
        "min_duration_s",
        "max_duration_s",
        "max_count",
    }
)


@service(P.MANAGE)
def commodity_create(
    *,
    actor: Actor,
    name_zh: str,
    name_en: str,
    category: Category,
    process_app: ProcessApp,
    termination_app: ProcessApp,
    number: str = "",
    kind: str = CommodityKind.WORK,
    work: dict[str, Any] | None = None,
    components: Sequence[ComponentRange] = (),
    intro_zh: str = "",
    intro_en: str = "",
    icon: str = "cpu",
    supplier: str = "",
    is_for_all: bool = True,
    tenants: Sequence[Tenant] = (),
    min_duration_s: int = 60,
    max_duration_s: int = 30 * 86400,
    max_count: int = 64,
    where: Mapping[str, str | bool] | None = None,
) -> Commodity:
    """Make a commodity, delisted and enabled, out of prepared parts (PLAT-OPS-10, -12).

    `where` says, by the names of `WHERE`, of which template it is, how it holds a card, where it is delivered, and
    whether it may be ordered without an end.
    `tenants` may apply for it where it is not for all. Without a `number` it gets the next one. That queue, group,
    card and specification are there is the caller's to see. InvalidInput names what is wrong.
    """
    row = Commodity(
        number=number or _number_new(),
        kind=kind,
        name_zh=name_zh,
        name_en=name_en,
        intro_zh=intro_zh,
        intro_en=intro_en,
        icon=icon,
        supplier=supplier,
        category=category,
        work=work or {},
        process_app=process_app,
        termination_app=termination_app,
        is_for_all=is_for_all,
        min_duration_s=min_duration_s,
        max_duration_s=max_duration_s,
        max_count=max_count,
        **(where or {}),
    )
    work_check(row)
    count_check(row)
    open_ended_check(row)
    processes_check(row)
    icon_check(icon)
    row_check(row)
    row.save()
    _components_put(row, components)
    _tenants_put(row, tenants)
    act_subject("commodity", row.uid, number=row.number)
    return row


def _number_new() -> str:
    """The next of the centre's own numbers."""
    taken = Commodity.objects.filter(number__regex=r"^C-[0-9]{1,9}$").values_list("number", flat=True)
    return f"C-{max((int(number[2:]) for number in taken), default=0) + 1:04}"


def _components_put(row: Commodity, components: Sequence[ComponentRange]) -> None:
    known = {part.code: part for part in Component.objects.all()}
    unknown = sorted({part.component for part in components} - set(known))
    if not components and row.is_manual:
        return
    if row.is_manual:
        reason = _("A person delivers it: nothing of it is metered.")
        raise InvalidInput(reason, fields={"components": reason})
    if unknown or not components:
        reason = _("Choose prepared components. Unknown: %(codes)s.") % {"codes": ", ".join(unknown) or "–"}
        raise InvalidInput(reason, fields={"components": reason})
    for part in components:
        made = CommodityComponent(
            commodity=row,
            component=known[part.component],
            minimum=part.minimum,
            maximum=part.maximum,
            default=part.default,
            step=part.step,
        )
        row_check(made)
        made.save()


def _tenants_put(row: Commodity, tenants: Sequence[Tenant]) -> None:
    CommodityTenant.plain.filter(commodity=row).exclude(tenant__in=tenants).delete()
    grants = [CommodityTenant(commodity=row, tenant=tenant) for tenant in tenants]
    CommodityTenant.plain.bulk_create(grants, ignore_conflicts=True)


@service(P.MANAGE)
def commodity_change(
    *,
    actor: Actor,
    commodity_uid: UUID | str,
    version: int,
    changes: dict[str, Any],
    components: Sequence[ComponentRange] | None = None,
) -> Commodity:
    """Change what `changes` names, and its `components`; `version` is the one that was read: nobody overwrites
    another's change.

    Orders made before, and applications submitted before, keep what they froze (PLAT-OPS-15). Conflict where it is
    listed and would sell something that has no price yet, or leave out something that has one.
    """
    unknown = sorted(set(changes) - _CHANGEABLE)
    if unknown:
        raise InvalidInput(fields={name: _("This cannot be changed here.") for name in unknown})
    row = _locked(commodity_uid)
    if row.version != version:
        raise Conflict(_("Somebody else changed the commodity: it is at version %(n)s.") % {"n": row.version})
    for name, value in changes.items():
        setattr(row, name, value)
    work_check(row)
    count_check(row)
    open_ended_check(row)
    processes_check(row)
    icon_check(row.icon)
    row.version += 1
    row_check(row)
    row.save()
    if components is not None:
        row.components.all().delete()
        _components_put(row, components)
    if row.is_listed:
        delivery_check(row)
        priced_check(row)
    act_subject("commodity", row.uid, changed=sorted(changes))
    return row


@service(P.MANAGE)
def commodity_copy(*, actor: Actor, commodity_uid: UUID | str) -> Commodity:
    """Make a delisted commodity that says what this one says, with its prices in force."""
    row = _locked(commodity_uid)
    parts = [
        ComponentRange(part.component.code, part.minimum, part.maximum, part.default, part.step)
        for part in row.components.select_related("component")
    ]
    kept = (*(_CHANGEABLE - {"name_zh", "name_en", *WHERE}), "kind", "is_for_all")
    made = commodity_create(
        actor=actor,
        **{name: getattr(row, name) for name in kept},
        where={name: getattr(row, name) for name in WHERE},
        name_zh=_("%(name)s (copy)") % {"name": row.name_zh[:110]},
        name_en=_("%(name)s (copy)") % {"name": row.name_en[:110]},
        components=parts,
        tenants=[grant.tenant for grant in row.grants.select_related("tenant")],
    )
    version = price_version_get(commodity=row, at=timezone.now())
    if version is not None:
        lines = [
            PriceInput(code, line.tiers, line.mode, line.unit, line.tier_method)
            for code, line in price_lines(version.pk).items()
            if code in {part.component for part in parts}
        ]
        price_publish(actor=actor, commodity_uid=made.uid, lines=lines)
    act_subject("commodity", made.uid, copied=row.number)
    return made


@service(P.MANAGE)
def commodity_tenants_set(
    *, actor: Actor, commodity_uid: UUID | str, is_for_all: bool, tenants: Sequence[Tenant] = ()
) -> Commodity:
    """List it for all tenants, or for exactly `tenants` (PLAT-OPS-14)."""
    row = _locked(commodity_uid)
    _tenants_put(row, tenants)
    schemas = sorted(tenant.schema_name for tenant in tenants)
    return _flagged(row, is_for_all=is_for_all, tenants=schemas)


@service(P.MANAGE)
def commodity_list_(*, actor: Actor, commodity_uid: UUID | str) -> Commodity:
    """Put it in the catalogue. It must have a price in force and a published process application with somebody for
    each step, and what it sells must be what is delivered."""
    row = _locked(commodity_uid)
    if row.retires_at is not None:
        raise Conflict(
            _("%(number)s is retired.") % {"number": row.number}, cure=_("Copy it, and sell the copy.")
        )
    delivery_check(row)
    priced_check(row)
    if row.process_app.state != ProcessAppState.PUBLISHED:
        raise Conflict(
            _("Its process application is not published."), cure=_("Publish the process application first.")
        )
    for app in filter(None, (row.process_app, row.termination_app)):
        decidable_check(app)
    return _flagged(row, is_listed=True)


@service(P.MANAGE)
def commodity_delist(*, actor: Actor, commodity_uid: UUID | str) -> Commodity:
    """Take it out of the catalogue. Orders that exist go on."""
    return _flagged(_locked(commodity_uid), is_listed=False)


@service(P.MANAGE)
def commodity_retire(*, actor: Actor, commodity_uid: UUID | str, at: datetime) -> Commodity:
    """Sell it no more, and end at an instant what of it was ordered without an end; other orders run for their time.

    Who ordered it is told. It may be put off while it is still to come, and never brought forward. InvalidInput for an
    instant that is past, or earlier than was told.
    """
    row = _locked(commodity_uid)
    if at <= timezone.now():
        reason = _("Choose a time that is still to come.")
        raise InvalidInput(reason, fields={"at": reason})
    if row.retires_at is not None and at < row.retires_at:
        reason = _("People were told that it retires later: it can only be put off.")
        raise InvalidInput(reason, fields={"at": reason})
    if row.retires_at is not None and row.retires_at <= timezone.now():
        raise Conflict(_("%(number)s is retired.") % {"number": row.number})
    row.retires_at = at
    row.save(update_fields=["retires_at"])
    return _flagged(row, is_listed=False)


@service(P.MANAGE)
def commodity_enable(*, actor: Actor, commodity_uid: UUID | str) -> Commodity:
    return _flagged(_locked(commodity_uid), is_enabled=True)


@service(P.MANAGE)
def commodity_disable(*, actor: Actor, commodity_uid: UUID | str) -> Commodity:
    """A disabled service cannot be applied for (PLAT-OPS-13)."""
    return _flagged(_locked(commodity_uid), is_enabled=False)


def _locked(uid: UUID | str) -> Commodity:
    row = Commodity.objects.select_for_update(no_key=True).filter(uid=uid_of(uid)).first()
    if row is None:
        raise NotFound(_("There is no such commodity."))
    return row


def _flagged(row: Commodity, *, tenants: Sequence[str] = (), **flags: bool) -> Commodity:
    for name, value in flags.items():
        setattr(row, name, value)
    row.version += 1
    row.save(update_fields=[*flags, "version", "updated_at"])
    act_subject("commodity", row.uid, number=row.number, tenants=list(tenants), **flags)
    return row
