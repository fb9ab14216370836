"""How the portal writes amounts, times and states, alike on every page."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django import template
from django.template import Context
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from apps.billing.models import RatedItem
from apps.console.labels import (
    AMOUNT_LABELS,
    ENFORCED_BY_LABELS,
    ISOLATION_LABELS,
    NETWORK_LABELS,
    STATE_COLOURS,
    VENDOR_LABELS,
    VOLUMES_HELD_LABELS,
)
from apps.console.selling.forms.services import RESTARTS
from apps.console.tours.selectors import stop_address, stops_for
from apps.fleet.models import Device, Slice
from apps.identity.pages.requests import inside
from apps.identity.rules.role_functions import RECORD_LABELS, function_label, scope_label
from apps.kernel.reach import Records
from apps.kernel.unit_text import ago_text, cores_text, mib_text, span_text
from apps.notices.push import topics_sign
from apps.rollouts.views import kind_label
from apps.scheduling.selectors.workloads import slice_works
from apps.scheduling.text.end_reasons import end_sentence
from apps.telemetry.states import SOURCE_LABELS

register = template.Library()
_GIB = 1024


@register.simple_tag(takes_context=True)
def tour_stop(context: Context) -> dict[str, Any] | None:
    """What the guided tour says on the open page, when the page was opened as one of its stops."""
    request, number = context["request"], context["request"].GET.get("tour", "")
    if not (number.isascii() and number.isdigit() and len(number) < 3):
        return None
    stops = stops_for(context["actor"])
    index = int(number) - 1
    if not (0 <= index < len(stops) and stops[index].view == request.resolver_match.view_name):
        return None
    return {
        "title": str(stops[index].title),
        "text": str(stops[index].text),
        "progress": _("%(number)s of %(count)s") % {"number": index + 1, "count": len(stops)},
        "back": stop_address(stops, index),
        "next": stop_address(stops, index + 2),
        "labels": {
            "back": _("Back"),
            "next": _("Next"),
            "end": _("End the tour"),
            "close": _("Close"),
        },
    }


@register.simple_tag(takes_context=True)
def tour_length(context: Context) -> int:
    """The number of pages of the guided tour of the active role; 0 where there is none."""
    return len(stops_for(context["actor"]))


@register.simple_tag(takes_context=True)
def live_ticket(context: Context, topics: Iterable[str] | None) -> str:
    """The ticket with which the page's socket may watch `topics`; the view has checked the rights."""
    if not topics:
        return ""
    return topics_sign(topics, context["actor"].user_id, since_s=inside(context["request"]).began_at_s)


@register.filter
def named(thing: Any, prefix: str = "name") -> str:
    """The name of a row or a mapping that has `name_zh` and `name_en`, in the reader's language."""
    field = f"{prefix}_zh" if (get_language() or "").startswith("zh") else f"{prefix}_en"
    return str(thing.get(field, "") if isinstance(thing, Mapping) else getattr(thing, field, thing))


@register.filter
def function_name(permission: str) -> str:
    """What a permission lets somebody do, in the reader's language; the permission itself where no role has it."""
    return function_label(permission) or permission


@register.filter
def slice_reason(part: Slice) -> str:
    """Why a slice is as it is, in the reader's language."""
    return end_sentence(
        part.reason_code,
        part.reason,
        seconds=part.run_timeout_s,
        idle_s=part.idle_timeout_s,
        mib=part.memory_mib,
    )


@register.filter
def money(amount: Any) -> str:
    """An amount of CNY, to two places."""
    if amount in (None, ""):
        return "–"
    rounded = Decimal(str(amount)).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
    sign = "−" if rounded < 0 else ""
    return f"{sign}¥{number_format(abs(rounded), decimal_pos=2, force_grouping=True)}"


@register.filter
def money_least(amount: Any) -> str:
    """A small price in CNY: to two places, or to so many that two figures are told."""
    if amount in (None, "") or Decimal(str(amount)) >= 1 or not Decimal(str(amount)):
        return money(amount)
    exact = Decimal(str(amount))
    places = max(2, 1 - exact.adjusted())
    return f"¥{exact.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP):f}"


@register.filter
def exact_money(amount: Any) -> str:
    """An amount of CNY with all its places, at least two."""
    if amount in (None, ""):
        return "–"
    whole, _dot, places = f"{Decimal(str(amount)):f}".partition(".")
    return f"¥{whole}.{places.rstrip('0').ljust(2, '0')}"


