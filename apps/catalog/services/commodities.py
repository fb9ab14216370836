"""Making, changing and listing commodities (PLAT-OPS-9 to -16)."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.catalog.models import (
    Category,
    Commodity,
    CommodityComponent,
    CommodityTenant,
    Component,
    FormTemplate,
    ProcessApp,
)
from apps.catalog.permissions import CatalogPermission as P
from apps.catalog.selectors import price_lines, price_version_get, uid_of
from apps.catalog.services.deciders import decidable_check
from apps.catalog.services.prices import price_publish
from apps.catalog.services.rows import row_check
from apps.catalog.states import CardUse, CommodityKind, ProcessAppState
from apps.catalog.types import ICONS, ComponentRange, PriceInput
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.service import service
from apps.tenancy.models import Tenant

_ARGUMENTS_MAX = 256
_WHOLE_PERCENT = 100
WHERE = ("environment", "card_use", "vendor", "model", "resource_group", "queue", "spec")
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


# What the pool delivers, by the codes that delivery knows: names, the unit of its price, the unit of amounts.
DELIVERED = (
    ("compute_share", "算力份额", "Compute share", "%", "%", 1),
    ("gpu_memory", "显存", "Accelerator memory", "GiB", "MiB", 1024),
    ("cpu", "CPU", "CPU", "core", "core", 1),
    ("memory", "内存", "Memory", "GiB", "MiB", 1024),
)


@service(P.MANAGE)
def components_ensure(*, actor: Actor) -> list[Component]:
    """The components that the pool delivers, those that are not there yet made: a centre need not know their codes."""
    known = set(Component.objects.values_list("code", flat=True))
    for code, name_zh, name_en, unit, amount_unit, per_unit in DELIVERED:
        if code not in known:
            component_create(
                actor=actor,
                code=code,
                name_zh=name_zh,
                name_en=name_en,
                unit=unit,
                amount_unit=amount_unit,
                per_unit=per_unit,
            )
    return list(Component.objects.filter(code__in=[row[0] for row in DELIVERED]))


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
    where: Mapping[str, str] | None = None,
) -> Commodity:
    """Make a commodity, delisted and enabled, out of prepared parts (PLAT-OPS-10, -12).

    `where` says, by the names of `WHERE`, of which template it is, how it holds a card and where it is delivered.
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
    _work_check(row)
    _processes_check(row)
    _icon_check(icon)
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


def _work_check(row: Commodity) -> None:
    """InvalidInput where what it runs is no program, or is one where nothing of the centre's runs."""
    work = row.work
    if row.kind in (CommodityKind.SESSION, CommodityKind.MANUAL):
        if work:
            reason = _("It runs no program of the centre's.")
            raise InvalidInput(reason, fields={"work": reason})
        return
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


def _processes_check(row: Commodity) -> None:
    """InvalidInput for a process application whose form is for something else: an end is no application."""
    wanted = {"process_app": FormTemplate.Kind.NEW, "termination_app": FormTemplate.Kind.TERMINATION}
    wrong: dict[str, object] = {
        name: _("%(name)s is for forms of another kind: choose one for %(kind)s.")
        % {"name": getattr(row, name), "kind": kind.label}
        for name, kind in wanted.items()
        if getattr(row, name).form_template.kind != kind
    }
    if wrong:
        raise InvalidInput(fields=wrong)


def _icon_check(icon: str) -> None:
    if icon not in ICONS:
        reason = _("There is no icon %(icon)s for commodities. Choose one of: %(icons)s.")
        told = reason % {"icon": icon, "icons": ", ".join(ICONS)}
        raise InvalidInput(told, fields={"icon": told})


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
    _work_check(row)
    _processes_check(row)
    _icon_check(row.icon)
    row.version += 1
    row_check(row)
    row.save()
    if components is not None:
        row.components.all().delete()
        _components_put(row, components)
    if row.is_listed:
        _delivery_check(row)
        _priced_check(row)
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
    _delivery_check(row)
    _priced_check(row)
    if row.process_app.state != ProcessAppState.PUBLISHED:
        raise Conflict(
            _("Its process application is not published."), cure=_("Publish the process application first.")
        )
    for app in filter(None, (row.process_app, row.termination_app)):
        decidable_check(app)
    return _flagged(row, is_listed=True)


# What is delivered of a component, and the unit its amounts must have for that; "" where any name of it will do.
_DELIVERED = {"compute_share": "", "gpu_memory": "MiB", "cpu": "", "memory": "MiB"}


def _priced_check(row: Commodity) -> None:
    """Conflict where something that it sells has no price in force. What a person delivers is not metered."""
    if row.is_manual:
        return
    version = price_version_get(commodity=row, at=timezone.now())
    if version is None:
        raise Conflict(_("It has no price in force."), cure=_("Publish a price first."))
    parts = {part.component.code: part.component for part in row.components.select_related("component")}
    changed = set(price_lines(version.pk)) ^ set(parts)
    if changed:
        raise Conflict(
            _("Its price in force is for other components than it sells now."),
            cure=_("Take it out of the catalogue, publish a price for what it sells, and put it back."),
        )


def _delivery_check(row: Commodity) -> None:
    """Conflict for components that would be billed and never delivered."""
    if row.is_manual:
        return
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
    if row.kind == CommodityKind.SESSION and "compute_share" not in parts:
        raise Conflict(
            _("A remote accelerator is a share of one."),
            cure=_("Sell compute share and accelerator memory together."),
        )
    least = row.components.filter(component__code="compute_share").first()
    if row.card_use == CardUse.WHOLE and (least is None or least.minimum < _WHOLE_PERCENT):
        raise Conflict(
            _("Part of a card could be ordered, and it is to be a whole one."),
            cure=_("Sell all of its compute, and all of its memory."),
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
