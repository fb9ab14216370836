"""What all reports stand on: the period, and the one form: `totals`, and `sections` of named rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Aggregate, DurationField, ExpressionWrapper, F, FloatField, Q
from django.db.models.functions import Extract
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.fleet.models import Device
from apps.kernel.errors import InvalidInput

Row = dict[str, Any]
DEFAULT_SPAN = timedelta(days=7)
SPAN_MAX = timedelta(days=400)
HOUR_S = 3600.0
_OF_A_DEVICE = (
    "uid", "vendor", "model", "index", "memory_mib", "created_at", "left_at",
    "node__name", "node__state", "node__updated_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Period:
    """[from_at, to_at); nothing after now has happened."""

    from_at: datetime
    to_at: datetime

    @property
    def end_at(self) -> datetime:
        return min(self.to_at, timezone.now())


def period(from_at: datetime | None = None, to_at: datetime | None = None) -> Period:
    """The period asked for: the last seven days where nothing is said. InvalidInput for none, or a too long one."""
    until = to_at or timezone.now()
    since = from_at or until - DEFAULT_SPAN
    if since >= until or until - since > SPAN_MAX:
        raise InvalidInput(
            fields={"from": _("Earlier than the end, by at most %(most)s days.") % {"most": SPAN_MAX.days}}
        )
    return Period(since, until)


class Percentile(Aggregate):
    """The value below which `fraction` of the rows lie, between two rows by proportion."""

    function = "percentile_cont"
    template = "%(function)s(%(fraction)s) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()

    def __init__(self, expression: Any, fraction: float, **more: Any) -> None:
        super().__init__(expression, fraction=fraction, **more)


def seconds(begin: str, end: str) -> Any:
    """The seconds between two instants of a row."""
    span = ExpressionWrapper(F(end) - F(begin), output_field=DurationField())
    return Extract(span, "epoch")


def within(field: str, inside: Mapping[str, datetime]) -> Q:
    return Q(**{f"{field}__{name}": at for name, at in inside.items()})


def rounded(row: Mapping[str, Any]) -> Row:
    return {
        name: value if value is None or isinstance(value, (int, str)) else round(float(value), 3)
        for name, value in row.items()
    }


def report_form(name: str, over: Period, totals: Row, sections: Mapping[str, list[Row]]) -> Row:
    return {
        "report": name,
        "from": over.from_at.isoformat(),
        "to": over.to_at.isoformat(),
        "totals": totals,
        "sections": dict(sections),
    }


class DeviceRow(NamedTuple):
    """What reports say of a device and of its node."""

    uid: str
    vendor: str
    model: str
    place: int
    memory_mib: int
    created_at: datetime
    left_at: datetime | None
    node_name: str
    node_state: str
    node_updated_at: datetime

    @property
    def label(self) -> str:
        return _label(self.node_name, self.place, self.model)


def devices_read() -> list[DeviceRow]:
    """Every device there was: thousands, so no whole rows."""
    return [DeviceRow(*row) for row in Device.objects.values_list(*_OF_A_DEVICE)]


def device_label(device: Device) -> str:
    """What people call a device: its node, its place there, its model."""
    return _label(device.node.name, device.index, device.model)


def _label(node: str, place: int, model: str) -> str:
    return f"{node}/{place} {model}"