@register.filter
def mib(amount: Any) -> str:
    """Memory in whole GiB where it is whole, else in MiB."""
    return "–" if amount in (None, "") else mib_text(int(amount))


@register.filter
def cores(cpu_milli: Any) -> str:
    """Processor in cores, from thousandths of one."""
    figure = int(cpu_milli or 0) / 1000
    text = number_format(figure, 0 if figure.is_integer() else 1)
    return ngettext("%(cores)s core", "%(cores)s cores", int(figure) if figure.is_integer() else 2) % {
        "cores": text
    }


@register.filter
def cores_used(cpu_milli: Any) -> str:
    """How many cores work really uses of its node's, from thousandths of one; a dash where nothing is measured."""
    return "–" if cpu_milli is None else number_format(cpu_milli / 1000, 2)


@register.filter
def mib_round(amount: Any) -> str:
    """Memory to a tenth of a GiB: for sums, where no MiB is asked for."""
    figure = int(amount or 0)
    if figure < _GIB:
        return f"{figure} MiB"
    return f"{figure / _GIB:.1f}".removesuffix(".0") + " GiB"


@register.filter
def span(seconds: Any) -> str:
    """A length of time in its two largest units."""
    return "–" if seconds in (None, "") else span_text(seconds)


@register.filter
def how_long(seconds: int | None) -> str:
    """For how long something is ordered; None: until somebody ends it."""
    return str(_("without an end")) if seconds is None else str(span_text(seconds))


@register.filter
def working_time(minutes: int | None) -> str:
    """Minutes of working time in hours and minutes: a day of work is no day."""
    if not minutes:
        return "–"
    hours, rest = divmod(minutes, 60)
    words = [_("%(count)s h") % {"count": hours}] if hours else []
    return " ".join([*words, _("%(count)s min") % {"count": rest}] if rest else words)


@register.filter
def moment(value: datetime | str | None) -> str:
    """An instant to the second, in the reader's zone."""
    if not value:
        return "–"
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return localtime(value).strftime("%Y-%m-%d %H:%M:%S")


@register.filter
def ago(value: datetime | str | None) -> SafeString | str:
    """How long ago an instant was, or in how long it comes, for lists: the instant itself, to the second and in the
    reader's zone, shows on hover. The page counts on by itself (`static/src/js/ago.js`)."""
    if not value:
        return "–"
    at = datetime.fromisoformat(value) if isinstance(value, str) else value
    return format_html(
        '<time datetime="{}" title="{}" data-ago="{}">{}</time>',
        at.isoformat(),
        moment(at),
        _("just now"),
        ago_text(at, timezone.now()),
    )


@register.filter
def clock(value: datetime | None) -> str:
    """The time of day of an instant, in the reader's zone: beside one that shows the day."""
    return localtime(value).strftime("%H:%M:%S") if value else "–"


@register.filter
def amount_label(code: str) -> str:
    return str(AMOUNT_LABELS.get(code, code))


@register.filter
def enforced_by_label(code: str) -> str:
    """How a slice's limit is held, from its agent's code; a code of a newer agent as it came."""
    return str(ENFORCED_BY_LABELS.get(code, code or "–"))


@register.filter
def restart_text(policy: str) -> str:
    """When a service is started again."""
    return str(dict(RESTARTS).get(policy, policy))


@register.filter
def isolation_label(code: str) -> str:
    """How a node keeps work apart, from its agent's code; a code of a newer agent as it came."""
    return str(ISOLATION_LABELS.get(code, code or "–"))


@register.filter
def network_label(code: str) -> str:
    """Which network work has on a node, from its agent's code; a code of a newer agent as it came."""
    return str(NETWORK_LABELS.get(code, code or "–"))


@register.filter
def volumes_held_labels(said: str) -> list[str]:
    """How work on a node is held to the sizes of volumes, each way once; a word of a newer agent as it came."""
    return [str(VOLUMES_HELD_LABELS.get(word, word)) for word in dict.fromkeys(said.split())]


@register.filter
def component_label(code: str) -> str:
    """What a component of the pool is called."""
    return str(kind_label(code))


