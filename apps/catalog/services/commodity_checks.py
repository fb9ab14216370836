"""What a commodity may say, and what it must have before it is listed."""

from collections.abc import Mapping

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.catalog.models import Commodity, Component, FormTemplate
from apps.catalog.selectors.prices import price_lines, price_version_get
from apps.catalog.states import CardUse, CommodityKind
from apps.catalog.types import ICONS
from apps.kernel.errors import Conflict, InvalidInput

_ARGUMENTS_MAX = 256
_WHOLE_PERCENT = 100


def work_check(row: Commodity) -> None:
    """InvalidInput where what it runs is no program, or is one where nothing of the centre's runs."""
    work = row.work
    if row.is_own_program:
        if row.kind != CommodityKind.WORK or work:
            reason = _("Where the buyer's own program runs, none of the centre's does, and it is work.")
            raise InvalidInput(reason, fields={"work": reason})
        return
    if row.kind in (CommodityKind.SESSION, CommodityKind.VOLUME, CommodityKind.MANUAL):
        if work:
            reason = _("It runs no program of the centre's.")
            raise InvalidInput(reason, fields={"work": reason})
        return
    argv, env = work.get("argv"), work.get("env", {})
    # An image may say itself what it runs.
    is_named = isinstance(argv, list) and (bool(argv and argv[0]) or (argv == [] and bool(row.image)))
    is_argv = isinstance(argv, list) and is_named and len(argv) <= _ARGUMENTS_MAX
    is_env = isinstance(env, dict) and all(isinstance(text, str) for pair in env.items() for text in pair)
    if (
        not is_argv
        or not all(isinstance(text, str) for text in argv)
        or not is_env
        or set(work) - {"argv", "env", "web", "service"}
        or not isinstance(work.get("web", False), bool)
    ):
        reason = _(
            "The work is a program with its arguments (argv) and its environment (env), all text, and whether it "
            "serves web pages (web)."
        )
        raise InvalidInput(reason, fields={"work": reason})
    if (row.kind == CommodityKind.SERVICE) != isinstance(work.get("service"), dict):
        reason = _("A service says how it is reached and kept alive, and nothing else does.")
        raise InvalidInput(reason, fields={"service": reason})


def count_check(row: Commodity) -> None:
    """InvalidInput where several volumes would be one order: each has a size, files and an end of its own; or several
    services, which have an address each."""
    if row.kind == CommodityKind.SERVICE and row.max_count != 1:
        reason = _("An order of a service is one service, with one address.")
        raise InvalidInput(reason, fields={"max_count": reason})
    if row.kind == CommodityKind.VOLUME and row.max_count != 1:
        reason = _("An order of storage is one volume: its size says how much.")
        raise InvalidInput(reason, fields={"max_count": reason})


def open_ended_check(row: Commodity) -> None:
    """InvalidInput where something would run without an end that does not run."""
    if row.is_open_ended and not row.is_scheduled:
        reason = _("Only what runs in the pool can be ordered without an end.")
        raise InvalidInput(reason, fields={"is_open_ended": reason})


def processes_check(row: Commodity) -> None:
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


def icon_check(icon: str) -> None:
    if icon not in ICONS:
        reason = _("There is no icon %(icon)s for commodities. Choose one of: %(icons)s.")
        told = reason % {"icon": icon, "icons": ", ".join(ICONS)}
        raise InvalidInput(told, fields={"icon": told})


# What is delivered of a component, and the unit its amounts must have for that; "" where any name of it will do.
_DELIVERED = {"compute_share": "", "gpu_memory": "MiB", "cpu": "", "memory": "MiB", "scratch_disk": "GiB"}
_STORAGE = {"storage": "GiB"}


def priced_check(row: Commodity) -> None:
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


def delivery_check(row: Commodity) -> None:
    """Conflict for components that would be billed and never delivered."""
    if row.is_manual:
        return
    parts = {part.component.code: part.component for part in row.components.select_related("component")}
    if row.kind == CommodityKind.VOLUME:
        _units_check(parts, _STORAGE, cure=_("Sell storage, and nothing else."))
        return
    _units_check(
        parts, _DELIVERED, cure=_("Sell compute share, accelerator memory, CPU, memory and scratch disk.")
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


def _units_check(parts: Mapping[str, Component], delivered: Mapping[str, str], *, cure: str) -> None:
    """Conflict for what is none of the delivered components, or is counted in another unit than it is delivered in."""
    idle = sorted(set(parts) - set(delivered))
    if idle:
        raise Conflict(
            _("Nothing delivers these components, and they would be billed: %(codes)s.")
            % {"codes": ", ".join(idle)},
            cure=cure,
        )
    for code, unit in delivered.items():
        if code in parts and unit and parts[code].amount_unit != unit:
            raise Conflict(
                _("Amounts of %(name)s are delivered in %(unit)s, its component counts them in %(other)s.")
                % {"name": parts[code], "unit": unit, "other": parts[code].amount_unit},
                cure=_("Make a component that counts in %(unit)s.") % {"unit": unit},
            )
