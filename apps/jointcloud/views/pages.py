"""The pages "Where work would go", for operators and tenants, and "Choice of centres", for operators."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from apps.centers.forms import price_shown
from apps.centers.selectors import centers_sampled, specs_plain
from apps.identity.pages.access import cleaned, go, operator_page, page, show
from apps.identity.pages.requests import PortalRequest
from apps.jointcloud.engine.evaluate import CentreStanding
from apps.jointcloud.engine.types import ONE, Settings
from apps.jointcloud.forms import SettingsForm, TryForm, weights_given
from apps.jointcloud.models import JointcloudSettings
from apps.jointcloud.permissions import PlacementPermission as P
from apps.jointcloud.selectors.settings import settings_history, settings_last, settings_now
from apps.jointcloud.services.settings import jointcloud_settings_set
from apps.jointcloud.services.tries import Trial, TriedTask, placement_try
from apps.jointcloud.text import MODEL_NAMES, policy_name
from apps.kernel.errors import WeirError
from apps.tenancy.selectors import tenant_active_list

_READ_AND_SENT = require_http_methods(["GET", "HEAD", "POST"])
_FIRST = "tasks.0."
VERSIONS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class PolicyPart:
    """What a policy gives a centre: its score, and with its weight so many points."""

    name: str
    score: int
    is_known: bool
    weight: str
    points: str


@dataclass(frozen=True, slots=True)
class CenterRow:
    """A centre before the task, in words."""

    code: str
    name: str
    rank: int | None
    final: int | None
    price: Decimal | None
    parts: list[PolicyPart]
    reasons: list[str]
    is_chosen: bool


@require_safe
@page(P.TRY, plane="both")
def where(request: PortalRequest) -> HttpResponse:
    """Try where a task would go: the form, and what came of it. Its address holds what was asked, to be handed on."""
    given = request.GET if "resource_spec_id" in request.GET else None
    tenants = None if request.actor.tenant else tenant_active_list()
    form = TryForm(
        given,
        settings=settings_now(),
        specs=specs_plain(),
        tenants=tenants,
        centers=centers_sampled(request.actor.tenant),
    )
    context: dict[str, Any] = {"form": form}
    if given is not None:
        wanted = cleaned(form)
        trial = _tried(request, form, wanted)
        context |= {"task": trial.tasks[0], "rows": center_rows(trial, trial.tasks[0])}
    return show(request, "jointcloud/try", context)


def _tried(request: PortalRequest, form: TryForm, wanted: Mapping[str, Any]) -> Trial:
    try:
        return placement_try(
            actor=request.actor,
            tasks=[form.task(wanted)],
            job_type=wanted["job_type"],
            weights=weights_given(wanted),
            tenant=wanted.get("tenant", ""),
        )
    except WeirError as error:
        error.fields = {name.removeprefix(_FIRST): text for name, text in error.fields.items()}
        raise


def center_rows(trial: Trial, task: TriedTask) -> list[CenterRow]:
    """Every centre before the task: the candidates by rank, then the refused."""
    return [
        CenterRow(
            code=each.centre_id,
            name=trial.names.get(each.centre_id, each.centre_id),
            rank=each.rank,
            final=each.final,
            price=price_shown(each.price),
            parts=_parts(each),
            reasons=[sentence.message for sentence in task.refusals[each.centre_id]],
            is_chosen=each.centre_id in task.placed,
        )
        for each in task.evaluation.centres
    ]


def _parts(standing: CentreStanding) -> list[PolicyPart]:
    """The policies with a weight, those that give the most points first."""
    scores = sorted(standing.scores, key=lambda score: -score.score * score.permille)
    return [
        PolicyPart(
            policy_name(score.policy),
            score.score,
            score.is_known,
            _part(score.permille),
            f"{Decimal(score.score * score.permille) / ONE:.1f}",
        )
        for score in scores
        if score.permille
    ]


def _part(permille: int) -> str:
    return f"{Decimal(permille) / ONE:.3f}"


@_READ_AND_SENT
@operator_page(P.SEE_SETTINGS, changes=P.SET)
def settings(request: PortalRequest) -> HttpResponse:
    """How centres are chosen, to see and to change, and all versions of it."""
    last = settings_last()
    current = Settings() if last is None else last.engine_settings
    number = 0 if last is None else last.number
    if request.method == "POST":
        form = SettingsForm(request.POST, settings=current, number=number)
        given = cleaned(form)
        jointcloud_settings_set(actor=request.actor, changes=form.changes(given), number=given["number"])
        messages.success(request, _("From now on centres are chosen so."))
        return go(request, "jointcloud:settings")
    context = {
        "form": SettingsForm(settings=current, number=number),
        "may_change": request.actor.may(P.SET),
        "versions": [_version(row) for row in settings_history()[:VERSIONS_SHOWN]],
    }
    return show(request, "jointcloud/settings", context)


def _version(row: JointcloudSettings) -> dict[str, Any]:
    parts = [f"{policy_name(policy)} {_part(permille)}" for policy, permille in row.weights_read if permille]
    return {"row": row, "weights": " · ".join(parts), "model": MODEL_NAMES.get(row.model, row.model)}
