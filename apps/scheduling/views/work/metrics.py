"""What work has written of itself, drawn: of one on its page, of several together."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from apps.fleet.models import MetricSeries
from apps.fleet.selectors import metric_series_list
from apps.identity.pages.access import cleaned, page, show
from apps.identity.pages.requests import TenantRequest
from apps.kernel.errors import InvalidInput
from apps.kernel.translatable import localized
from apps.scheduling.forms.submit import MetricsForm
from apps.scheduling.models import Workload
from apps.scheduling.selectors.workloads import workload_get
from apps.scheduling.views.work.charts import metric_option

COMPARED_MOST = 8
CHARTS_MOST = 24


@dataclass(frozen=True, slots=True)
class Line:
    """A metric of one share of one work, and where it stands."""

    label: str
    step: int
    value: float

    @property
    def value_text(self) -> str:
        """Its last value, in as many digits as tell it from the one before."""
        return f"{self.value:.6g}"


@dataclass(frozen=True, slots=True)
class Chart:
    """A metric by name, drawn, and in figures."""

    name: str
    option: dict[str, Any]
    lines: list[Line]


@page("resources.view")
def metrics(request: TenantRequest, uid: UUID) -> HttpResponse:
    """What one work has written of itself, for its page."""
    row = workload_get(request.entered_tenant, uid, actor=request.actor)
    return render(request, "scheduling/_metrics.html", {"resource": row, **_drawn([row], "")})


@page("resources.view")
def compare(request: TenantRequest) -> HttpResponse:
    """The metrics of several works, each metric in one chart."""
    rows = [
        workload_get(request.entered_tenant, uid, actor=request.actor)
        for uid in _asked(request.GET.getlist("work"))
    ]
    name = cleaned(MetricsForm(request.GET))["name"]
    context = {
        "works": rows,
        "name": name,
        "query": request.GET.urlencode(),
        "live": [f"metrics.{row.uid}" for row in rows],
        **_drawn(rows, name),
    }
    return show(request, "scheduling/compare", context)


def _asked(words: Sequence[str]) -> list[UUID]:
    """The works that are named, each once."""
    try:
        uids = list(dict.fromkeys(map(UUID, words)))
    except ValueError:
        raise InvalidInput(_("This is no work."), cure=_("Choose work in the list of resources.")) from None
    if len(uids) > COMPARED_MOST:
        raise InvalidInput(
            _("More than %(most)s cannot be told apart in one chart.") % {"most": COMPARED_MOST},
            cure=_("Choose fewer."),
        )
    return uids


def _drawn(rows: Sequence[Workload], name: str) -> dict[str, Any]:
    """The charts by metric, the first of them where there are many, and how many there are."""
    labels = {row.uid: f"{row.no} · {localized(row.name_zh, row.name_en)}" for row in rows}
    found = metric_series_list(workload_uids=labels, name=name).order_by("name")
    names = list(found.values_list("name", flat=True).distinct())
    shown = found.filter(name__in=names[:CHARTS_MOST]).order_by("name", "workload_uid", "share")
    charts = [_chart(metric, list(series), labels) for metric, series in groupby(shown, lambda one: one.name)]
    return {"charts": charts, "count": len(names), "more": len(names) - len(charts)}


def _chart(name: str, series: Sequence[MetricSeries], labels: dict[UUID, str]) -> Chart:
    order = list(labels)
    shares: dict[UUID, int] = {}
    for one in series:
        shares[one.workload_uid] = shares.get(one.workload_uid, 0) + 1
    ordered = sorted(series, key=lambda one: (order.index(one.workload_uid), one.share))
    named = [(_label(one, labels, shares[one.workload_uid] > 1), one) for one in ordered]
    return Chart(
        name,
        metric_option([(label, one.steps, one.values) for label, one in named]),
        [Line(label, one.steps[-1], one.values[-1]) for label, one in named],
    )


def _label(one: MetricSeries, labels: dict[UUID, str], has_shares: bool) -> str:
    label = labels[one.workload_uid]
    return _("%(work)s, share %(share)s") % {"work": label, "share": one.share} if has_shares else label
