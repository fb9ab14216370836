"""Making, changing and listing commodities (PLAT-OPS-9 to -16)."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.catalog.models import (
    Category,
    Commodity,
    CommodityComponent,
    CommodityTenant,
    Component,
    ProcessApp,
)
from apps.catalog.permissions import CatalogPermission as P
from apps.catalog.selectors import price_version_get, uid_of
from apps.catalog.services.deciders import decidable_check
from apps.catalog.states import ProcessAppState
from apps.catalog.types import ICONS, ComponentRange
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.service import service
from apps.tenancy.models import Tenant

_ARGUMENTS_MAX = 256
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
        "process_app",
        "termination_app",
        "min_duration_s",
        "max_duration_s",
        "max_count",
    }
)


def row_check(row: models.Model, *, is_unique: bool = True) -> None:
    """Field rules of a new or changed row as one InvalidInput naming each field; `is_unique`: twins too."""
    try:
        row.full_clean(validate_unique=is_unique, validate_constraints=is_unique)
    except ValidationError as error:
        fields = {name: " ".join(texts) for name, texts in error.message_dict.items()}
        raise InvalidInput(fields=fields) from None


@service(P.MANAGE)
def category_create(
    *, actor: Actor, code: str, name_zh: str, name_en: str, parent: Category | None = None
) -> Category:
    """Make a class of services: of the first level, or of the second under `parent` (PLAT-OPS-12)."""
    if parent is not None and parent.parent_id is not None:
        reason = _("Categories have two levels: choose a parent of the first level.")
        raise InvalidInput(reason, fields={"parent": reason})
    row = Category(code=code, name_zh=name_zh, name_en=name_en, parent=parent)
    row_check(row)
    row.save()
    act_subject("category", code)
    return row


@service(P.MANAGE)
def component_create(
    *,
    actor: Actor,
    code: str,
    name_zh: str,
    name_en: str,
    unit: str,
    amount_unit: str = "",
    per_unit: int = 1,
) -> Component:
    """Make a priced part: `per_unit` of `amount_unit` are one `unit` (1024 MiB are one GiB)."""
    row = Component(
        code=code,
        name_zh=name_zh,
        name_en=name_en,
        unit=unit,
        amount_unit=amount_unit or unit,
        per_unit=per_unit,
    )
    row_check(row)
    row.save()
    act_subject("component", code)
    return row


@service(P.MANAGE)
def commodity_create(
    *,
    actor: Actor,
    number: str,
    name_zh: str,
    name_en: str,
    category: Category,
    work: dict[str, Any],
    process_app: ProcessApp,
    termination_app: ProcessApp,
    components: Sequence[ComponentRange],
    intro_zh: str = "",
    intro_en: str = "",
    icon: str = "cpu",
    supplier: str = "",
    is_for_all: bool = True,
    tenants: Sequence[Tenant] = (),
    min_duration_s: int = 60,
    max_duration_s: int = 30 * 86400,
    max_count: int = 64,
) -> Commodity:
    """Make a commodity, delisted and enabled, out of prepared parts (PLAT-OPS-10, -12).

    `tenants` may apply for it where it is not for all. InvalidInput names what is wrong.
    """
    row = Commodity(
        number=number,
        name_zh=name_zh,
        name_en=name_en,
        intro_zh=intro_zh,
        intro_en=intro_en,
        icon=icon,
        supplier=supplier,
        category=category,
        work=work,
        process_app=process_app,
        termination_app=termination_app,
        is_for_all=is_for_all,
        min_duration_s=min_duration_s,
        max_duration_s=max_duration_s,
        max_count=max_count,
    )
    _work_check(work)
    _icon_check(icon)
    row_check(row)
    row.save()
    _components_put(row, components)
    _tenants_put(row, tenants)
    act_subject("commodity", row.uid, number=number)
    return row


def _work_check(work: dict[str, Any]) -> None:
    argv, env = work.get("argv"), work.get("env", {})
    is_argv = isinstance(argv, list) and 0 < len(argv) <= _ARGUMENTS_MAX and bool(argv[0])
    is_env = isinstance(env, dict) and all(isinstance(text, str) for pair in env.items() for text in pair)
    if (
        not is_argv
        or not all(isinstance(text, str) for text in argv)
        or not is_env
        or set(work) - {"argv", "env", "web"}
        or not isinstance(work.get("web", False), bool)
    ):
        reason = _(
            "The work is a program with its arguments (argv) and its environment (env), all text, and whether it "
            "serves web pages (web)."
        )
        raise InvalidInput(reason, fields={"work": reason})


def _icon_check(icon: str) -> None:
    if icon not in ICONS:
        reason = _("There is no icon %(icon)s for commodities. Choose one of: %(icons)s.")
        told = reason % {"icon": icon, "icons": ", ".join(ICONS)}
        raise InvalidInput(told, fields={"icon": told})


def _components_put(row: Commodity, components: Sequence[ComponentRange]) -> None:
    known = {part.code: part for part in Component.objects.all()}
    unknown = sorted({part.component for part in components} - set(known))
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
    *, actor: Actor, commodity_uid: UUID | str, version: int, changes: dict[str, Any]
) -> Commodity:
    """Change what `changes` names; `version` is the one that was read: nobody overwrites another's change.

    Orders made before keep the version and the quote they froze (PLAT-OPS-15).
    """
    unknown = sorted(set(changes) - _CHANGEABLE)
    if unknown:
        raise InvalidInput(fields={name: _("This cannot be changed here.") for name in unknown})
    row = _locked(commodity_uid)
    if row.version != version:
        raise Conflict(_("Somebody else changed the commodity: it is at version %(n)s.") % {"n": row.version})
    for name, value in changes.items():
        setattr(row, name, value)
    _work_check(row.work)
    _icon_check(row.icon)
    row.version += 1
    row_check(row)
    row.save()
    act_subject("commodity", row.uid, changed=sorted(changes))
    return row


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
    _delivery_check(row)
    if price_version_get(commodity=row, at=timezone.now()) is None:
        raise Conflict(_("It has no price in force."), cure=_("Publish a price first."))
    if row.process_app.state != ProcessAppState.PUBLISHED:
        raise Conflict(
            _("Its process application is not published."), cure=_("Publish the process application first.")
        )
    for app in filter(None, (row.process_app, row.termination_app)):
        decidable_check(app)
    return _flagged(row, is_listed=True)


# What is delivered of a component, and the unit its amounts must have for that; "" where any name of it will do.
_DELIVERED = {"compute_share": "", "gpu_memory": "MiB", "cpu": "", "memory": "MiB"}


def _delivery_check(row: Commodity) -> None:
    """Conflict for components that would be billed and never delivered."""
    parts = {part.component.code: part.component for part in row.components.select_related("component")}
    idle = sorted(set(parts) - set(_DELIVERED))
    if idle:
        raise Conflict(
            _("Nothing delivers these components, and they would be billed: %(codes)s.")
            % {"codes": ", ".join(idle)},
            cure=_("Sell compute share, accelerator memory, CPU and memory."),
        )
    for code, unit in _DELIVERED.items():
        if code in parts and unit and parts[code].amount_unit != unit:
            raise Conflict(
                _("Amounts of %(name)s are delivered in %(unit)s, its component counts them in %(other)s.")
                % {"name": parts[code], "unit": unit, "other": parts[code].amount_unit},
                cure=_("Make a component that counts in %(unit)s.") % {"unit": unit},
            )
    if ("compute_share" in parts) != ("gpu_memory" in parts) or not parts.keys() & {"compute_share", "cpu"}:
        raise Conflict(
            _("It sells neither a share of an accelerator, with its memory, nor CPU."),
            cure=_("Sell compute share and accelerator memory together, or CPU."),
        )


@service(P.MANAGE)
def commodity_delist(*, actor: Actor, commodity_uid: UUID | str) -> Commodity:
    """Take it out of the catalogue. Orders that exist go on."""
    return _flagged(_locked(commodity_uid), is_listed=False)


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