@register.filter
def vendor_label(code: str) -> str:
    """What the maker of a card is called, by the name of its driver."""
    return VENDOR_LABELS.get(code, code)


@register.filter
def version_label(version: str) -> str:
    """A version of a program; one that runs from its source tree has no number."""
    return _("from source") if version == "source" else version


@register.filter
def source_label(code: str) -> str:
    return str(SOURCE_LABELS.get(code, code))


@register.filter
def amount_text(amount: Any, code: str) -> str:
    """An amount of a component with its unit: 25 %, 4 GiB, 2 cores."""
    if code in ("gpu_memory", "memory", "gpu_memory_mib", "memory_mib", "host_memory_mib", "storage_mib"):
        return mib(amount)
    if code == "host_cpu_milli":
        return cores_text(amount)
    if code in ("compute_share", "compute_percent"):
        return f"{amount} %"
    if code in ("storage", "scratch_disk"):
        return mib(amount * 1024)
    if code in ("cpu", "cores"):
        return ngettext("%(count)s core", "%(count)s cores", int(amount)) % {"count": amount}
    return str(amount)


@register.filter
def delivered_text(amount: Any, code: str) -> str:
    """So much of a component, measured or counted; a dash where nothing is known."""
    if amount is None:
        return "–"
    if code == "cpu":
        return cores_text(round(amount, 2) * 1000)
    if code == "scratch_disk":
        return mib(round(amount * 1024))
    return amount_text(round(amount, 1) if code == "compute_share" else round(amount), code)


@register.filter
def amounts_text(amounts: Mapping[str, Any] | None) -> str:
    """All amounts of one share in one line, in the order of the labels."""
    given = amounts or {}
    codes = [code for code in AMOUNT_LABELS if code in given] + [
        code for code in given if code not in AMOUNT_LABELS
    ]
    return " · ".join(f"{amount_label(code)} {amount_text(given[code], code)}" for code in codes)


@register.filter
def unit(code: str, count: Any = 1) -> str:
    """The unit of a component in the reader's language, as after the number `count`."""
    return ngettext("core", "cores", int(Decimal(str(count)))) if code == "core" else code


@register.filter
def data_permission_texts(role: Any) -> list[tuple[str, str]]:
    """For each kind of records how far a tenant's role reaches; nothing for an operators' role."""
    data = getattr(role, "data_permission", None)
    if data is None:
        return []
    return [(str(RECORD_LABELS[kind]), scope_label(kind, data.of(kind))) for kind in Records]


@register.filter
def percent_of(part: Any, whole: Any) -> int:
    """How much of `whole` a part is, from 0 to 100."""
    total = Decimal(str(whole or 0))
    return max(0, min(100, int(Decimal(str(part or 0)) * 100 / total))) if total else 0


@register.simple_tag
def slices_named(found: Slice | Iterable[Slice]) -> str:
    """Put on each slice its `work` and, of work with several, its `share_no`: what it is called by. A slice has no name
    of its own."""
    rows = [found] if isinstance(found, Slice) else list(found or ())
    works = slice_works(rows)
    for row in rows:
        row.work, row.share_no = works.get(row.uid, (None, 0))  # type: ignore[attr-defined]
    return ""


@register.simple_tag
def beside_devices(items: Iterable[RatedItem]) -> list[tuple[RatedItem, Device | None]]:
    """Each rated item beside the device it was measured on; None where the fleet knows it no more."""
    rows = list(items)
    wanted = {row.usage.device_uid for row in rows}
    devices = Device.objects.filter(uid__in=wanted).select_related("node")
    found = {device.uid: device for device in devices}
    return [(row, found.get(row.usage.device_uid)) for row in rows]


@register.simple_tag
def chart(option: Mapping[str, Any], label: str) -> SafeString:
    """The place where ECharts draws `option`; `label` says in words what is drawn."""
    return format_html(
        '<div data-chart data-option="{}" role="img" aria-label="{}"></div>', json.dumps(option), label
    )


@register.simple_tag
def badge(state: str, label: Any = "") -> SafeString:
    """A state as a coloured word; the colour only repeats what the word says."""
    colour = STATE_COLOURS.get(str(state), "secondary")
    return format_html(
        '<span class="badge bg-{}-lt" data-test="state" data-state="{}">{}</span>',
        colour,
        state,
        label or state,
    )
